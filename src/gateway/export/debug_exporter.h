// The debug exporter: says in the log what it gets. Nothing is queued; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/mutex.h"
#include "gateway/export/exporter.h"
#include "gateway/export/exporter_metrics.h"

namespace wherefore::gateway {

class DebugExporter final : public Exporter {
 public:
  DebugExporter(std::string id, ExporterOptions::Debug options);

  Result<> Start() override { return {}; }
  void Stop() override {}
  void Write(profile::WriteRequest request,
             std::function<void(Result<profile::WriteAnswer>)> done) override;
  [[nodiscard]] Status status() const override;

 private:
  // Whether this request is shown: so many a second, then one in so many.
  [[nodiscard]] bool IsShown();

  const std::string id_;
  const ExporterOptions::Debug options_;
  ExporterMetrics metrics_;
  mutable Mutex mutex_;
  std::int64_t second_ GUARDED_BY(mutex_) = 0;
  int in_second_ GUARDED_BY(mutex_) = 0;
};

}  // namespace wherefore::gateway
