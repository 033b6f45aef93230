// Reader: single profiles with everything that was sent, and samples that belong to spans.
#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "store/dictionary.h"
#include "store/ids.h"
#include "store/number_rows.h"
#include "store/reader.h"
#include "store/schema.h"

namespace wherefore::store {
namespace {

template <typename Id>
bool IsZero(const Id& id) {
  return id == Id{};
}

// A sample without what distinguishes equal ones; detailed and linked samples are also in `samples`
// and are taken out of it by this key.
using SampleKey = std::tuple<std::uint32_t, std::uint32_t, std::int64_t, std::int64_t>;
SampleKey KeyOf(const SampleRow& row) {
  return {row.series, row.stack, row.value, row.count};
}

// Samples of profilers that know only the span have a trace of zeros.
std::string TraceCondition(const profile::TraceId& trace, bool or_unknown) {
  const std::string literal = QuoteId(trace);
  return or_unknown ? fmt::format("trace IN ({}, {})", literal, QuoteId(profile::TraceId{}))
                    : "trace = " + literal;
}

bool TakeOne(std::map<SampleKey, std::size_t>& counts, const SampleKey& key) {
  const auto found = counts.find(key);
  if (found == counts.end() || found->second == 0) return false;
  --found->second;
  return true;
}

}  // namespace

Result<std::vector<ProfileRow>> ReaderImpl::RunProfiles(const std::string& where,
                                                        std::uint32_t tenant, std::size_t limit,
                                                        const CancelToken& cancel) {
  std::vector<ProfileRow> rows;
  WHEREFORE_RETURN_IF_ERROR(Run(fmt::format("SELECT service, bucket, writer, type, series, number, "
                                            "time, duration, id, total, samples, attributes "
                                            "FROM {} WHERE {} ORDER BY time, service, number{}",
                                            PhysicalName(Table::kProfiles), where,
                                            limit == 0 ? "" : fmt::format(" LIMIT {}", limit)),
                                12, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
                                  ProfileRow& profile = rows.emplace_back();
                                  profile.dictionary = {tenant, c[0].Uint(row), c[1].U32(row),
                                                        c[2].U32(row)};
                                  profile.type = c[3].Uint(row);
                                  profile.series = c[4].U32(row);
                                  profile.number = c[5].U32(row);
                                  profile.time_ns = c[6].Int(row);
                                  profile.duration_ns = c[7].Int(row);
                                  profile.id = AsId<profile::ProfileId>(c[8].Text(row));
                                  profile.total = c[9].Int(row);
                                  profile.samples = c[10].Int(row);
                                  profile.attributes = c[11].Text(row);
                                  return {};
                                }));
  return rows;
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

Result<std::vector<ProfileRow>> ReaderImpl::ProfileById(std::uint32_t tenant,
                                                        const profile::ProfileId& id,
                                                        const CancelToken& cancel) {
  return RunProfiles(fmt::format("tenant = {} AND id = {}", tenant, QuoteId(id)), tenant, 0,
                     cancel);
}

Result<Payload> ReaderImpl::OriginalPayload(const ProfileRow& profile, const CancelToken& cancel) {
  Payload payload;
  WHEREFORE_RETURN_IF_ERROR(Run(
      fmt::format("SELECT format, payload FROM {} WHERE {} AND number = {} LIMIT 1",
                  PhysicalName(Table::kPayloads), KeyCondition(profile.dictionary), profile.number),
      2, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
        payload.format = c[0].Text(row);
        payload.bytes = std::make_shared<const std::string>(c[1].Text(row));
        return {};
      }));
  return payload;
}

Result<std::vector<SampleRow>> ReaderImpl::ProfileSamples(const ProfileRow& profile,
                                                          const CancelToken& cancel) {
  const std::string key =
      fmt::format("{} AND type = {} AND profile = {}", KeyCondition(profile.dictionary),
                  profile.type, profile.number);
  const std::string at = fmt::format("{} AND time = {}", key, profile.time_ns);
  std::vector<SampleRow> rows;
  // Details first: they say everything about their sample.
  WHEREFORE_RETURN_IF_ERROR(
      Run(fmt::format("SELECT series, stack, value, n, trace, span, times, `values`, attributes "
                      "FROM {} WHERE {}",
                      PhysicalName(Table::kDetails), at),
          9, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
            SampleRow& sample = rows.emplace_back();
            sample.series = c[0].U32(row);
            sample.stack = c[1].U32(row);
            sample.value = c[2].Int(row);
            sample.count = c[3].Int(row);
            sample.trace = AsId<profile::TraceId>(c[4].Text(row));
            sample.span = AsId<profile::SpanId>(c[5].Text(row));
            for (std::size_t i = c[6].ArrayBegin(row); i < c[6].ArrayEnd(row); ++i)
              sample.times.push_back(c[6].Uint(i));
            for (std::size_t i = c[7].ArrayBegin(row); i < c[7].ArrayEnd(row); ++i)
              sample.values.push_back(c[7].Int(i));
            sample.attributes = c[8].Text(row);
            return {};
          }));
  std::map<SampleKey, std::size_t> told;  // by a detail or a link, so not once more
  std::map<std::tuple<SampleKey, profile::TraceId, profile::SpanId>, std::size_t> told_links;
  for (const SampleRow& row : rows) {
    ++told[KeyOf(row)];
    if (!IsZero(row.trace) || !IsZero(row.span)) ++told_links[{KeyOf(row), row.trace, row.span}];
  }
  WHEREFORE_RETURN_IF_ERROR(
      Run(fmt::format("SELECT series, stack, value, n, trace, span FROM {} WHERE {}",
                      PhysicalName(Table::kLinks), key),
          6, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
            SampleRow sample{c[0].U32(row),
                             c[1].U32(row),
                             c[2].Int(row),
                             c[3].Int(row),
                             AsId<profile::TraceId>(c[4].Text(row)),
                             AsId<profile::SpanId>(c[5].Text(row)),
                             {},
                             {},
                             {}};
            const auto known = told_links.find({KeyOf(sample), sample.trace, sample.span});
            if (known != told_links.end() && known->second > 0) {
              --known->second;
              return {};
            }
            ++told[KeyOf(sample)];
            rows.push_back(std::move(sample));
            return {};
          }));
  WHEREFORE_RETURN_IF_ERROR(
      Run(fmt::format("SELECT series, stack, value, n FROM {} WHERE {}",
                      PhysicalName(Table::kSamples), at),
          4, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
            SampleRow sample{
                c[0].U32(row), c[1].U32(row), c[2].Int(row), c[3].Int(row), {}, {}, {}, {}, {}};
            if (!TakeOne(told, KeyOf(sample))) rows.push_back(std::move(sample));
            return {};
          }));
  return rows;
}

Result<std::vector<LinkRow>> ReaderImpl::RunLinks(const std::string& where, std::uint32_t tenant,
                                                  const CancelToken& cancel) {
  std::vector<LinkRow> rows;
  WHEREFORE_RETURN_IF_ERROR(Run(fmt::format("SELECT service, bucket, writer, trace, span, type, "
                                            "profile, series, stack, value, n FROM {} WHERE {}",
                                            PhysicalName(Table::kLinks), where),
                                11, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
                                  rows.push_back(
                                      {{tenant, c[0].Uint(row), c[1].U32(row), c[2].U32(row)},
                                       AsId<profile::TraceId>(c[3].Text(row)),
                                       AsId<profile::SpanId>(c[4].Text(row)),
                                       c[5].Uint(row),
                                       c[6].U32(row),
                                       c[7].U32(row),
                                       c[8].U32(row),
                                       c[9].Int(row),
                                       c[10].Int(row)});
                                  return {};
                                }));
  return rows;
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

Result<std::vector<LinkRow>> ReaderImpl::Links(const SampleQuery& query,
                                               const CancelToken& cancel) {
  if (query.selections.empty()) return std::vector<LinkRow>();
  // Links have no time of their own; their profiles have.
  return RunLinks(
      fmt::format("{} AND (service, bucket, writer, profile) IN (SELECT service, bucket, writer, "
                  "number FROM {} WHERE {})",
                  SelectionCondition(query, When::kAny), PhysicalName(Table::kProfiles),
                  SelectionCondition(AboutProfiles(query))),
      query.tenant, cancel);
}

Result<std::vector<OffsetCell>> ReaderImpl::Offsets(const SampleQuery& query, const Steps& steps,
                                                    std::int64_t offset_width_ns,
                                                    const CancelToken& cancel) {
  std::vector<OffsetCell> cells;
  if (query.selections.empty()) return cells;
  WHEREFORE_RETURN_IF_ERROR(
      Run(fmt::format("SELECT toInt64(intDiv(t - {0}, {1}) * {1} + {0}) AS step, "
                      "toUInt32(intDiv(t % 1000000000, {2})) AS offset, count() FROM "
                      "(SELECT toInt64(arrayJoin(times)) AS t FROM {3} WHERE {4}) "
                      "WHERE t >= {5} AND t < {6} GROUP BY step, offset ORDER BY step, offset",
                      steps.phase_ns, steps.width_ns, offset_width_ns,
                      PhysicalName(Table::kDetails), SelectionCondition(query, When::kInRange),
                      query.range.from_ns, query.range.to_ns),
          3, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
            cells.push_back({c[0].Int(row), c[1].U32(row), c[2].Int(row)});
            return {};
          }));
  return cells;
}

Result<std::vector<TimedLinkRow>> ReaderImpl::TimedLinks(std::uint32_t tenant, const SpanRow& span,
                                                         const CancelToken& cancel) {
  // A profile begins before its samples, by a day at most (docs/format.md).
  constexpr std::int64_t kLongestProfile = 86'400'000'000'000;
  std::vector<TimedLinkRow> rows;
  WHEREFORE_RETURN_IF_ERROR(
      Run(fmt::format(
              "SELECT bucket, writer, type, stack, value, times, `values` FROM {} WHERE tenant = "
              "{} AND service = {} AND time >= {} AND time < {} AND span = {} AND {} AND "
              "notEmpty(times)",
              PhysicalName(Table::kDetails), tenant, span.service, span.start_ns - kLongestProfile,
              span.start_ns + span.duration_ns, QuoteId(span.id), TraceCondition(span.trace, true)),
          7, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
            TimedLinkRow& link = rows.emplace_back();
            link.dictionary = {tenant, span.service, c[0].U32(row), c[1].U32(row)};
            link.type = c[2].Uint(row);
            link.stack = c[3].U32(row);
            link.value = c[4].Int(row);
            for (std::size_t i = c[5].ArrayBegin(row); i < c[5].ArrayEnd(row); ++i)
              link.times.push_back(c[5].Uint(i));
            for (std::size_t i = c[6].ArrayBegin(row); i < c[6].ArrayEnd(row); ++i)
              link.values.push_back(c[6].Int(i));
            return {};
          }));
  return rows;
}

}  // namespace wherefore::store
