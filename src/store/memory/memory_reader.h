// The Reader over tables in memory (read.h says what each call answers): the same answers as
// read/reader.h gives, without an engine, so that queries can be asked where none can be loaded.
//
// Straightforward loops over all rows: for tests, not for much data. A query ends early with its
// cancel token, and what it answers is charged to the query's memory.
//
// memory_reader.cc: services, types, label sets; memory_dictionaries.cc: names; memory_sums.cc:
// sums over stacks and profiles; memory_times.cc: over time, and when profiles were taken;
// memory_profiles.cc: single profiles and links; memory_spans.cc: spans and whole traces;
// memory_traces.cc: lists of traces.
//
// Threads: any. Queries are asked side by side, and wait only while rows are added.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/shared_mutex.h"
#include "store/memory/tables.h"
#include "store/read.h"
#include "store/write/rows.h"

namespace wherefore::store::memory {

class MemoryReader final : public Reader {
 public:
  // Visible to every query from when it returns.
  Result<> Add(const RowSet& rows) EXCLUDES(mutex_);

  // Of all dictionaries.
  Result<std::vector<HourRow>> EveryHour() EXCLUDES(mutex_);

  [[nodiscard]] std::uint64_t Generation() const override { return generation_.load(); }

  Result<std::vector<ServiceRow>> Services(std::uint32_t tenant, TimeRange range,
                                           const CancelToken& cancel) override;
  Result<std::vector<ServiceRow>> ServicesOfAnySignal(std::uint32_t tenant, TimeRange range,
                                                      const CancelToken& cancel) override;
  Result<std::vector<TypeRow>> Types(const std::vector<DictionaryKey>& dictionaries,
                                     const CancelToken& cancel) override;
  Result<std::vector<SeriesRow>> Series(const DictionaryKey& dictionary, std::uint32_t first,
                                        const CancelToken& cancel) override;
  Result<std::map<DictionaryKey, std::vector<SeriesRow>>> SeriesOf(
      const std::vector<DictionaryKey>& dictionaries, SeriesParts parts,
      const CancelToken& cancel) override;
  Result<DictionaryRows> Dictionary(const DictionaryKey& dictionary, const DictionaryCursor& cursor,
                                    const CancelToken& cancel) override;
  Result<std::map<DictionaryKey, DictionaryRows>> Dictionaries(
      const std::vector<DictionaryKey>& dictionaries, const CancelToken& cancel) override;
  Result<std::map<DictionaryKey, std::uint64_t>> FramesOf(
      const std::vector<DictionaryKey>& dictionaries, const CancelToken& cancel) override;
  Result<std::vector<StackSum>> SumStacks(const SampleQuery& query,
                                          const CancelToken& cancel) override;
  Result<std::vector<StackSumBySeries>> SumStacksBySeries(const SampleQuery& query,
                                                          const CancelToken& cancel) override;
  Result<std::vector<HourRow>> Hours(const SampleQuery& query, const CancelToken& cancel) override;
  Result<std::vector<StackSum>> SumHours(const HourSumQuery& query,
                                         const CancelToken& cancel) override;
  Result<std::vector<SampleCount>> CountSamples(const SampleQuery& query,
                                                const CancelToken& cancel) override;
  Result<std::vector<WeighedStack>> WeighStacks(const SampleQuery& query,
                                                std::vector<ProfileWeight> weights,
                                                const CancelToken& cancel) override;
  Result<std::vector<SeriesPoint>> Timeline(const SampleQuery& query, const Steps& steps,
                                            bool from_samples, const CancelToken& cancel) override;
  Result<SharedOut> ShareOut(const SampleQuery& query, const Steps& steps,
                             const CancelToken& cancel) override;
  Result<std::vector<ProfileSum>> SumProfiles(const SampleQuery& query, bool by_series,
                                              const CancelToken& cancel) override;
  Result<std::vector<ProfileSum>> ProfileTotals(const SampleQuery& query,
                                                const CancelToken& cancel) override;
  Result<std::vector<NewestRow>> Newest(const SampleQuery& query,
                                        const CancelToken& cancel) override;
  Result<std::vector<SeenRow>> Seen(const SampleQuery& query, SeenAs as,
                                    const CancelToken& cancel) override;
  Result<std::vector<CoverRow>> Coverage(const SampleQuery& query, CoverBy by,
                                         const CancelToken& cancel) override;
  Result<std::vector<ProfileRow>> Profiles(const SampleQuery& query, std::size_t limit,
                                           const CancelToken& cancel) override;
  Result<std::set<DictionaryKey>> DictionariesWith(const SampleQuery& query,
                                                   std::string_view attribute,
                                                   const CancelToken& cancel) override;
  Result<std::vector<ProfileRow>> ProfileById(std::uint32_t tenant, const profile::ProfileId& id,
                                              const CancelToken& cancel) override;
  Result<std::vector<SampleRow>> ProfileSamples(const ProfileRow& profile,
                                                const CancelToken& cancel) override;
  Result<Payload> OriginalPayload(const ProfileRow& profile, const CancelToken& cancel) override;
  Result<std::vector<LinkRow>> LinkedSamples(std::uint32_t tenant, const profile::TraceId& trace,
                                             const std::vector<profile::SpanId>& spans,
                                             const CancelToken& cancel) override;
  Result<std::vector<LinkRow>> SpanOnlyLinks(std::uint32_t tenant, const profile::TraceId& trace,
                                             TimeRange started, const CancelToken& cancel) override;
  Result<std::vector<LinkRow>> Links(const SampleQuery& query, TraceShare share,
                                     const CancelToken& cancel) override;
  Result<std::vector<TimedLinkRow>> TimedLinks(std::uint32_t tenant, const SpanRow& span,
                                               const CancelToken& cancel) override;
  Result<std::vector<SpanRow>> Trace(std::uint32_t tenant, const profile::TraceId& trace,
                                     const CancelToken& cancel) override;
  Result<std::vector<SpanRow>> TraceShape(std::uint32_t tenant, const profile::TraceId& trace,
                                          const CancelToken& cancel) override;
  Result<std::vector<SpanRow>> SearchSpans(const SpanSearch& search,
                                           const CancelToken& cancel) override;
  Result<std::vector<std::pair<std::string, std::string>>> SpanNames(
      std::uint32_t tenant, TimeRange range, const CancelToken& cancel) override;
  Result<std::vector<SpanRow>> SpansById(std::uint32_t tenant, TimeRange range,
                                         const std::vector<profile::SpanId>& spans,
                                         const CancelToken& cancel) override;
  Result<std::vector<profile::TraceId>> FindTraces(const SpanSearch& search,
                                                   const CancelToken& cancel) override;
  Result<std::vector<TraceRow>> Traces(std::uint32_t tenant,
                                       const std::vector<profile::TraceId>& traces,
                                       const CancelToken& cancel) override;
  Result<std::vector<TraceSamples>> SamplesOfTraces(std::uint32_t tenant,
                                                    const std::vector<profile::TraceId>& traces,
                                                    bool by_span,
                                                    const CancelToken& cancel) override;
  Result<std::vector<SpanTime>> SpanTimes(std::uint32_t tenant,
                                          const std::vector<profile::TraceId>& traces,
                                          const std::vector<profile::SpanId>& spans,
                                          const CancelToken& cancel) override;
  Result<std::int64_t> CountRequests(const ServiceSpansQuery& query,
                                     const CancelToken& cancel) override;
  Result<ServiceSpans> SpansOfServices(const ServiceSpansQuery& query,
                                       const CancelToken& cancel) override;
  Result<std::vector<SpanTime>> FindSpans(const SpanSearch& search,
                                          const CancelToken& cancel) override;
  Result<std::vector<SpanRow>> ShapesOfTraces(std::uint32_t tenant,
                                              const std::vector<profile::TraceId>& traces,
                                              const CancelToken& cancel) override;
  Result<std::vector<LinkRow>> LinksOfTraces(std::uint32_t tenant,
                                             const std::vector<profile::TraceId>& traces,
                                             const CancelToken& cancel) override;
  Result<std::vector<LatencyRow>> Latencies(std::uint32_t tenant, TimeRange range,
                                            const CancelToken& cancel) override;
  Result<std::vector<DurationCell>> Durations(const SpanSearch& search, const Steps& steps,
                                              const CancelToken& cancel) override;
  Result<std::vector<OffsetCell>> Offsets(const SampleQuery& query, const Steps& steps,
                                          std::int64_t offset_width_ns,
                                          const CancelToken& cancel) override;
  Result<bool> NamesFile(const std::vector<DictionaryKey>& dictionaries, const std::string& file,
                         const CancelToken& cancel) override;
  Result<std::vector<AlertEvent>> AlertEvents(const AlertEventQuery& query,
                                              const CancelToken& cancel) override;
  Result<std::vector<RegressionEvent>> RegressionEvents(const RegressionEventQuery& query,
                                                        const CancelToken& cancel) override;
  Result<std::vector<std::uint32_t>> Tenants(const CancelToken& cancel) override;
  Result<EngineStatistics> Statistics(const CancelToken& cancel) override;

 private:
  Result<std::vector<ServiceRow>> ServicesOf(std::uint32_t tenant, TimeRange range,
                                             std::uint32_t most_signal, const CancelToken& cancel);

  SharedMutex mutex_;
  Tables tables_ GUARDED_BY(mutex_);
  std::atomic<std::uint64_t> generation_{1};
};

}  // namespace wherefore::store::memory
