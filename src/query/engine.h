// Engine: the questions people ask, answered exactly.
//
// Stateless apart from caches; any thread; every call honours its cancel token and the store's
// limits. An answer without data is not an error: it comes with a hint that says which part of the
// question found nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "profile/batch.h"
#include "profile/flame_tree.h"
#include "profile/line_table.h"
#include "query/averages.h"
#include "query/catalog.h"
#include "query/lens.h"
#include "query/looks.h"
#include "query/name_list.h"
#include "query/stack_tries.h"
#include "query/why_no_samples.h"
#include "store/delete.h"
#include "store/read.h"

namespace wherefore::query {

struct ServiceInfo {
  std::string name;
  std::vector<std::string> types;     // short names
  std::vector<std::string> type_ids;  // five-part ids, same order
  std::int64_t profiles = 0;
  std::int64_t last_ns = 0;  // start of the newest profile in range; 0 when only spans are known
};

struct ServiceList {
  std::vector<ServiceInfo> services;  // by name
  std::size_t total = 0;              // that match, listed or not
};

// What is stored of services in a range, before any of them is told of: there may be many.
struct StoredService {
  std::int64_t profiles = 0;
  std::int64_t last_ns = 0;
  std::set<std::uint64_t> types;
  double cpu = 0;  // nanoseconds
};
struct StoredServices {
  std::map<std::string, StoredService> by_name;
  std::unordered_map<std::uint64_t, profile::ProfileType> types;
  // From the first profile to the end of the last one, of all of them; zeros when there is none.
  store::TimeRange covered;

  [[nodiscard]] ServiceInfo Info(const std::string& name) const;
};

struct FlameAnswer {
  profile::FlameTree tree;
  bool averaged = false;  // snapshots: the average over the range, values in 1/tree.scale
  std::string hint;       // set when nothing was found
};

struct SeriesOptions {
  store::Steps steps;
  std::vector<std::string> group_by;
  std::size_t max_groups = 0;  // 0: no limit
  LookedFor wanted;            // its search may be empty
};
struct SeriesGroup {
  Labels labels;  // the group-by labels
  std::vector<std::int64_t> values;
  std::vector<std::int64_t> profiles;  // how many are in each step
};
struct SeriesAnswer {
  std::string type;
  std::string unit;
  bool averaged = false;
  std::int64_t scale = 1;
  std::int64_t start_ns = 0;  // of the first step
  std::int64_t step_ns = 0;
  std::int64_t newest_ns = 0;  // start of the newest profile in it; 0: none
  // How much of each step was seen, of all groups together; empty unless profiles are shared out.
  std::vector<std::int64_t> observed_ns;
  std::vector<SeriesGroup>
      groups;  // largest first; groups beyond the limit are added up in one called "other"
  // Of what is looked for, all groups together; only with a search.
  std::optional<std::vector<std::int64_t>> matched;
  std::string hint;
};

// One label set that has profiles of one type.
struct StoredSeries {
  std::string_view service;
  std::string_view type_id;  // five parts; counts that stand for CPU time come under both their ids
  const Labels* labels = nullptr;
};

// The profile of spans.
struct SpanProfileAnswer {
  profile::FlameTree tree;
  std::map<std::string, std::int64_t> by_span;  // hex span id -> value
  // The same of what is seen by looks (looks.h), with how far off it may be; else empty.
  std::map<std::string, Looks> looks;
  // Some profilers file all samples of a request under its local root span. Then this is that
  // span's id in hex, and the tree has those of its samples that were taken while the spans asked
  // for ran, as far as their sender gave times. Only with samples: what is not shown is explained
  // by the hint alone.
  std::string filed_under;
  std::vector<std::string> types;  // that these samples have
  bool arriving = false;           // nothing yet, but there may be in some seconds
  std::string hint;                // why there is nothing to show; empty when there is
};

// What the samples of a trace add up to, read as one type.
struct TraceProfile {
  std::string type;  // short name
  std::string unit;
  std::int64_t value = 0;
  std::int64_t count = 0;      // observations
  std::optional<Looks> looks;  // of what is seen by looks: value is what is shown of it
};

struct TraceSummary {
  profile::TraceId trace{};
  std::string root_service;
  std::string root_name;
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  std::size_t spans = 0;
  std::size_t errors = 0;
  bool root_missing = false;           // its root is then the earliest span there is
  std::vector<TraceProfile> profiles;  // of a search: what SpanProfile shows by itself comes first
  std::vector<store::SpanRow> matched;
};

// Which of the traces that match are listed, and in which order.
enum class SearchOrder : std::uint8_t {
  kTime,      // the newest
  kDuration,  // those with the longest spans that match
  kCpu,       // those with most CPU time in their samples
  kSamples    // those with most observations, of the type their own page shows
};
struct TraceList {
  std::vector<TraceSummary> traces;
  // Not 0: more than this many match, and by their samples only so many, the newest, were compared.
  std::size_t looked_at = 0;
};

// The traces in which a function was seen: samples that belong to spans and hold it.
struct FunctionTraces {
  struct Span {
    profile::SpanId span{};
    std::string service;  // of the samples
    std::string name;     // empty: the span itself is not stored
    std::int64_t duration_ns = 0;
    std::int64_t value = 0;  // of the function, in this span
    std::int64_t count = 0;
    std::optional<Looks> looks;  // as in TraceProfile
  };
  struct Trace {
    TraceSummary
        summary;  // all zero where the profiler knows only the span, and no span has its id
    std::int64_t value = 0;
    std::int64_t count = 0;
    std::optional<Looks> looks;  // as in TraceProfile
    std::vector<Span> spans;     // largest first
  };
  std::string type;
  std::string unit;
  std::int64_t value = 0;  // the function's, linked or not
  std::int64_t count = 0;
  std::int64_t linked_value = 0;  // of it: in samples that belong to a span
  std::int64_t linked_count = 0;
  std::size_t found = 0;      // traces, listed or not
  std::vector<Trace> traces;  // in the order asked for
  std::string hint;           // set when there is none
};

// Which of them are listed, and in which order: where it took most, the longest or the newest
// first.
enum class TraceOrder : std::uint8_t { kValue, kDuration, kTime };
struct TracesOptions {
  std::size_t limit = 20;
  TraceOrder order = TraceOrder::kValue;
};

// Observations over time: one cell per step and row, colour = how many.
struct HeatMapAnswer {
  // Senders that give the time of every observation: rows are offsets within the second. Others:
  // rows are the profiles' own values.
  bool by_offset = false;
  std::string type;
  std::string unit;
  std::int64_t start_ns = 0;
  std::int64_t step_ns = 0;
  std::size_t steps = 0;
  std::int64_t row_width = 0;  // nanoseconds of offset, or of the value's unit
  std::size_t rows = 0;
  struct Cell {
    std::uint32_t step = 0;
    std::uint32_t row = 0;
    std::int64_t count = 0;
    // Only with a search: how much of the cell is what is looked for, and of how much:
    // observations, or the values of its profiles.
    std::int64_t matched = 0;
    std::int64_t whole = 0;
  };
  std::vector<Cell> cells;  // those with something in them
  std::string hint;
};

// Everything the list of services says about one, in one go (engine_overview.cc).
struct ServiceOverview {
  ServiceInfo info;
  std::vector<std::int64_t> cpu;           // per step; empty: no CPU profiles
  std::vector<std::int64_t> cpu_profiles;  // the same: how many it is from
  double cores = 0;                        // CPU time over OverviewAnswer::observed_ns
  std::int64_t seen_ns = 0;                // in which a CPU profile of it was taken, gaps excluded
  std::vector<std::string> versions;       // service.version in the newest step that has any
  std::string earlier_version;             // what ran before it in the range, if it changed
  std::vector<profile::TopRow> top;        // into `functions`
  std::vector<profile::FlameFunction> functions;
  std::string top_type;
  std::int64_t top_total = 0;
  std::optional<std::int64_t> heap_bytes;  // in use, newest
  std::optional<store::LatencyRow> latency;
  std::set<std::string> senders;    // what sends, as far as it says so
  std::set<std::string> instances;  // where it runs
};
struct OverviewAnswer {
  // The part of the range in which a service could be seen: since anything was sent, and up to
  // what has arrived.
  store::TimeRange observed;
  // Of it, the time in which a CPU profile of any service was taken: gaps excluded.
  std::int64_t observed_ns = 0;
  std::int64_t start_ns = 0;
  std::int64_t step_ns = 0;
  std::vector<std::int64_t> step_observed_ns;  // the same of each step
  std::vector<ServiceOverview> services;       // those that use most CPU first
  std::size_t total = 0;                       // that match, listed or not
  double cores = 0;                            // of all that match
};

// Only functions of that module (its file name; empty: of none) and of that source file.
struct ListOptions {
  std::optional<std::string> module;  // not said: of any
  std::string file;                   // empty: of any
};
struct ListAnswer {
  std::string type;
  std::string unit;
  std::int64_t scale = 1;  // values are in 1/scale units
  std::int64_t total = 0;  // of the whole selection
  std::vector<profile::ListedFunction> functions;
  std::string hint;
};

class Timelines;  // engine_timeline.cc

class Engine {
 public:
  // `symbolizer` adds lines to frames that came without; null: names stay as they were sent.
  explicit Engine(store::Reader& reader, symbols::Symbolizer* symbolizer = nullptr,
                  std::size_t cache_bytes = 128u << 20);

  // Engine_names.cc. Services that have profiles in the range; the selector may name services only.
  Result<ServiceList> Services(const Selection& selection, const ListOf& wanted,
                               const CancelToken& cancel);
  Result<std::vector<store::TypeRow>> Types(const Selection& selection, const CancelToken& cancel);
  // Label names, or the values of one label, over series that match (type is not looked at).
  Result<NameList> LabelNames(const Selection& selection, const ListOf& wanted,
                              const CancelToken& cancel);
  Result<NameList> LabelValues(const Selection& selection, const std::string& label,
                               const ListOf& wanted, const CancelToken& cancel);

  // Every label set with profiles in the selection's range that its selector lets through, once per
  // type (engine_series.cc). Sets of samples count as present when their profile's set is.
  Result<> EachSeries(const Selection& selection,
                      const std::function<void(const StoredSeries&)>& visit,
                      const CancelToken& cancel);

  // Every profile of the selection with its group-by labels (engine_series.cc). False when labels
  // of samples are asked for: then a profile is not of one group, and nothing is visited.
  struct ProfilePoint {
    Labels labels;
    store::DictionaryKey dictionary;
    std::uint32_t number = 0;
    std::int64_t time_ns = 0;
    profile::ProfileId id{};
    std::int64_t value = 0;
  };
  Result<bool> EachProfile(const Selection& selection, const std::vector<std::string>& group_by,
                           const std::function<void(const ProfilePoint&)>& visit,
                           const CancelToken& cancel);
  // From the start of the oldest stored profile to that of the newest; zeros when there is none.
  Result<store::TimeRange> Extent(std::uint32_t tenant, const CancelToken& cancel);

  // A selector that names a span, trace or profile narrows it to those samples.
  Result<FlameAnswer> Flame(const Selection& selection, const Lens& lens,
                            const CancelToken& cancel);
  // The same for some of the selection's samples, added up; links have no time of their own, so
  // traces and spans are not narrowed by the range. No hint.
  Result<profile::FlameTree> NarrowedFlame(const Selection& selection, const Narrowing& narrowing,
                                           const CancelToken& cancel);
  // Engine_timeline.cc.
  Result<SeriesAnswer> Series(const Selection& selection, const SeriesOptions& options,
                              const CancelToken& cancel);
  // Engine_average.cc: the time in which any profile of the selection was taken, over all
  // instances, which is what values per second are divided by. 0: not known, as of single samples.
  Result<std::int64_t> ObservedNs(const Selection& selection, const CancelToken& cancel);
  // Engine_functions.cc; traces beyond `limit` are counted only.
  Result<FunctionTraces> TracesOf(const Selection& selection, const FunctionName& function,
                                  const TracesOptions& options, const CancelToken& cancel);
  // Engine_heat.cc. Rows: 20 ms, or twenty of equal width up to the largest value.
  Result<HeatMapAnswer> HeatMap(const Selection& selection, std::int64_t step_ns,
                                const LookedFor& wanted, const CancelToken& cancel);
  // Engine_overview.cc: what all services use, and everything about those that are listed.
  Result<OverviewAnswer> Overview(std::uint32_t tenant, store::TimeRange range,
                                  const ListOf& wanted, const CancelToken& cancel);
  // Whether a profile of the selection's services and days names this source file.
  Result<bool> NamesFile(const Selection& selection, const std::string& file,
                         const CancelToken& cancel);
  Result<ListAnswer> List(const Selection& selection, const std::string& function_regex,
                          const ListOptions& options, const CancelToken& cancel);

  // Samples linked to a trace (spans empty) or to some of its spans.
  Result<SpanProfileAnswer> SpanProfile(std::uint32_t tenant, const profile::TraceId& trace,
                                        const std::vector<profile::SpanId>& spans,
                                        const std::string& type, const Lens& lens,
                                        const CancelToken& cancel);
  // All spans of a trace, the earliest first.
  Result<std::vector<store::SpanRow>> Trace(std::uint32_t tenant, const profile::TraceId& trace,
                                            const CancelToken& cancel);
  // The same as far as a waterfall needs it (store::Reader::TraceShape).
  Result<std::vector<store::SpanRow>> TraceShape(std::uint32_t tenant,
                                                 const profile::TraceId& trace,
                                                 const CancelToken& cancel) {
    return reader_.TraceShape(tenant, trace, cancel);
  }
  // Engine_traces.cc: traces with a span that matches; `most_per_trace` of those spans come with
  // each.
  Result<TraceList> SearchTraces(const store::SpanSearch& search, SearchOrder order,
                                 const CancelToken& cancel);
  Result<std::vector<std::pair<std::string, std::string>>> SpanNames(std::uint32_t tenant,
                                                                     store::TimeRange range,
                                                                     const CancelToken& cancel);

  Result<std::vector<store::ProfileRow>> Profiles(const Selection& selection, std::size_t limit,
                                                  const CancelToken& cancel);
  // The stored profile(s) with this id, as they came in (export.cc).
  Result<profile::Batch> StoredProfile(std::uint32_t tenant, const profile::ProfileId& id,
                                       const CancelToken& cancel);
  // Every profile of the selection, each on its own, as it came in; at most `limit`.
  Result<profile::Batch> StoredProfiles(const Selection& selection, std::size_t limit,
                                        const CancelToken& cancel);
  // The selection added up into one profile per type of its family, labels of samples kept: for
  // pprof.
  Result<profile::Batch> Merged(const Selection& selection, const CancelToken& cancel);

  // What deleting a selection means: the ids behind it, whatever the type, and the spans that
  // match.
  Result<store::DeleteRequest> ResolveDelete(const Selection& selection, const CancelToken& cancel);
  // Data was deleted: forget what was cached.
  void Forget() { tries_.Clear(); }
  store::Reader& reader() { return reader_; }

 private:
  // Values per stack, by selection of `resolved`: added up, or averaged in thousandths for
  // snapshots.
  Result<std::vector<std::vector<StackValue>>> SumOrAverage(const Resolved& resolved,
                                                            const CancelToken& cancel);
  Result<std::vector<std::vector<StackValue>>> Sum(const Resolved& resolved,
                                                   const CancelToken& cancel);
  // Engine_average.cc; `resolved` has its series.
  Result<std::vector<std::vector<StackValue>>> Average(const Resolved& resolved,
                                                       const CancelToken& cancel);
  Result<Snapshots> ReadSnapshots(const Resolved& resolved, const CancelToken& cancel);
  // Engine_timeline.cc: fill `out`, and say how much of each step was seen.
  Result<std::vector<std::int64_t>> SumOverTime(const Resolved& resolved,
                                                const SeriesOptions& options, Timelines& out,
                                                const CancelToken& cancel);
  Result<std::vector<std::int64_t>> AverageOverTime(const Resolved& resolved,
                                                    const SeriesOptions& options, Timelines& out,
                                                    const CancelToken& cancel);
  // Engine_matches.cc: asks for each selection of a question, narrowed to stacks with what is
  // looked for; not where there are none. Answers to `ask` are about selection 0.
  Result<> EachNarrowed(
      const store::SampleQuery& query, const LookedFor& wanted,
      const std::function<Result<>(std::uint32_t, const store::SampleQuery&)>& ask,
      const CancelToken& cancel);
  // What is looked for has in each profile, one by one; where labels of samples are asked for, in
  // each label set of its samples.
  Result<> EachMatching(const Resolved& resolved, const LookedFor& wanted,
                        const std::function<Result<>(const store::ProfileSum&)>& visit,
                        const CancelToken& cancel);
  // Engine_heat.cc: cells by offset within the second, and by the profiles' values.
  Result<> FillByOffset(const Resolved& resolved, const LookedFor& wanted, HeatMapAnswer& answer,
                        const CancelToken& cancel);
  Result<> FillByValue(const Selection& selection, const Resolved& resolved,
                       const LookedFor& wanted, HeatMapAnswer& answer, const CancelToken& cancel);
  // Engine_spans.cc: from linked samples to a tree.
  Result<> FillSpanAnswer(std::uint32_t tenant, const profile::TraceId& trace,
                          std::vector<store::LinkRow> links, const std::string& type,
                          SpanProfileAnswer& answer, std::string& types, const CancelToken& cancel);
  // Brings samples that are looks down to what is shown of each span (looks.h), and says what that
  // is; others stay. They are of this trace; all zero: of those that they say themselves.
  Result<std::map<SpanKey, Looks>> ClipLooks(
      std::uint32_t tenant, const profile::TraceId& trace,
      const std::unordered_map<std::uint64_t, TypeUse>& uses, std::vector<store::LinkRow>& links,
      const CancelToken& cancel);
  // Engine_series.cc: samples that are linked to some traces and spans.
  Result<std::vector<std::vector<StackValue>>> LinkedValues(const Resolved& resolved,
                                                            const Narrowing& narrowing,
                                                            const CancelToken& cancel);
  // The services whose profilers link every span of this trace, not only local roots.
  Result<std::set<std::uint64_t>> LinkingInnerSpans(std::uint32_t tenant,
                                                    const std::vector<store::SpanRow>& trace,
                                                    const CancelToken& cancel);
  // Samples of spans that have none of their own, found under the spans around them, unless their
  // profiler links inner spans too.
  struct FiledElsewhere {
    std::vector<store::LinkRow> links;
    const store::SpanRow* holder = nullptr;  // a span that holds such samples, into the trace
    bool timed = false;                      // those it holds have times
  };
  Result<FiledElsewhere> FromLocalRoots(std::uint32_t tenant,
                                        const std::vector<store::SpanRow>& trace,
                                        const std::vector<profile::SpanId>& spans,
                                        const std::set<profile::SpanId>& asked,
                                        const CancelToken& cancel);
  // Samples of a whole trace whose profilers know only the span.
  Result<std::vector<store::LinkRow>> LinksOfTrace(std::uint32_t tenant,
                                                   const std::vector<store::SpanRow>& rows,
                                                   const CancelToken& cancel);
  // Why_no_samples.cc: what is stored of a span's service around its time, and what follows.
  Result<ServiceThen> ServiceAt(std::uint32_t tenant, const store::SpanRow& span,
                                const CancelToken& cancel);
  Result<std::string> ExplainNoLinks(std::uint32_t tenant, const std::vector<store::SpanRow>& trace,
                                     const std::vector<profile::SpanId>& wanted,
                                     std::string_view types, bool& arriving,
                                     const CancelToken& cancel);
  // Engine_traces.cc: what there is to know of traces that are stored, and of their samples.
  Result<> Summarise(std::uint32_t tenant, const std::vector<TraceSummary*>& traces,
                     const CancelToken& cancel);
  // What the spans of these samples took by themselves, as far as they were seen by looks.
  Result<std::map<SpanKey, std::int64_t>> OwnTimesOf(
      std::uint32_t tenant, const std::vector<profile::TraceId>& traces,
      const std::vector<store::TraceSamples>& samples, const CancelToken& cancel);
  // Clipped: looks by what is shown of each span, as a trace's own page has it.
  enum class CountLooks : std::uint8_t { kAsTheyAre, kClipped };
  Result<> CountSamples(std::uint32_t tenant, const std::vector<TraceSummary*>& traces,
                        CountLooks looks, const CancelToken& cancel);
  // Engine_functions.cc: names and lengths of the spans a function was seen in.
  Result<> NameSpans(std::uint32_t tenant, std::vector<FunctionTraces::Trace>& traces,
                     const CancelToken& cancel);
  // Of each span no more than it took by itself.
  Result<> ClipLooks(std::uint32_t tenant, std::vector<FunctionTraces::Trace>& traces,
                     const CancelToken& cancel);
  // False: no stack has it.
  Result<bool> SumFunction(const Resolved& resolved, const FunctionName& function,
                           FunctionTraces& answer, const CancelToken& cancel);
  // Puts the longest or the newest first; those without spans last.
  Result<> OrderByTime(std::uint32_t tenant, TraceOrder order,
                       std::vector<FunctionTraces::Trace>& traces, const CancelToken& cancel);
  // Gives spans known by their id alone their trace, where a span of that id is stored.
  Result<> FindTraces(std::uint32_t tenant, store::TimeRange range,
                      std::vector<FunctionTraces::Trace>& traces, const CancelToken& cancel);
  // Engine_names.cc: services that have profiles in the range.
  Result<StoredServices> ServicesOf(const Selection& selection, const CancelToken& cancel);
  using LabelSetFunction =
      std::function<Result<>(const std::string& service, const Labels& labels)>;
  Result<> EachLabelSet(const Selection& selection, const LabelSetFunction& visit,
                        const CancelToken& cancel);
  // Engine_overview.cc: `listed` selects the services of the answer.
  using ByName = std::map<std::string, ServiceOverview*>;
  Result<store::TimeRange> Observed(std::uint32_t tenant, store::TimeRange range,
                                    store::TimeRange covered, const CancelToken& cancel);
  Result<> AddCpu(const Selection& listed, OverviewAnswer& answer, const ByName& services,
                  const CancelToken& cancel);
  Result<> AddCores(const Selection& listed, OverviewAnswer& answer, const ByName& services,
                    const CancelToken& cancel);
  Result<> AddTops(const Selection& listed, const ByName& services, const CancelToken& cancel);
  Result<> AddHeap(const Selection& listed, const ByName& services, const CancelToken& cancel);
  Result<> AddSenders(const Selection& listed, const ByName& services, const CancelToken& cancel);
  // Like the catalog's, with what averages need.
  Result<Resolved> Resolve(const Selection& selection, const CancelToken& cancel);

  store::Reader& reader_;
  symbols::Symbolizer* const symbolizer_;
  Catalog catalog_;
  StackTries tries_;
};

inline constexpr std::size_t kMaxSubtreeSpans = 10'000;
// Adds to `spans` every span of `trace` that lies below one of them. Parents may go in a circle or
// be missing. kLimit when they are too many.
[[nodiscard]] Result<> AddDescendants(const std::vector<store::SpanRow>& trace,
                                      std::vector<profile::SpanId>& spans);

// a - b by function path: values of `tree` are b (after) minus a (before); see diff.cc.
struct DiffTree {
  profile::FlameTree tree;           // union of both; values are those of `after`
  std::vector<std::int64_t> before;  // total per node
  std::vector<std::int64_t> before_self;
  std::vector<std::int64_t> before_count;  // observations behind before_self
};
[[nodiscard]] DiffTree Diff(const profile::FlameTree& before, const profile::FlameTree& after);

// What is small on both sides folded into explicit "other" children, as profile::Prune does it;
// totals of both sides do not change.
[[nodiscard]] DiffTree PruneDiff(const DiffTree& diff, const profile::PruneOptions& options);

struct DiffRow {
  std::uint32_t function = 0;  // into the union tree's functions
  std::int64_t self_before = 0;
  std::int64_t self_after = 0;
  std::int64_t total_before = 0;
  std::int64_t total_after = 0;
};
// Functions by how much their self value changed, largest change first.
[[nodiscard]] std::vector<DiffRow> DiffTop(const DiffTree& diff);

}  // namespace wherefore::query
