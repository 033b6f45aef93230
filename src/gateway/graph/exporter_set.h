// ExporterSet: the exporters of a running server, by name. Graphs come and go with reloads; an
// exporter and its queue stay as long as the configuration names it, and are exchanged in place
// when its settings change.
//
// Threads: slots take requests from any thread. Update, RemoveOthers and Stop are called by one
//          thread at a time (start, reload, stop).
// Always:  two exporters never have the same queue open. If Update fails, everything is as before.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "base/shared_mutex.h"
#include "base/status.h"
#include "gateway/config/gateway_config.h"
#include "gateway/export/exporter.h"

namespace wherefore::gateway {

using ExporterFactory = std::function<Result<std::unique_ptr<Exporter>>(const ExporterConfig&)>;

// The place of one exporter. Requests that meet no exporter are told to come again.
class ExporterSlot final : public profile::Sink {
 public:
  explicit ExporterSlot(std::string id) : id_(std::move(id)) {}
  [[nodiscard]] const std::string& id() const { return id_; }

  void Write(profile::WriteRequest request,
             std::function<void(Result<profile::WriteAnswer>)> done) override;
  // Stops what is there and starts `next` (null: nothing) in its place. On failure nothing is
  // there.
  Result<> Exchange(std::unique_ptr<Exporter> next);
  [[nodiscard]] Status status() const;

 private:
  const std::string id_;
  mutable SharedMutex mutex_;
  std::unique_ptr<Exporter> exporter_ GUARDED_BY(mutex_);
};

class ExporterSet {
 public:
  explicit ExporterSet(ExporterFactory make) : make_(std::move(make)) {}
  ExporterSet(const ExporterSet&) = delete;
  ExporterSet& operator=(const ExporterSet&) = delete;
  ~ExporterSet() { Stop(); }

  // Brings the exporters of `config` to life. Those it does not name run on until RemoveOthers.
  Result<> Update(const std::map<std::string, ExporterConfig>& config);
  void RemoveOthers(const std::map<std::string, ExporterConfig>& config);
  void Stop();
  // Null if there is none of that name.
  [[nodiscard]] std::shared_ptr<ExporterSlot> Find(const std::string& id) const;
  [[nodiscard]] std::vector<Status> status() const;

 private:
  struct Held {
    std::shared_ptr<ExporterSlot> slot;
    ExporterConfig config;
  };
  using All = std::map<std::string, Held>;

  // Puts back what was there before: exporters are not started twice, so they are made again.
  void Restore(const All& before, const std::vector<std::shared_ptr<ExporterSlot>>& changed);

  const ExporterFactory make_;
  mutable Mutex mutex_;
  All exporters_ GUARDED_BY(mutex_);
};

}  // namespace wherefore::gateway
