// Profiles people upload to look at: adhocprofiles.v1.AdHocProfileService of Profiles Drilldown.
//
// Kept in memory only, as the bytes that were uploaded: at most kMostFiles files and kMostBytes
// bytes of all tenants together, the one not looked at for longest goes first. Read again for every
// question. Methods run on Workers; any thread.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include "api/api.h"
#include "base/mutex.h"
#include "base/result.h"
#include "formats/adhoc.h"
#include "net/unary.h"
#include "net/worker_pool.h"

namespace wherefore::api {

class AdHocApi {
 public:
  static constexpr std::size_t kMostFiles = 100;
  static constexpr std::size_t kMostBytes = 64u << 20;

  AdHocApi(net::Workers& workers, Operations operations)
      : workers_(workers), operations_(std::move(operations)) {}

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
  Result<std::string> Upload(std::uint32_t tenant, formats::AdHocRequest request, bool json);
  Result<std::string> Get(std::uint32_t tenant, const formats::AdHocRequest& request, bool json);
  Result<std::string> List(std::uint32_t tenant, bool json);
  Result<std::string> Diff(std::uint32_t tenant, const formats::AdHocRequest& request, bool json);

  void Keep(File file) EXCLUDES(mutex_);
  Result<File> Find(std::uint32_t tenant, const std::string& id) EXCLUDES(mutex_);

  net::Workers& workers_;
  Operations operations_;
  Mutex mutex_;
  std::list<File> files_ GUARDED_BY(mutex_);  // last used first
  std::size_t bytes_ GUARDED_BY(mutex_) = 0;
};

}  // namespace wherefore::api
