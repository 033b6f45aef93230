// Rows of answers as text, so that two answers can be compared and their first difference read.
#pragma once

#include <concepts>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "store/read.h"

namespace wherefore::store {

inline std::string Show(std::string_view text) {
  return fmt::format("{:?}", text);
}
template <typename T>
  requires std::integral<T>
std::string Show(T number) {
  return fmt::format("{}", number);
}
// The engine adds up in another order.
inline std::string Show(double number) {
  return fmt::format("{:.9g}", number);
}
template <std::size_t N>
std::string Show(const std::array<std::uint8_t, N>& id) {
  return ToHex(id);
}
inline std::string Show(const DictionaryKey& k) {
  return fmt::format("<{} {:x} {} {}>", k.tenant, k.service, k.bucket, k.writer);
}
inline std::string Show(const LineRow& r) {
  return fmt::format("{}:{}:{}", r.function, r.line, r.column);
}
inline std::string Show(const profile::Range& r) {
  return fmt::format("{}+{}", r.begin, r.count);
}
inline std::string Show(const std::pair<std::string, std::string>& p) {
  return fmt::format("{:?}={:?}", p.first, p.second);
}
template <typename T>
std::string Show(const std::vector<T>& items) {
  std::string out = "[";
  for (const auto& item : items) out += Show(item) + " ";
  return out + "]";
}
template <typename... Parts>
std::string Line(const Parts&... parts) {
  std::string out;
  ((out += Show(parts) + " "), ...);
  return out;
}

inline std::string Show(const AlertEvent& e) {
  return Line(e.tenant, e.time_ns, e.number, e.kind, e.state, e.fingerprint, e.starts_ns, e.ends_ns,
              e.id, e.group, e.alert, e.service, e.value, e.low, e.high, e.labels, e.detail);
}
inline std::string Show(const RegressionEvent& e) {
  return Line(e.tenant, e.time_ns, e.number, e.kind, e.event, e.state, e.id, e.service, e.type,
              e.function, e.module, e.label, e.version_before, e.version, e.since_ns, e.until_ns,
              e.value, e.low, e.high, e.why, e.facts);
}
inline std::string Show(const ServiceRow& r) {
  return Line(r.dictionary, r.name);
}
inline std::string Show(const TypeRow& r) {
  return Line(r.dictionary, r.type, r.details.Id(), r.details.period,
              static_cast<int>(r.details.count_rule), r.details.stands_for_cpu);
}
inline std::string Show(const SeriesRow& r) {
  return Line(r.series, r.parent, r.labels, r.encoded);
}
inline std::string Show(const FunctionRow& r) {
  return Line(r.name, r.system_name, r.file, r.start_line);
}
inline std::string Show(const MappingRow& r) {
  return Line(r.start, r.limit, r.file_offset, r.file, r.build_id, r.attributes);
}
inline std::string Show(const FrameRow& r) {
  return Line(r.mapping, r.address, r.lines, r.attributes);
}
inline std::string Show(const DictionaryRows& r) {
  return Line(r.functions, r.mappings, r.frames, r.stack_frames, r.stacks);
}
inline std::string Show(const StackSum& r) {
  return Line(r.dictionary, r.type, r.stack, r.value, r.count);
}
inline std::string Show(const StackSumBySeries& r) {
  return Line(r.sum, r.series);
}
// Not when it was rolled: that is another moment in each store.
inline std::string Show(const HourRow& r) {
  return Line(r.dictionary, r.hour, r.now.profiles, r.now.through, r.now.samples, r.revision,
              r.rolled.profiles, r.rolled.through, r.rolled.samples, r.IsCurrent());
}
inline std::string Show(const SampleCount& r) {
  return Line(r.dictionary, r.samples);
}
inline std::string Show(const WeighedStack& r) {
  return Line(r.dictionary, r.type, r.stack, r.weighed, r.value, r.count);
}
inline std::string Show(const SeriesPoint& r) {
  return Line(r.dictionary, r.type, r.series, r.step_start_ns, r.value, r.count, r.profiles,
              r.last_ns);
}
inline std::string Show(const ProfileSum& r) {
  return Line(r.dictionary, r.type, r.series, r.number, r.time_ns, r.duration_ns, r.value, r.count);
}
inline std::string Show(const NewestRow& r) {
  return Line(r.profile, r.distance_ns);
}
inline std::string Show(const SeenRow& r) {
  return Line(r.dictionary, r.type, r.series, r.begin_ns, r.length_ns);
}
inline std::string Show(const CoverRow& r) {
  return Line(r.dictionary, r.type, r.first_ns, r.end_ns, r.last_ns, r.profiles, r.value, r.series);
}
inline std::string Show(const ProfileRow& r) {
  return Line(r.dictionary, r.type, r.series, r.number, r.time_ns, r.duration_ns, r.id, r.total,
              r.samples, r.attributes);
}
inline std::string Show(const SampleRow& r) {
  return Line(r.series, r.stack, r.value, r.count, r.trace, r.span, r.times, r.values,
              r.attributes);
}
inline std::string Show(const LinkRow& r) {
  return Line(r.dictionary, r.trace, r.span, r.type, r.profile, r.series, r.stack, r.value,
              r.count);
}
inline std::string Show(const TimedLinkRow& r) {
  return Line(r.dictionary, r.type, r.stack, r.value, r.times, r.values);
}
inline std::string Show(const SpanRow& r) {
  return Line(r.service, r.service_name, r.trace, r.id, r.parent, r.name, r.kind, r.status_code,
              r.status_message, r.start_ns, r.duration_ns, r.attributes, r.resource, r.encoded);
}
inline std::string Show(const SpanTime& r) {
  return Line(r.trace, r.id, r.parent, r.start_ns, r.duration_ns, r.names_holder);
}
inline std::string Show(const TraceRow& r) {
  return Line(r.trace, r.start_ns, r.end_ns, r.spans, r.errors, r.root_service, r.root_name,
              r.root_missing);
}
inline std::string Show(const TraceSamples& r) {
  return Line(r.dictionary, r.trace, r.span, r.type, r.value, r.count, r.samples);
}
inline std::string Show(const LatencyRow& r) {
  return Line(r.service_name, r.requests, r.errors, r.median_ns, r.p99_ns);
}
inline std::string Show(const DurationCell& r) {
  return Line(r.step_start_ns, r.from_ns, r.count, r.errors);
}
inline std::string Show(const OffsetCell& r) {
  return Line(r.step_start_ns, r.offset, r.count);
}

template <typename Row>
std::vector<std::string> Lines(const std::vector<Row>& rows) {
  std::vector<std::string> lines;
  lines.reserve(rows.size());
  for (const Row& row : rows) lines.push_back(Show(row));
  return lines;
}
template <typename Row>
std::vector<std::string> Lines(const std::map<DictionaryKey, Row>& rows) {
  std::vector<std::string> lines;
  lines.reserve(rows.size());
  for (const auto& [key, row] : rows) lines.push_back(Line(key, row));
  return lines;
}
inline std::vector<std::string> Lines(const DictionaryRows& rows) {
  return {Show(rows)};
}
inline std::vector<std::string> Lines(const Payload& payload) {
  if (payload.format.empty()) return {};
  return {Line(payload.format, *payload.bytes)};
}
inline std::vector<std::string> Lines(bool yes) {
  return {yes ? "yes" : "no"};
}

}  // namespace wherefore::store
