// ExportWindow: what has been sampled since the last export, and its way into OTLP requests.
//
// Opened at a start and, by Close(), again at every export. A stop may keep it: then the next start
// goes on with it.
//
// Guarded by the collector's lock, which owns the one there is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/batch.h"
#include "sdk/collect/aggregate.h"
#include "sdk/collect/own_cpu.h"
#include "sdk/config/options.h"
#include "sdk/context/resource.h"
#include "sdk/unwind/modules.h"

namespace wherefore::sdk {

// From a moment, by both clocks, until now.
[[nodiscard]] Window WindowSince(std::uint64_t start_ns, std::int64_t started,
                                 const Periods& periods);

class ExportWindow {
 public:
  explicit ExportWindow(Modules& modules) : sums_(modules) {}

  // At a start and in a forked child: who this process is, and the limits. Our threads are new, and
  // so is what they used.
  void Configure(const Options& options);
  // How large a request may be, and which links are kept.
  void SetLimits(const Options& options);
  // A window begins, unless the last run's was kept: true, it goes on.
  bool Open(std::int64_t now);
  // A stop that sends nothing: the next start goes on from here.
  void Keep(const OwnCpu& own);
  // The requests, and the next window begins. `own` is what our threads have used so far, asked for
  // while they were there.
  [[nodiscard]] std::vector<std::string> Close(std::int64_t now, const OwnCpu& own,
                                               const Periods& periods);
  // A forked child: what its parent had gathered is the parent's.
  void ForgetParent();

  // A program that was not seen at all sends nothing: a script may start a thousand of them.
  [[nodiscard]] bool WorthSending() { return sent_ || !sums_.nothing(); }
  [[nodiscard]] Aggregate& sums() { return sums_; }
  [[nodiscard]] Window SoFar(const Periods& periods) const {
    return WindowSince(start_ns_, started_, periods);
  }
  [[nodiscard]] std::int64_t started() const { return started_; }
  [[nodiscard]] const ResourceAttributes& resource() const { return resource_; }

 private:
  void AddOwnCost(const OwnCpu& now);
  // Links of requests that do not qualify go, now that all their samples so far are here.
  void FilterLinks();
  [[nodiscard]] std::vector<std::string> Requests(const Window& window);
  [[nodiscard]] std::string RequestOf(Series series, const Window& window, std::size_t limit);
  [[nodiscard]] std::string Encode(profile::Batch batch) const;
  // At most one warning a minute; the others at the level of debugging.
  void WarnRarely(const std::string& text);

  Aggregate sums_;
  ResourceAttributes resource_;
  std::int64_t max_bytes_ = 0;  // of a request
  Conditional conditional_;
  std::uint64_t start_ns_ = 0;  // wall clock
  std::int64_t started_ = 0;    // monotonic
  OwnCpu exported_;             // what was in the exports so far
  bool sent_ = false;           // there was one
  bool kept_ = false;           // the window goes on where the last run stopped
  std::int64_t next_warning_ = 0;
};

}  // namespace wherefore::sdk
