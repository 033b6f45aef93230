// MemoryReader: single profiles with everything that was sent, and samples that belong to spans.
#include <algorithm>
#include <set>
#include <tuple>

#include "base/clock.h"
#include "store/memory/memory_reader.h"
#include "store/memory/scan_rows.h"
#include "store/memory/selected.h"
#include "store/read/reader.h"
#include "store/read/whole_samples.h"

namespace wherefore::store::memory {
namespace {

// Oldest first, at most `limit` (0: all).
Result<std::vector<ProfileRow>> InOrder(std::vector<ProfileRow> rows, std::size_t limit,
                                        const CancelToken& cancel) {
  std::ranges::stable_sort(rows, {}, [](const ProfileRow& row) {
    return std::tuple(row.time_ns, row.dictionary.service, row.number);
  });
  if (limit != 0 && rows.size() > limit) rows.resize(limit);
  return Charged(std::move(rows), cancel);
}

}  // namespace

Result<std::vector<ProfileRow>> MemoryReader::Profiles(const SampleQuery& query, std::size_t limit,
                                                       const CancelToken& cancel) {
  // Of a dictionary that is asked for several times any of the selections may want the type.
  std::set<std::pair<DictionaryKey, std::uint64_t>> by_type;
  std::set<DictionaryKey> whole;
  for (const SeriesSelection& selection : query.selections) {
    DictionaryKey key = selection.dictionary;
    key.tenant = query.tenant;
    if (selection.types.empty()) whole.insert(key);
    for (const std::uint64_t type : selection.types) by_type.emplace(key, type);
  }
  ReaderLock lock(mutex_);
  const Selected selected(query);
  std::vector<ProfileRow> rows;
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.profiles, cancel, [&](const StoredProfile& p) {
    const DictionaryKey& key = p.row.dictionary;
    if (!selected.Matches(About(p))) return;
    if (whole.contains(key) || by_type.contains({key, p.row.type})) rows.push_back(p.row);
  }));
  return InOrder(std::move(rows), limit, cancel);
}

Result<std::set<DictionaryKey>> MemoryReader::DictionariesWith(const SampleQuery& query,
                                                               std::string_view attribute,
                                                               const CancelToken& cancel) {
  std::set<DictionaryKey> wanted;
  for (const SeriesSelection& selection : query.selections) {
    DictionaryKey key = selection.dictionary;
    key.tenant = query.tenant;
    wanted.insert(key);
  }
  ReaderLock lock(mutex_);
  const Selected selected(query);
  std::set<DictionaryKey> found;
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.profiles, cancel, [&](const StoredProfile& p) {
    if (selected.Matches(About(p)) && wanted.contains(p.row.dictionary) &&
        p.row.attributes.contains(attribute))
      found.insert(p.row.dictionary);
  }));
  return found;
}

Result<std::vector<ProfileRow>> MemoryReader::ProfileById(std::uint32_t tenant,
                                                          const profile::ProfileId& id,
                                                          const CancelToken& cancel) {
  ReaderLock lock(mutex_);
  std::vector<ProfileRow> rows;
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.profiles, cancel, [&](const StoredProfile& p) {
    if (p.row.dictionary.tenant == tenant && p.row.id == id) rows.push_back(p.row);
  }));
  return InOrder(std::move(rows), 0, cancel);
}

Result<Payload> MemoryReader::OriginalPayload(const ProfileRow& profile,
                                              const CancelToken& cancel) {
  ReaderLock lock(mutex_);
  WHEREFORE_RETURN_IF_ERROR(cancel.Check());
  for (const StoredPayload& payload : tables_.payloads) {
    if (payload.key == profile.dictionary && payload.number == profile.number)
      return payload.payload;
  }
  return Payload{};
}

Result<std::vector<SampleRow>> MemoryReader::ProfileSamples(const ProfileRow& profile,
                                                            const CancelToken& cancel) {
  ReaderLock lock(mutex_);
  const auto is_of = [&](const DictionaryKey& key, std::uint64_t type, std::uint32_t number) {
    return number == profile.number && type == profile.type && key == profile.dictionary;
  };
  WholeSamples samples;
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.details, cancel, [&](const StoredDetail& d) {
    if (is_of(d.key, d.type, d.profile) && d.time_ns == profile.time_ns) samples.AddDetail(d.row);
  }));
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.links, cancel, [&](const LinkRow& l) {
    if (is_of(l.dictionary, l.type, l.profile))
      samples.AddLink({l.series, l.stack, l.value, l.count, l.trace, l.span, {}, {}, {}});
  }));
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.samples, cancel, [&](const StoredSample& s) {
    if (is_of(s.key, s.type, s.profile) && s.time_ns == profile.time_ns)
      samples.AddSample({s.series, s.stack, s.value, s.count, {}, {}, {}, {}, {}});
  }));
  return Charged(samples.Take(), cancel);
}

Result<std::vector<LinkRow>> MemoryReader::LinkedSamples(std::uint32_t tenant,
                                                         const profile::TraceId& trace,
                                                         const std::vector<profile::SpanId>& spans,
                                                         const CancelToken& cancel) {
  const profile::TraceId unknown{};
  if (trace == unknown && spans.empty()) return std::vector<LinkRow>();
  const std::set<profile::SpanId> wanted(spans.begin(), spans.end());
  ReaderLock lock(mutex_);
  std::vector<LinkRow> rows;
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.links, cancel, [&](const LinkRow& link) {
    if (link.dictionary.tenant != tenant) return;
    if (!wanted.empty() && !wanted.contains(link.span)) return;
    // Samples of profilers that know only the span have a trace of zeros.
    const bool of_trace =
        trace == unknown || link.trace == trace || (!wanted.empty() && link.trace == unknown);
    if (of_trace) rows.push_back(link);
  }));
  return Charged(std::move(rows), cancel);
}

Result<std::vector<LinkRow>> MemoryReader::SpanOnlyLinks(std::uint32_t tenant,
                                                         const profile::TraceId& trace,
                                                         TimeRange started,
                                                         const CancelToken& cancel) {
  ReaderLock lock(mutex_);
  std::set<profile::SpanId> spans;
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.spans, cancel, [&](const StoredSpan& span) {
    if (span.key.tenant == tenant && span.row.trace == trace &&
        span.row.start_ns >= started.from_ns && span.row.start_ns < started.to_ns)
      spans.insert(span.row.id);
  }));
  std::vector<LinkRow> rows;
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.links, cancel, [&](const LinkRow& link) {
    if (link.dictionary.tenant == tenant && link.trace == profile::TraceId{} &&
        spans.contains(link.span))
      rows.push_back(link);
  }));
  return Charged(std::move(rows), cancel);
}

Result<std::vector<LinkRow>> MemoryReader::Links(const SampleQuery& query, TraceShare share,
                                                 const CancelToken& cancel) {
  ReaderLock lock(mutex_);
  // Links have no time of their own; their profiles have.
  const SampleQuery about = AboutProfiles(query);
  const Selected profiles(about);
  std::set<std::pair<DictionaryKey, std::uint32_t>> in_range;
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.profiles, cancel, [&](const StoredProfile& p) {
    if (profiles.Matches(About(p))) in_range.emplace(p.row.dictionary, p.row.number);
  }));
  const Selected selected(query);
  std::vector<LinkRow> rows;
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.links, cancel, [&](const LinkRow& link) {
    if (share.Has(link.trace) && selected.Matches(About(link)) &&
        in_range.contains({link.dictionary, link.profile}))
      rows.push_back(link);
  }));
  return Charged(std::move(rows), cancel);
}

Result<std::vector<TimedLinkRow>> MemoryReader::TimedLinks(std::uint32_t tenant,
                                                           const SpanRow& span,
                                                           const CancelToken& cancel) {
  ReaderLock lock(mutex_);
  std::vector<TimedLinkRow> rows;
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.details, cancel, [&](const StoredDetail& d) {
    const SampleRow& row = d.row;
    if (d.key.tenant != tenant || d.key.service != span.service || row.times.empty()) return;
    // A profile begins before its samples, by a day at most (docs/format.md).
    if (d.time_ns < span.start_ns - kNsPerDay || d.time_ns >= span.start_ns + span.duration_ns)
      return;
    if (row.span != span.id || (row.trace != span.trace && row.trace != profile::TraceId{})) return;
    rows.push_back({d.key, d.type, row.stack, row.value, row.times, row.values});
  }));
  return Charged(std::move(rows), cancel);
}

}  // namespace wherefore::store::memory
