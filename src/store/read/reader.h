// The Reader over a Transport (read.h says what each call answers).
//
// reader.cc: services, types, labels and sums over stacks; reader_dictionaries.cc: names;
// reader_times.cc: sums over time; reader_seen.cc: when profiles were taken, and sums in which each
// has its weight; reader_profiles.cc: single profiles and links; reader_spans.cc: spans and whole
// traces; reader_traces.cc: lists of traces.
//
// Every call is a list of columns (engine/columns.h) and the rest of a SELECT, run by Run, All
// or, where rows belong to the selections of a query, RunSelected and AllSelected.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/metrics.h"
#include "store/engine/columns.h"
#include "store/engine/query_rows.h"
#include "store/engine/transport.h"
#include "store/hours/tiers.h"
#include "store/read.h"
#include "store/read/selection_number.h"
#include "store/read/step_sums.h"

namespace wherefore::store {

// `generation` is counted up by the store after names became visible or data went away.
[[nodiscard]] std::unique_ptr<Reader> MakeReader(Transport& transport, QueryLimits limits,
                                                 const std::atomic<std::uint64_t>& generation,
                                                 const Tiers& tiers);

enum class When { kInRange, kAny };  // tables without a column `time` cannot say when
// WHERE condition for the samples or profiles of a query; `time` is the column compared with the
// range.
[[nodiscard]] std::string SelectionCondition(const SampleQuery& query, When when = When::kInRange);

// WHERE condition for the rows of these dictionaries; by bucket too, so that the engine leaves out
// whole parts.
[[nodiscard]] std::string InDictionaries(const std::vector<DictionaryKey>& keys);

// The same query of the profiles its samples are in: those belong to the set their samples' sets
// extend, and have no stack.
[[nodiscard]] SampleQuery AboutProfiles(SampleQuery query);

// So many profiles are cheaper read one by one than added up by the engine.
inline constexpr std::size_t kFewProfiles = 100'000;

// The condition for traces of a share, as TraceShare::Has().
[[nodiscard]] std::string ShareCondition(TraceShare share);
// WHERE condition for the spans of a search.
[[nodiscard]] std::string SearchCondition(const SpanSearch& search);

// The attribute of a span that says under which id its profiler filed its samples, and the
// expression that reads it; empty where a span has none.
inline constexpr std::string_view kProfileId = "pyroscope.profile.id";
[[nodiscard]] std::string ProfileIdText();

class ReaderImpl final : public Reader {
 public:
  ReaderImpl(Transport& transport, QueryLimits limits, const std::atomic<std::uint64_t>& generation,
             const Tiers& tiers);

  [[nodiscard]] std::uint64_t Generation() const override { return generation_.load(); }
  [[nodiscard]] bool SamplesGone(const DictionaryKey& key) const override {
    return tiers_.SamplesGone(key.tenant, key.bucket);
  }
  [[nodiscard]] std::uint64_t HourRemovals() const override { return tiers_.Removals(); }

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
  Result<std::vector<ServiceRow>> ReadServices(std::uint32_t tenant, TimeRange range,
                                               std::string_view signals, const CancelToken& cancel);
  // Runs `ask` and notes how long it took.
  template <typename Ask>
  auto Timed(const Ask& ask) {
    const std::int64_t begin = MonotonicNs();
    auto result = ask();
    query_seconds_.ObserveNs(MonotonicNs() - begin);
    return result;
  }
  // QueryRows and QueryColumn under this reader's limits.
  template <typename Row, typename... Parts, typename Visit>
  Result<> Run(const ColumnList<Row, Parts...>& columns, std::string_view from,
               const CancelToken& cancel, Visit&& visit) {
    return Timed([&] { return QueryRows(transport_, columns, from, limits_, cancel, visit); });
  }
  template <typename T>
  Result<std::vector<T>> RunColumn(std::string_view sql, const CancelToken& cancel) {
    return Timed([&] { return QueryColumn<T>(transport_, sql, limits_, cancel); });
  }
  // All rows.
  template <typename Row, typename... Parts>
  Result<std::vector<Row>> All(const ColumnList<Row, Parts...>& columns, std::string_view from,
                               const CancelToken& cancel) {
    std::vector<Row> rows;
    WHEREFORE_RETURN_IF_ERROR(
        Run(columns, from, cancel, [&](Row&& row) { rows.push_back(std::move(row)); }));
    return rows;
  }
  // The rows some selection wants. `number` is the SQL of SelectionNumber::Sql; `of` leads to the
  // part of a row that has a type and gets the selection's index as `dictionary`.
  template <typename Row, typename... Parts, typename Visit, typename Of = std::identity>
  Result<> RunSelected(const SelectionNumber& selection, std::string number,
                       const ColumnList<Row, Parts...>& columns, std::string_view from,
                       const CancelToken& cancel, Visit&& visit, Of of = {}) {
    using Numbered = NumberedRow<Row>;
    return Run(
        Columns<Numbered>(Col(std::move(number), &Numbered::number), In(&Numbered::row, columns)),
        from, cancel, [&](Numbered&& numbered) -> Result<> {
          auto& wanted = std::invoke(of, numbered.row);
          const auto index = selection.Find(numbered.number, wanted.type);
          if (!index) return {};
          wanted.dictionary = *index;
          return HandOver(std::move(numbered.row), visit);
        });
  }
  template <typename Row, typename... Parts, typename Of = std::identity>
  Result<std::vector<Row>> AllSelected(const SelectionNumber& selection, std::string number,
                                       const ColumnList<Row, Parts...>& columns,
                                       std::string_view from, const CancelToken& cancel,
                                       Of of = {}) {
    std::vector<Row> rows;
    WHEREFORE_RETURN_IF_ERROR(RunSelected(
        selection, std::move(number), columns, from, cancel,
        [&](Row&& row) { rows.push_back(std::move(row)); }, of));
    return rows;
  }
  // Totals of profiles, at most `limit` (0: all), one by one.
  Result<> EachTotal(const SampleQuery& query, std::size_t limit, const CancelToken& cancel,
                     const std::function<Result<>(const ProfileSum&)>& visit);
  Result<> ShareOutMany(const SampleQuery& query, StepSums& sums, const CancelToken& cancel);
  Result<> WeighSome(const SampleQuery& query, std::span<const ProfileWeight> weights,
                     std::vector<WeighedStack>& sums, const CancelToken& cancel);
  Result<std::vector<ProfileRow>> RunProfiles(const std::string& where, std::uint32_t tenant,
                                              std::size_t limit, const CancelToken& cancel);
  Result<std::vector<LinkRow>> RunLinks(const std::string& where, std::uint32_t tenant,
                                        const CancelToken& cancel);
  Result<> NameServices(std::vector<SpanRow>& rows, const std::set<std::uint32_t>& buckets,
                        std::uint32_t tenant, const CancelToken& cancel);
  template <typename... Parts>
  Result<std::vector<SpanRow>> RunSpans(const ColumnList<SpanRow, Parts...>& columns,
                                        const std::string& where, std::string_view tail,
                                        std::uint32_t tenant, const CancelToken& cancel);
  Result<std::vector<SpanRow>> WholeSpans(const std::string& where, std::string_view tail,
                                          std::uint32_t tenant, const CancelToken& cancel);
  // Where the spans of some traces lie.
  struct Place {
    std::set<std::uint32_t> buckets;  // empty: there are none
    std::string where;
  };
  Result<Place> SpansOfTraces(std::uint32_t tenant, const std::string& traces,
                              const CancelToken& cancel);
  Result<> AddTraces(std::uint32_t tenant, const Place& place, std::vector<TraceRow>& rows,
                     const CancelToken& cancel);
  Result<> AddSamples(std::uint32_t tenant, const std::string& trace, const std::string& span,
                      const std::string& links, std::vector<TraceSamples>& rows,
                      const CancelToken& cancel);
  // Those of profilers that know only spans; `traces` is a list.
  Result<> AddSpanOnlySamples(std::uint32_t tenant, const std::string& traces, bool by_span,
                              std::vector<TraceSamples>& rows, const CancelToken& cancel);
  // Under which ids a profiler that knows only spans may have filed samples of some traces: a
  // statement of (trace, holder).
  static std::string HoldersOf(const Place& place);
  Result<bool> HasSpanOnlyLinks(std::uint32_t tenant, const CancelToken& cancel);
  // Names of services by hash, profiles and spans alike, from the buckets of `where`.
  using NamesByHash = std::unordered_map<std::uint64_t, std::string>;
  Result<NamesByHash> ServiceNames(const std::string& where, const CancelToken& cancel);

  Transport& transport_;
  QueryLimits limits_;
  const std::atomic<std::uint64_t>& generation_;
  const Tiers& tiers_;
  Histogram& query_seconds_;
};

}  // namespace wherefore::store
