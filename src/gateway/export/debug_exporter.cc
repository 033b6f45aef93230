#include "gateway/export/debug_exporter.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "formats/formats.h"
#include "profile/type_id.h"

namespace wherefore::gateway {
namespace {

using Verbosity = ExporterOptions::Debug::Verbosity;

void Show(const std::string& id, const profile::Batch& batch, Verbosity verbosity) {
  Log(LogLevel::kInfo, "profiles",
      {{"exporter", id},
       {"resources", batch.resources.size() - 1},
       {"profiles", batch.profiles.size()},
       {"samples", batch.samples.size()}});
  if (verbosity == Verbosity::kDetailed)
    return Log(LogLevel::kInfo, formats::EncodeOtlpProfilesJson(batch), {{"exporter", id}});
  if (verbosity == Verbosity::kBasic) return;
  for (const profile::Profile& p : batch.profiles) {
    Log(LogLevel::kInfo, "profile",
        {{"exporter", id},
         {"service", profile::ServiceName(batch, batch.resources[p.resource])},
         {"type", profile::TypeOf(batch, p).Id()},
         {"time", FormatTime(static_cast<std::int64_t>(p.time_ns))},
         {"samples", p.sample_count}});
  }
}

void Show(const std::string& id, const profile::SpanBatch& batch, Verbosity verbosity) {
  Log(LogLevel::kInfo, "spans",
      {{"exporter", id}, {"resources", batch.resources.size() - 1}, {"spans", batch.spans.size()}});
  if (verbosity == Verbosity::kDetailed)
    return Log(LogLevel::kInfo, formats::EncodeOtlpTracesJson(batch), {{"exporter", id}});
  if (verbosity == Verbosity::kBasic) return;
  for (const profile::Span& span : batch.spans) {
    Log(LogLevel::kInfo, "span",
        {{"exporter", id},
         {"name", batch.Text(span.name)},
         {"trace", ToHex(span.trace)},
         {"duration", FormatDuration(static_cast<std::int64_t>(span.end_ns - span.start_ns))}});
  }
}

}  // namespace

DebugExporter::DebugExporter(std::string id, ExporterOptions::Debug options)
    : id_(std::move(id)), options_(options), metrics_(id_) {}

bool DebugExporter::IsShown() {
  MutexLock lock(mutex_);
  const std::int64_t second = MonotonicNs() / kNsPerSecond;
  if (second != second_) in_second_ = 0;
  second_ = second;
  const int number = in_second_++;
  if (number < options_.sampling_initial) return true;
  return options_.sampling_thereafter > 0 &&
         (number - options_.sampling_initial) % options_.sampling_thereafter == 0;
}

void DebugExporter::Write(profile::WriteRequest request,
                          std::function<void(Result<profile::WriteAnswer>)> done) {
  const bool shown = IsShown();
  if (const auto* const batch = std::get_if<profile::Batch>(&request.data)) {
    if (shown) Show(id_, *batch, options_.verbosity);
    metrics_.Sent(formats::Signal::kProfiles, batch->samples.size());
  } else {
    const auto& spans = std::get<profile::SpanBatch>(request.data);
    if (shown) Show(id_, spans, options_.verbosity);
    metrics_.Sent(formats::Signal::kTraces, spans.spans.size());
  }
  done(std::move(request.decoded));
}

Status DebugExporter::status() const {
  const ExporterMetrics::Totals totals = metrics_.totals();
  return {
      .part = "exporter " + id_,
      .facts = {{"shown or counted requests",
                 FormatCount(static_cast<std::int64_t>(totals.sent_requests))},
                {"samples and spans", FormatCount(static_cast<std::int64_t>(totals.sent_items))}},
      .problems = {}};
}

}  // namespace wherefore::gateway
