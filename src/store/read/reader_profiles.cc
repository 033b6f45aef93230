// Reader: single profiles with everything that was sent, and samples that belong to spans.
#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "store/engine/ids.h"
#include "store/engine/schema.h"
#include "store/read/key_columns.h"
#include "store/read/number_rows.h"
#include "store/read/reader.h"
#include "store/write/dictionary.h"

namespace wherefore::store {
namespace {

template <typename Id>
bool IsZero(const Id& id) {
  return id == Id{};
}

// Samples of profilers that know only the span have a trace of zeros.
std::string TraceCondition(const profile::TraceId& trace, bool or_unknown) {
  const std::string literal = QuoteId(trace);
  return or_unknown ? fmt::format("trace IN ({}, {})", literal, QuoteId(profile::TraceId{}))
                    : "trace = " + literal;
}

}  // namespace

Result<std::vector<ProfileRow>> ReaderImpl::RunProfiles(const std::string& where,
                                                        std::uint32_t tenant, std::size_t limit,
                                                        const CancelToken& cancel) {
  using Row = ProfileRow;
  return All(Columns<Row>(In(&Row::dictionary, KeyColumnsOf(tenant)), Col("type", &Row::type),
                          Col("series", &Row::series), Col("number", &Row::number),
                          Col("time", &Row::time_ns), Col("duration", &Row::duration_ns),
                          Col("id", &Row::id), Col("total", &Row::total),
                          Col("samples", &Row::samples), Col("attributes", &Row::attributes)),
             fmt::format("FROM {} WHERE {} ORDER BY time, service, number{}",
                         PhysicalName(Table::kProfiles), where,
                         limit == 0 ? "" : fmt::format(" LIMIT {}", limit)),
             cancel);
}

Result<std::vector<ProfileRow>> ReaderImpl::Profiles(const SampleQuery& query, std::size_t limit,
                                                     const CancelToken& cancel) {
  if (query.selections.empty()) return std::vector<ProfileRow>();
  std::string where = SelectionCondition(query);
  // Selections may want different types; the limit must count only what is wanted.
  NumberRows whole{"UInt64", "UInt32", "UInt32"};
  NumberRows by_type{"UInt64", "UInt32", "UInt32", "UInt64"};
  for (const SeriesSelection& selection : query.selections) {
    const DictionaryKey& key = selection.dictionary;
    if (selection.types.empty()) whole.Add({key.service, key.bucket, key.writer});
    for (const std::uint64_t type : selection.types)
      by_type.Add({key.service, key.bucket, key.writer, type});
  }
  std::vector<std::string> any;
  if (!whole.empty()) any.push_back("(service, bucket, writer) IN " + whole.Sql());
  if (!by_type.empty()) any.push_back("(service, bucket, writer, type) IN " + by_type.Sql());
  where += fmt::format(" AND ({})", fmt::join(any, " OR "));
  return RunProfiles(where, query.tenant, limit, cancel);
}

Result<std::set<DictionaryKey>> ReaderImpl::DictionariesWith(const SampleQuery& query,
                                                             std::string_view attribute,
                                                             const CancelToken& cancel) {
  std::set<DictionaryKey> found;
  if (query.selections.empty()) return found;
  NumberRows wanted{"UInt64", "UInt32", "UInt32"};
  for (const SeriesSelection& selection : query.selections) {
    const DictionaryKey& key = selection.dictionary;
    wanted.Add({key.service, key.bucket, key.writer});
  }
  // Attributes are stored as they came; one that only mentions the name in a value is not told
  // apart from one that has it.
  WHEREFORE_RETURN_IF_ERROR(
      Run(KeyColumnsOf(query.tenant),
          fmt::format("FROM {} WHERE {} AND (service, bucket, writer) IN {} AND "
                      "position(attributes, {}) > 0 GROUP BY service, bucket, writer",
                      PhysicalName(Table::kProfiles), SelectionCondition(query), wanted.Sql(),
                      Quote(attribute)),
          cancel, [&](const DictionaryKey& key) { found.insert(key); }));
  return found;
}

Result<std::vector<ProfileRow>> ReaderImpl::ProfileById(std::uint32_t tenant,
                                                        const profile::ProfileId& id,
                                                        const CancelToken& cancel) {
  return RunProfiles(fmt::format("tenant = {} AND id = {}", tenant, QuoteId(id)), tenant, 0,
                     cancel);
}

Result<Payload> ReaderImpl::OriginalPayload(const ProfileRow& profile, const CancelToken& cancel) {
  const auto columns = Columns<Payload>(
      Col("format", &Payload::format),
      Col<std::string_view>("payload", [](Payload& payload, std::string_view bytes) {
        payload.bytes = std::make_shared<const std::string>(bytes);
      }));
  Payload payload;
  WHEREFORE_RETURN_IF_ERROR(
      Run(columns,
          fmt::format("FROM {} WHERE {} AND number = {} LIMIT 1", PhysicalName(Table::kPayloads),
                      KeyCondition(profile.dictionary), profile.number),
          cancel, [&](Payload&& found) { payload = std::move(found); }));
  return payload;
}

namespace {

constexpr auto kSample =
    Columns<SampleRow>(Col("series", &SampleRow::series), Col("stack", &SampleRow::stack),
                       Col("value", &SampleRow::value), Col("n", &SampleRow::count));
constexpr auto kLinkedSample =
    Columns<SampleRow>(kSample, Col("trace", &SampleRow::trace), Col("span", &SampleRow::span));
constexpr auto kDetailedSample = Columns<SampleRow>(kLinkedSample, Col("times", &SampleRow::times),
                                                    Col("`values`", &SampleRow::values),
                                                    Col("attributes", &SampleRow::attributes));

// The samples of a profile, each once: one that has a detail or a link is in that table and in
// `samples`, one that has both in all three. Tables are to be added in the order below.
class SamplesOnce {
 public:
  void AddDetail(SampleRow&& row) {
    ++known_[KeyOf(row)];
    if (!IsZero(row.trace) || !IsZero(row.span)) ++known_links_[LinkKeyOf(row)];
    rows_.push_back(std::move(row));
  }
  void AddLink(SampleRow&& row) {
    if (TakeOne(known_links_, LinkKeyOf(row))) return;
    ++known_[KeyOf(row)];
    rows_.push_back(std::move(row));
  }
  void AddSample(SampleRow&& row) {
    if (!TakeOne(known_, KeyOf(row))) rows_.push_back(std::move(row));
  }
  [[nodiscard]] std::vector<SampleRow> Take() { return std::move(rows_); }

 private:
  // A sample without what distinguishes equal ones.
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::int64_t, std::int64_t>;
  using LinkKey = std::tuple<Key, profile::TraceId, profile::SpanId>;

  static Key KeyOf(const SampleRow& row) { return {row.series, row.stack, row.value, row.count}; }
  static LinkKey LinkKeyOf(const SampleRow& row) { return {KeyOf(row), row.trace, row.span}; }
  // Whether one of these is left; it is not any more.
  template <typename K>
  static bool TakeOne(std::map<K, std::size_t>& counts, const K& key) {
    const auto found = counts.find(key);
    if (found == counts.end() || found->second == 0) return false;
    --found->second;
    return true;
  }

  std::vector<SampleRow> rows_;
  std::map<Key, std::size_t> known_;  // from a detail or a link; will come once more
  std::map<LinkKey, std::size_t> known_links_;
};

}  // namespace

Result<std::vector<SampleRow>> ReaderImpl::ProfileSamples(const ProfileRow& profile,
                                                          const CancelToken& cancel) {
  const std::string key =
      fmt::format("{} AND type = {} AND profile = {}", KeyCondition(profile.dictionary),
                  profile.type, profile.number);
  const std::string at = fmt::format("{} AND time = {}", key, profile.time_ns);
  const auto from = [](Table table, const std::string& where) {
    return fmt::format("FROM {} WHERE {}", PhysicalName(table), where);
  };
  SamplesOnce samples;
  WHEREFORE_RETURN_IF_ERROR(Run(kDetailedSample, from(Table::kDetails, at), cancel,
                                [&](SampleRow&& row) { samples.AddDetail(std::move(row)); }));
  WHEREFORE_RETURN_IF_ERROR(Run(kLinkedSample, from(Table::kLinks, key), cancel,
                                [&](SampleRow&& row) { samples.AddLink(std::move(row)); }));
  WHEREFORE_RETURN_IF_ERROR(Run(kSample, from(Table::kSamples, at), cancel,
                                [&](SampleRow&& row) { samples.AddSample(std::move(row)); }));
  return samples.Take();
}

Result<std::vector<LinkRow>> ReaderImpl::RunLinks(const std::string& where, std::uint32_t tenant,
                                                  const CancelToken& cancel) {
  using Row = LinkRow;
  return All(
      Columns<Row>(In(&Row::dictionary, KeyColumnsOf(tenant)), Col("trace", &Row::trace),
                   Col("span", &Row::span), Col("type", &Row::type), Col("profile", &Row::profile),
                   Col("series", &Row::series), Col("stack", &Row::stack),
                   Col("value", &Row::value), Col("n", &Row::count)),
      fmt::format("FROM {} WHERE {}", PhysicalName(Table::kLinks), where), cancel);
}

Result<std::vector<LinkRow>> ReaderImpl::LinkedSamples(std::uint32_t tenant,
                                                       const profile::TraceId& trace,
                                                       const std::vector<profile::SpanId>& spans,
                                                       const CancelToken& cancel) {
  if (IsZero(trace) && spans.empty()) return std::vector<LinkRow>();
  std::string where = fmt::format("tenant = {}", tenant);
  if (!IsZero(trace)) where += " AND " + TraceCondition(trace, !spans.empty());
  if (spans.empty()) return RunLinks(where, tenant, cancel);
  std::vector<LinkRow> rows;
  WHEREFORE_RETURN_IF_ERROR(InParts(spans, kSpansAtOnce, [&](const std::string& ids) -> Result<> {
    WHEREFORE_ASSIGN_OR_RETURN(
        const auto some, RunLinks(fmt::format("{} AND span IN ({})", where, ids), tenant, cancel));
    rows.insert(rows.end(), some.begin(), some.end());
    return {};
  }));
  return rows;
}

Result<std::vector<LinkRow>> ReaderImpl::SpanOnlyLinks(std::uint32_t tenant,
                                                       const profile::TraceId& trace,
                                                       TimeRange started,
                                                       const CancelToken& cancel) {
  return RunLinks(
      fmt::format(
          "tenant = {0} AND {1} AND span IN (SELECT span FROM {2} WHERE tenant = {0} AND {3} "
          "AND start >= {4} AND start < {5} AND {6})",
          tenant, TraceCondition(profile::TraceId{}, false), PhysicalName(Table::kSpans),
          BucketCondition(started.from_ns, started.to_ns), started.from_ns, started.to_ns,
          TraceCondition(trace, false)),
      tenant, cancel);
}

Result<std::vector<LinkRow>> ReaderImpl::Links(const SampleQuery& query, TraceShare share,
                                               const CancelToken& cancel) {
  if (query.selections.empty()) return std::vector<LinkRow>();
  // Links have no time of their own; their profiles have.
  return RunLinks(
      fmt::format("{} AND {} AND (service, bucket, writer, profile) IN (SELECT service, bucket, "
                  "writer, number FROM {} WHERE {})",
                  SelectionCondition(query, When::kAny), ShareCondition(share),
                  PhysicalName(Table::kProfiles), SelectionCondition(AboutProfiles(query))),
      query.tenant, cancel);
}

Result<std::vector<OffsetCell>> ReaderImpl::Offsets(const SampleQuery& query, const Steps& steps,
                                                    std::int64_t offset_width_ns,
                                                    const CancelToken& cancel) {
  if (query.selections.empty()) return std::vector<OffsetCell>();
  return All(Columns<OffsetCell>(
                 Col(fmt::format("toInt64(intDiv(t - {0}, {1}) * {1} + {0}) AS step",
                                 steps.phase_ns, steps.width_ns),
                     &OffsetCell::step_start_ns),
                 Col(fmt::format("toUInt32(intDiv(t % 1000000000, {})) AS offset", offset_width_ns),
                     &OffsetCell::offset),
                 Col("count()", &OffsetCell::count)),
             fmt::format("FROM (SELECT toInt64(arrayJoin(times)) AS t FROM {} WHERE {}) "
                         "WHERE t >= {} AND t < {} GROUP BY step, offset ORDER BY step, offset",
                         PhysicalName(Table::kDetails), SelectionCondition(query, When::kInRange),
                         query.range.from_ns, query.range.to_ns),
             cancel);
}

Result<std::vector<TimedLinkRow>> ReaderImpl::TimedLinks(std::uint32_t tenant, const SpanRow& span,
                                                         const CancelToken& cancel) {
  // A profile begins before its samples, by a day at most (docs/format.md).
  constexpr std::int64_t kLongestProfile = 86'400'000'000'000;
  using Row = TimedLinkRow;
  return All(
      Columns<Row>(
          Constant(DictionaryKey{.tenant = tenant, .service = span.service}, &Row::dictionary),
          Col("bucket", &Row::dictionary, &DictionaryKey::bucket),
          Col("writer", &Row::dictionary, &DictionaryKey::writer), Col("type", &Row::type),
          Col("stack", &Row::stack), Col("value", &Row::value), Col("times", &Row::times),
          Col("`values`", &Row::values)),
      fmt::format("FROM {} WHERE tenant = {} AND service = {} AND time >= {} AND time < {} AND "
                  "span = {} AND {} AND notEmpty(times)",
                  PhysicalName(Table::kDetails), tenant, span.service,
                  span.start_ns - kLongestProfile, span.start_ns + span.duration_ns,
                  QuoteId(span.id), TraceCondition(span.trace, true)),
      cancel);
}

}  // namespace wherefore::store
