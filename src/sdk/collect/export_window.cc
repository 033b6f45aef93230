#include "sdk/collect/export_window.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "formats/formats.h"
#include "sdk/context/tracer.h"
#include "sdk/net/export_types.h"
#include "sdk/platform/clock.h"
#include "sdk/platform/log.h"
#include "sdk/sample/heap_table.h"

namespace wherefore::sdk {
namespace {

constexpr std::int64_t kBetweenWarnings = 60'000'000'000;

}  // namespace

Window WindowSince(std::uint64_t start_ns, std::int64_t started, const Periods& periods) {
  return {.start_ns = start_ns,
          .duration_ns = static_cast<std::uint64_t>(MonotonicNow() - started),
          .periods = periods};
}

void ExportWindow::Configure(const Options& options) {
  resource_ = DescribeProcess(options);
  SetLimits(options);
  exported_ = {};
}

void ExportWindow::SetLimits(const Options& options) {
  max_bytes_ = options.max_profile_bytes;
  conditional_ = options.conditional;
}

bool ExportWindow::Open(std::int64_t now) {
  if (std::exchange(kept_, false)) return true;
  start_ns_ = WallClockNow();
  started_ = now;
  return false;
}

void ExportWindow::Keep(const OwnCpu& own) {
  kept_ = true;
  AddOwnCost(own);
}

std::vector<std::string> ExportWindow::Close(std::int64_t now, const OwnCpu& own,
                                             const Periods& periods) {
  AddOwnCost(own);
  if (conditional_.active()) FilterLinks();
  std::vector<std::string> requests = Requests(SoFar(periods));
  sums_.Forget();
  sent_ = sent_ || !requests.empty();
  start_ns_ = WallClockNow();
  started_ = now;
  if (const std::uint64_t untracked = g_heap_table.TakeUntracked(); untracked > 0) {
    WarnRarely(
        fmt::format("{} sampled allocations found no room among those that are watched: memory in "
                    "use is more than the profile says",
                    untracked));
  }
  return requests;
}

void ExportWindow::FilterLinks() {
  LinkFilter& links = Tracer::Global().links();
  if (conditional_.cpu > 0) {
    sums_.ForLinkedCpu([&links](const profile::TraceId& trace, std::int64_t value) {
      links.AddCpu(trace, value);
    });
  }
  sums_.FilterLinks(
      [&](const profile::TraceId& trace) { return links.Keeps(trace, conditional_.cpu); });
}

void ExportWindow::ForgetParent() {
  sums_.ForgetSums();
  sent_ = kept_ = false;
}

// The profiler is part of the picture it draws. Handlers and hooks ran in threads whose CPU time is
// sampled anyway; our own threads are not, so only those are added.
void ExportWindow::AddOwnCost(const OwnCpu& now) {
  sums_.AddKnown(Series::kCpu, {kCollectorFrame, kProfilerFrame},
                 now.collector - exported_.collector);
  sums_.AddKnown(Series::kCpu, {kWallSamplerFrame, kProfilerFrame}, now.wall - exported_.wall);
  sums_.AddKnown(Series::kCpu, {kExporterFrame, kProfilerFrame}, now.exporter - exported_.exporter);
  exported_ = now;
}

// Everything as one request; where that would be above max_profile_size, one for each series.
std::vector<std::string> ExportWindow::Requests(const Window& window) {
  const auto limit = std::min(static_cast<std::size_t>(max_bytes_), kMaxQueuedBytes);
  std::vector<std::string> requests;
  const auto add = [&requests](std::string request) {
    if (!request.empty()) requests.push_back(std::move(request));
  };
  if (std::string all = Encode(sums_.Peek(window)); all.size() <= limit) {
    add(std::move(all));
    return requests;
  }
  for (std::size_t i = 0; i < kSeriesCount; ++i)
    add(RequestOf(static_cast<Series>(i), window, limit));
  return requests;
}

// The smallest stacks of a series that alone is above the limit are sent as [other].
std::string ExportWindow::RequestOf(Series series, const Window& window, std::size_t limit) {
  const std::size_t samples = sums_.size(series);
  std::size_t most = samples;
  std::string request = Encode(sums_.Peek(series, window));
  while (request.size() > limit && most > 1) {
    // A little less than in proportion: the tables of names do not shrink as fast.
    most = std::max<std::size_t>(1, most * limit / request.size() * 9 / 10);
    request = Encode(sums_.Peek(series, window, most));
  }
  if (most < samples) {
    WarnRarely(fmt::format(
        "a profile is above max_profile_size ({}): {} of its {} stacks are sent as [other]",
        FormatBytes(static_cast<std::int64_t>(limit)), samples - most + 1, samples));
  }
  return request;
}

// Empty when there is nothing in it.
std::string ExportWindow::Encode(profile::Batch batch) const {
  if (batch.profiles.empty()) return {};
  batch.resources.push_back(AddResource(batch, resource_));
  batch.scopes.push_back(
      {.name = batch.AddText("wherefore"), .version = batch.AddText(LibraryVersion())});
  return formats::EncodeOtlpProfiles(batch);
}

void ExportWindow::WarnRarely(const std::string& text) {
  const std::int64_t now = MonotonicNow();
  Log(now < next_warning_ ? LogLevel::kDebug : LogLevel::kWarn, text);
  if (now >= next_warning_) next_warning_ = now + kBetweenWarnings;
}

}  // namespace wherefore::sdk
