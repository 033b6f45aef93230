// Profiles people upload to look at: adhocprofiles.v1.AdHocProfileService of Profiles Drilldown.
//
// Kept in memory only, as the bytes that were uploaded: at most kMostFiles files and kMostBytes
// bytes (an eighth of the process's budget, where that is less) of all tenants together, the one
// not looked at for longest goes first. Read again for every query. Methods run on Workers; any
// thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include "api/api.h"
#include "base/memory_budget.h"
#include "base/mutex.h"
#include "base/result.h"
#include "formats/pyroscope/adhoc.h"
#include "net/unary.h"
#include "net/worker_pool.h"

namespace wherefore::api {

class AdHocApi {
 public:
  static constexpr std::size_t kMostFiles = 100;
  static constexpr std::size_t kMostBytes = 64u << 20;

  AdHocApi(net::Workers& workers, Operations operations)
      : workers_(workers), operations_(std::move(operations)) {}

  [[nodiscard]] static std::size_t MostBytes() {
    return std::min(kMostBytes, MemoryBudget::Process().shares().work / 8);
  }

  // Adds every method; this must outlive both routers.
  void AddRoutes(net::Router& http, net::GrpcRouter& grpc);

 private:
  struct File {
    std::uint32_t tenant = 0;
    std::string id;
    std::string name;
    std::int64_t uploaded_ms = 0;
    std::shared_ptr<const std::string> bytes;
  };

  Result<std::string> Answer(formats::AdHocMethod method, const net::UnaryRequest& request);
  // Who asks, for how long, and in which encoding.
  struct Caller {
    std::uint32_t tenant = 0;
    bool json = false;
    CancelToken cancel;
  };
  Result<std::string> Upload(const Caller& caller, formats::AdHocRequest request);
  Result<std::string> Get(const Caller& caller, const formats::AdHocRequest& request);
  Result<std::string> List(const Caller& caller);
  Result<std::string> Diff(const Caller& caller, const formats::AdHocRequest& request);
  // The answer to Upload and Get.
  static Result<std::string> Show(const Caller& caller, const File& file,
                                  const formats::AdHocRequest& request);

  void Keep(File file) EXCLUDES(mutex_);
  Result<File> Find(std::uint32_t tenant, const std::string& id) EXCLUDES(mutex_);

  net::Workers& workers_;
  Operations operations_;
  Mutex mutex_;
  std::list<File> files_ GUARDED_BY(mutex_);  // last used first
  std::size_t bytes_ GUARDED_BY(mutex_) = 0;
  MemoryHold memory_ GUARDED_BY(mutex_);
};

}  // namespace wherefore::api
