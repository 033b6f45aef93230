// Reader: what src/query may ask of the store, and the typed rows it gets back.
//
// Ids (stack, frame, function, series ...) are dense numbers that mean something only together with
// the dictionary they belong to: (tenant, service, bucket, writer). A dictionary only ever grows,
// so a reader may cache what it has read and ask for the rest (DictionaryCursor).
//
// Every call runs under the store's time and memory limits and stops early, with kCancelled, when
// `cancel` fires. Any thread.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "profile/batch.h"
#include "profile/type_id.h"
#include "store/alert_event.h"
#include "store/regression_event.h"

namespace wherefore::store {

// Attributes of a span that say whose its time is: where its samples are filed, which thread it ran
// on, and how long it was on a CPU.
inline constexpr std::array<std::string_view, 3> kTimingAttributes = {
    "pyroscope.profile.id", "thread.id", "wherefore.span.cpu_ns"};
// Labels that name an instance of a service, the first that is there counts.
inline constexpr std::array<std::string_view, 6> kInstanceLabels = {
    "service.instance.id", "k8s.pod.name", "host.name", "hostname", "pod", "instance"};

// Half open, Unix nanoseconds; a profile or span is inside when its start is.
struct TimeRange {
  std::int64_t from_ns = 0;
  std::int64_t to_ns = 0;
};

struct DictionaryKey {
  std::uint32_t tenant = 0;
  std::uint64_t service = 0;  // hash of its name
  std::uint32_t bucket = 0;   // 20261115 for a day, 202611 for a month
  std::uint32_t writer = 0;
  auto operator<=>(const DictionaryKey&) const = default;
};

// One service in one bucket, as written by one writer.
struct ServiceRow {
  DictionaryKey dictionary;
  std::string name;
};

struct TypeRow {
  DictionaryKey dictionary;
  std::uint64_t type = 0;  // ProfileType::Hash()
  profile::ProfileType details;
};

// A label set. Profile-level sets (resource, scope and profile attributes) have parent 0; a set
// that adds sample attributes names the profile-level set it extends.
struct SeriesRow {
  std::uint32_t series = 0;  // 1, 2, ...
  std::uint32_t parent = 0;
  std::vector<std::pair<std::string, std::string>>
      labels;           // sorted by name, sender's spelling; sample labels included
  std::string encoded;  // typed attributes, for lossless export (docs/format.md)
};

// Some stacks of one dictionary: those listed, or all below an id but those listed (what may come
// meanwhile is not meant).
struct StackSet {
  std::vector<std::uint32_t> stacks;
  std::optional<std::uint32_t> all_below;
};

// Series of one dictionary; empty `series` = all of them.
struct SeriesSelection {
  DictionaryKey dictionary;
  std::vector<std::uint32_t> series;
  std::vector<std::uint64_t> types;  // empty = all
  // Only samples with one of these stacks. Not for queries about whole profiles.
  std::optional<StackSet> stacks = std::nullopt;
};

struct FunctionRow {
  std::string name;
  std::string system_name;
  std::string file;
  std::int64_t start_line = 0;
};
struct MappingRow {
  std::uint64_t start = 0;
  std::uint64_t limit = 0;
  std::uint64_t file_offset = 0;
  std::string file;
  std::string build_id;
  std::string attributes;  // encoded
};
struct LineRow {
  std::uint32_t function = 0;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};
struct FrameRow {
  std::uint32_t mapping = 0;
  std::uint64_t address = 0;
  std::vector<LineRow> lines;  // innermost first
  std::string attributes;      // encoded; profile.frame.type among them
};

// How far a reader has read a dictionary: the next ids it does not know yet. Ids start at 1.
struct DictionaryCursor {
  std::uint32_t stack = 1;
  std::uint32_t frame = 1;
  std::uint32_t function = 1;
  std::uint32_t mapping = 1;
};
// An id that no row has: what it stood for is lost with a part of the disk. Any other id without a
// row means the same.
inline constexpr std::uint32_t kLostId = UINT32_MAX;
// Rows with ids from the cursor on, in id order without gaps: in the place of a row that is lost
// there is a function without a name but profile::kNameLost, a frame of the function kLostId, or a
// stack of the frame kLostId.
struct DictionaryRows {
  std::vector<FunctionRow> functions;
  std::vector<MappingRow> mappings;
  std::vector<FrameRow> frames;
  std::vector<std::uint32_t> stack_frames;  // pool
  std::vector<profile::Range> stacks;       // into stack_frames, leaf first
};

struct StackSum {
  std::uint32_t dictionary = 0;  // index into the request's selections
  std::uint64_t type = 0;
  std::uint32_t stack = 0;
  std::int64_t value = 0;
  std::int64_t count = 0;  // sum of stored n; 0 where the type's CountRule says how to derive it
};

// Which samples to add up.
struct SampleQuery {
  std::uint32_t tenant = 0;
  TimeRange range;
  std::vector<SeriesSelection> selections;
};
struct StackSumBySeries {
  StackSum sum;
  std::uint32_t series = 0;
};

// How time is cut into steps: [phase + k * width, phase + (k + 1) * width).
struct Steps {
  std::int64_t width_ns = 0;
  std::int64_t phase_ns = 0;
  // A profile lasts some time: each step gets its part of it, together exactly the whole; what lies
  // beyond the range goes to the range's last step. False: all of it where the profile begins.
  bool spread = false;
};
// One bar of a time series.
struct SeriesPoint {
  std::uint32_t dictionary = 0;  // index into selections
  std::uint64_t type = 0;
  std::uint32_t series = 0;
  std::int64_t step_start_ns = 0;
  std::int64_t value = 0;
  std::int64_t count = 0;
  std::int64_t profiles = 0;  // how many have a share in it
  std::int64_t last_ns = 0;   // start of the newest profile in the step
};

// What the wanted samples of one profile add up to.
struct ProfileSum {
  std::uint32_t dictionary = 0;  // index into selections
  std::uint64_t type = 0;
  std::uint32_t series = 0;  // one of those its samples have
  std::uint32_t number = 0;  // dense per dictionary
  std::int64_t time_ns = 0;
  std::int64_t duration_ns = 0;
  std::int64_t value = 0;
  std::int64_t count = 0;
};

// Time in which profiles of one selection and type were taken: of one, or of several that surely
// overlap.
struct SeenRow {
  std::uint32_t dictionary = 0;  // index into selections
  std::uint64_t type = 0;
  std::uint32_t series = 0;  // only of one that does not say how long it took
  std::int64_t begin_ns = 0;
  std::int64_t length_ns = 0;  // 0: it does not say
};
// A timeline of profiles that are shared out between their steps, and when they were taken.
struct SharedOut {
  std::vector<SeriesPoint> points;
  std::vector<SeenRow> seen;
};

// How much the values of one profile count.
struct ProfileWeight {
  std::uint32_t dictionary = 0;  // index into selections
  std::uint32_t number = 0;
  std::int64_t time_ns = 0;
  std::int64_t weight = 0;
};
struct WeighedStack {
  std::uint32_t dictionary = 0;  // index into selections
  std::uint64_t type = 0;
  std::uint32_t stack = 0;
  double weighed = 0;      // sum of value x weight
  std::int64_t value = 0;  // sums without weights
  std::int64_t count = 0;
};

// The newest profile of a series, and how far apart its profiles are on average; 0: it is the only
// one.
struct NewestRow {
  ProfileSum profile;
  std::int64_t distance_ns = 0;
};

inline constexpr std::int64_t kNsPerHour = 3'600'000'000'000;

// What a dictionary has in an hour. Numbers of profiles are never used twice: where all of it is
// the same, the samples are.
struct HourContent {
  std::int64_t profiles = 0;
  std::uint32_t through = 0;  // the highest number of a profile
  std::int64_t samples = 0;   // as the profiles say

  bool operator==(const HourContent&) const = default;
};
// An hour in which a dictionary has profiles.
struct HourRow {
  DictionaryKey dictionary;
  std::uint32_t hour = 0;  // since 1970
  HourContent now;
  std::uint32_t revision = 0;  // of what it was rolled to last; 0: it was not
  HourContent rolled;          // from this
  std::int64_t rolled_ns = 0;

  // Whether its sums say what its samples say.
  [[nodiscard]] bool IsCurrent() const { return revision != 0 && now == rolled; }
};
// Sums of hours, in place of their samples.
struct HourSumQuery {
  SampleQuery query;  // dictionaries and types; all series and stacks; the range does not matter
  struct Part {
    DictionaryKey dictionary;
    std::uint32_t hour = 0;
    std::uint32_t revision = 0;
  };
  std::vector<Part> parts;
  std::optional<std::vector<std::string>> versions = std::nullopt;  // as in rows; none: all
};
struct SampleCount {
  std::uint32_t dictionary = 0;  // index into selections
  std::int64_t samples = 0;
};

// What profiles there are of one selection and type.
struct CoverRow {
  std::uint32_t dictionary = 0;  // index into selections
  std::uint64_t type = 0;
  std::int64_t first_ns = 0;  // when the first one begins
  std::int64_t end_ns = 0;    // when the last one ends
  std::int64_t last_ns = 0;   // when the last one begins
  std::int64_t profiles = 0;
  std::int64_t value = 0;    // the sum of their totals
  std::uint32_t series = 0;  // by label set: which one
};

struct ProfileRow {
  DictionaryKey dictionary;
  std::uint64_t type = 0;
  std::uint32_t series = 0;
  std::uint32_t number = 0;  // dense per dictionary
  std::int64_t time_ns = 0;
  std::int64_t duration_ns = 0;
  profile::ProfileId id{};
  std::int64_t total = 0;
  std::int64_t samples = 0;
  std::string attributes;  // encoded: what is not a series label (process.pid, ...)
};

// A sample of one profile with everything needed to give it back.
struct SampleRow {
  std::uint32_t series = 0;
  std::uint32_t stack = 0;
  std::int64_t value = 0;
  std::int64_t count = 0;
  profile::TraceId trace{};  // all zero: no link
  profile::SpanId span{};
  std::vector<std::uint64_t> times;
  std::vector<std::int64_t> values;
  std::string attributes;  // encoded: sample attributes that are not labels
};

// The file a sender attached to a profile (--keep-payload); empty where there is none.
struct Payload {
  std::string format;
  std::shared_ptr<const std::string> bytes = std::make_shared<const std::string>();
};

// A sample that belongs to a span.
struct LinkRow {
  DictionaryKey dictionary;
  profile::TraceId trace{};
  profile::SpanId span{};
  std::uint64_t type = 0;
  std::uint32_t profile = 0;
  std::uint32_t series = 0;
  std::uint32_t stack = 0;
  std::int64_t value = 0;
  std::int64_t count = 0;
};

// A linked sample whose sender gave the time of every observation.
struct TimedLinkRow {
  DictionaryKey dictionary;
  std::uint64_t type = 0;
  std::uint32_t stack = 0;
  std::int64_t value = 0;
  std::vector<std::uint64_t> times;
  std::vector<std::int64_t> values;  // one per time, or as sent
};

struct SpanRow {
  std::uint64_t service = 0;
  std::string service_name;
  profile::TraceId trace{};
  profile::SpanId id{};
  profile::SpanId parent{};
  std::string name;
  std::uint8_t kind = 0;
  std::uint8_t status_code = 0;
  std::string status_message;
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  std::vector<std::pair<std::string, std::string>> attributes;  // span attributes as text
  std::vector<std::pair<std::string, std::string>> resource;    // resource attributes as text
  std::string encoded;  // everything with its type: attributes, events, links, scope, state, flags
};

// When a span ran, and whose it is.
struct SpanTime {
  profile::TraceId trace{};
  profile::SpanId id{};
  profile::SpanId parent{};
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  bool names_holder = false;  // it says under which span its samples are filed: a local root
};

// Some traces instead of all: one in so many, chosen by a hash of their id, so that every query
// that is asked for the same share sees the same traces. Samples without a trace are in every
// share.
struct TraceShare {
  std::uint64_t one_in = 1;
  [[nodiscard]] bool Has(const profile::TraceId& trace) const;
};

// Which spans of services: all that began in the range.
struct ServiceSpansQuery {
  std::uint32_t tenant = 0;
  TimeRange range;
  std::vector<std::uint64_t> services;  // hashes of their names
  TraceShare share;
};
// A span as far as it says which request of its service it belongs to.
struct ServiceSpan {
  std::uint64_t service = 0;
  profile::TraceId trace{};
  profile::SpanId id{};
  profile::SpanId parent{};
  std::string name;
  std::uint8_t kind = 0;
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  // Under which id a profiler that knows only spans files its samples; all zero: its own.
  profile::SpanId holder{};
  std::uint32_t resource = 0;  // into ServiceSpans::resources
};
struct ServiceSpans {
  std::vector<ServiceSpan> spans;  // in no order
  // Resource attributes as text, sorted by name.
  std::vector<std::vector<std::pair<std::string, std::string>>> resources;
};

struct SpanSearch {
  std::uint32_t tenant = 0;
  TimeRange range;
  std::string service;  // empty: any
  std::string name;     // empty: any; exact
  std::int64_t min_duration_ns = 0;
  std::int64_t max_duration_ns = 0;                             // 0: no limit
  int status_code = -1;                                         // -1: any
  int kind = -1;                                                // -1: any
  std::vector<std::pair<std::string, std::string>> attributes;  // all must match, span or resource
  std::size_t limit = 100;
  std::size_t most_per_trace = 0;  // 0: no limit; one large trace must not push out the others
  bool roots_only = false;
  bool requests_only = false;  // spans that others, or nobody, called from outside
  bool slowest = false;        // of traces: those with the longest matching spans, not the newest
  std::vector<profile::TraceId> traces;  // empty: any
};

// What a list says of a trace.
struct TraceRow {
  profile::TraceId trace{};
  std::int64_t start_ns = 0;  // of its first span
  std::int64_t end_ns = 0;    // of whichever span ended last
  std::int64_t spans = 0;
  std::int64_t errors = 0;
  std::string root_service;  // of the first span without a parent, else of the first
  std::string root_name;
  bool root_missing = false;  // every span names a parent: the first of all has not come (yet)
};

// Samples of one trace that are alike in type, value and observations.
struct TraceSamples {
  DictionaryKey dictionary;
  profile::TraceId trace{};
  profile::SpanId span{};  // where spans are told apart
  std::uint64_t type = 0;
  std::int64_t value = 0;  // of one
  std::int64_t count = 0;
  std::int64_t samples = 0;  // how many of them there are
};

// How long the requests of a service took: spans that others, or nobody, called from outside.
struct LatencyRow {
  std::string service_name;
  std::int64_t requests = 0;
  std::int64_t errors = 0;
  std::int64_t median_ns = 0;
  std::int64_t p99_ns = 0;
};

// How many spans that began in one step took about as long.
struct DurationCell {
  std::int64_t step_start_ns = 0;
  std::int64_t from_ns = 0;  // the shortest duration of its row (DurationRow)
  std::int64_t count = 0;
  std::int64_t errors = 0;
};
// Durations by rows, four to each doubling; all below the first are in it.
inline constexpr std::int64_t kShortestRow = 1024;
[[nodiscard]] constexpr std::int64_t DurationRow(std::int64_t duration_ns) {
  if (duration_ns < kShortestRow) return kShortestRow;
  const auto octave =
      static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(duration_ns)));
  return octave + (duration_ns - octave) / (octave / 4) * (octave / 4);
}
// The row of the next longer ones.
[[nodiscard]] constexpr std::int64_t NextDurationRow(std::int64_t from_ns) {
  return from_ns +
         static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(from_ns))) / 4;
}

// How many observations fell into one step, at one offset within their second.
struct OffsetCell {
  std::int64_t step_start_ns = 0;
  std::uint32_t offset = 0;  // in units of the width asked for
  std::int64_t count = 0;
};

struct EngineStatistics {
  std::vector<std::pair<std::string, std::uint64_t>> bytes_on_disk;  // by table, compressed
  std::vector<std::pair<std::string, std::uint64_t>> rows;
};

class Reader {
 public:
  Reader() = default;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  virtual ~Reader() = default;

  // Changes whenever new services, types, series or stacks became visible, or data went away; what
  // was read at one generation may be kept while it lasts. 0: not known, do not keep.
  [[nodiscard]] virtual std::uint64_t Generation() const { return 0; }

  // Whether retention has dropped the samples of a dictionary; its hours may still be there.
  [[nodiscard]] virtual bool SamplesGone(const DictionaryKey& /*key*/) const { return false; }
  // Odd while something that hours were rolled to goes away: then, or where it has changed
  // meanwhile, sums are whole only if Hours() still knows their revisions after they were read.
  [[nodiscard]] virtual std::uint64_t HourRemovals() const { return 0; }

  // Services with profiles in buckets that overlap the range (coarse: whole buckets).
  virtual Result<std::vector<ServiceRow>> Services(std::uint32_t tenant, TimeRange range,
                                                   const CancelToken& cancel) = 0;
  // The same, and services that only have spans.
  virtual Result<std::vector<ServiceRow>> ServicesOfAnySignal(std::uint32_t tenant, TimeRange range,
                                                              const CancelToken& cancel) = 0;
  virtual Result<std::vector<TypeRow>> Types(const std::vector<DictionaryKey>& dictionaries,
                                             const CancelToken& cancel) = 0;
  // Series with ids >= first of one dictionary, in order.
  virtual Result<std::vector<SeriesRow>> Series(const DictionaryKey& dictionary,
                                                std::uint32_t first, const CancelToken& cancel) = 0;
  // The series of many dictionaries, each in order; those that have none are not there. Few queries
  // need `encoded`.
  enum class SeriesParts : std::uint8_t { kLabels, kEncodedToo };
  virtual Result<std::map<DictionaryKey, std::vector<SeriesRow>>> SeriesOf(
      const std::vector<DictionaryKey>& dictionaries, SeriesParts parts,
      const CancelToken& cancel) = 0;
  virtual Result<DictionaryRows> Dictionary(const DictionaryKey& dictionary,
                                            const DictionaryCursor& cursor,
                                            const CancelToken& cancel) = 0;
  // The same of many from their beginning, four statements in all; those without rows are not
  // there. For small ones: all of it is in memory at once.
  virtual Result<std::map<DictionaryKey, DictionaryRows>> Dictionaries(
      const std::vector<DictionaryKey>& dictionaries, const CancelToken& cancel) = 0;
  // How large they are: frames of all their stacks, and one for each stack.
  virtual Result<std::map<DictionaryKey, std::uint64_t>> FramesOf(
      const std::vector<DictionaryKey>& dictionaries, const CancelToken& cancel) = 0;

  // Sum per stack over the selected samples. Exact; no limit.
  virtual Result<std::vector<StackSum>> SumStacks(const SampleQuery& query,
                                                  const CancelToken& cancel) = 0;
  virtual Result<std::vector<StackSumBySeries>> SumStacksBySeries(const SampleQuery& query,
                                                                  const CancelToken& cancel) = 0;
  // The hours that overlap the range, whole, in which the query's dictionaries have profiles, and
  // what they were rolled to. In no order.
  virtual Result<std::vector<HourRow>> Hours(const SampleQuery& query,
                                             const CancelToken& cancel) = 0;
  // Sum per stack over what hours were rolled to.
  virtual Result<std::vector<StackSum>> SumHours(const HourSumQuery& query,
                                                 const CancelToken& cancel) = 0;
  // How many samples there are; of dictionaries that have any.
  virtual Result<std::vector<SampleCount>> CountSamples(const SampleQuery& query,
                                                        const CancelToken& cancel) = 0;
  // Sums per stack in which every profile counts with its weight; one without any does not count.
  virtual Result<std::vector<WeighedStack>> WeighStacks(const SampleQuery& query,
                                                        std::vector<ProfileWeight> weights,
                                                        const CancelToken& cancel) = 0;
  // Totals per step. from_samples: selections name sample-level series (read `samples`), else the
  // small table `profiles` answers.
  virtual Result<std::vector<SeriesPoint>> Timeline(const SampleQuery& query, const Steps& steps,
                                                    bool from_samples,
                                                    const CancelToken& cancel) = 0;
  // The same from `profiles`, each shared out between the steps it lasts in.
  virtual Result<SharedOut> ShareOut(const SampleQuery& query, const Steps& steps,
                                     const CancelToken& cancel) = 0;
  // One row per profile that has such a sample; by_series: one per label set of its samples.
  virtual Result<std::vector<ProfileSum>> SumProfiles(const SampleQuery& query, bool by_series,
                                                      const CancelToken& cancel) = 0;
  // Every profile of the selection with what all of its samples add up to, in no order.
  virtual Result<std::vector<ProfileSum>> ProfileTotals(const SampleQuery& query,
                                                        const CancelToken& cancel) = 0;
  // The newest profile of each series and type.
  virtual Result<std::vector<NewestRow>> Newest(const SampleQuery& query,
                                                const CancelToken& cancel) = 0;
  // When the profiles of the selection were taken, in no order: their union is the time in which
  // any was. Together: rows that say how long they took are of no selection, and so are far fewer
  // of many services.
  enum class SeenAs : std::uint8_t { kOfEach, kTogether };
  virtual Result<std::vector<SeenRow>> Seen(const SampleQuery& query, SeenAs as,
                                            const CancelToken& cancel) = 0;
  // One row per selection and type, or label set of these, that has profiles in the range.
  enum class CoverBy : std::uint8_t { kType, kSeries };
  virtual Result<std::vector<CoverRow>> Coverage(const SampleQuery& query, CoverBy by,
                                                 const CancelToken& cancel) = 0;
  // Profiles of the selection, oldest first, at most `limit` (0 = all).
  virtual Result<std::vector<ProfileRow>> Profiles(const SampleQuery& query, std::size_t limit,
                                                   const CancelToken& cancel) = 0;
  // Dictionaries of the selection, whatever its types, with a profile that has this attribute.
  virtual Result<std::set<DictionaryKey>> DictionariesWith(const SampleQuery& query,
                                                           std::string_view attribute,
                                                           const CancelToken& cancel) = 0;
  virtual Result<std::vector<ProfileRow>> ProfileById(std::uint32_t tenant,
                                                      const profile::ProfileId& id,
                                                      const CancelToken& cancel) = 0;
  virtual Result<std::vector<SampleRow>> ProfileSamples(const ProfileRow& profile,
                                                        const CancelToken& cancel) = 0;

  virtual Result<Payload> OriginalPayload(const ProfileRow& profile, const CancelToken& cancel) = 0;

  // Linked samples: of a whole trace (spans empty), of some spans of it, or (trace all zero) of
  // spans known by their id alone. Some profilers know spans but not traces: asked for spans, their
  // samples come too.
  virtual Result<std::vector<LinkRow>> LinkedSamples(std::uint32_t tenant,
                                                     const profile::TraceId& trace,
                                                     const std::vector<profile::SpanId>& spans,
                                                     const CancelToken& cancel) = 0;

  // Linked samples of profilers that know only spans, for those spans of a trace that began in
  // `started`.
  virtual Result<std::vector<LinkRow>> SpanOnlyLinks(std::uint32_t tenant,
                                                     const profile::TraceId& trace,
                                                     TimeRange started,
                                                     const CancelToken& cancel) = 0;
  // Linked samples of a selection; the range is that of their profiles.
  virtual Result<std::vector<LinkRow>> Links(const SampleQuery& query, TraceShare share,
                                             const CancelToken& cancel) = 0;

  // Those of one span that have times; `span` says when and in which service.
  virtual Result<std::vector<TimedLinkRow>> TimedLinks(std::uint32_t tenant, const SpanRow& span,
                                                       const CancelToken& cancel) = 0;

  virtual Result<std::vector<SpanRow>> Trace(std::uint32_t tenant, const profile::TraceId& trace,
                                             const CancelToken& cancel) = 0;
  // The same without what only a span's own page shows (status message, attributes but
  // pyroscope.profile.id, resource, encoded): a trace may have 100,000 spans.
  virtual Result<std::vector<SpanRow>> TraceShape(std::uint32_t tenant,
                                                  const profile::TraceId& trace,
                                                  const CancelToken& cancel) = 0;
  virtual Result<std::vector<SpanRow>> SearchSpans(const SpanSearch& search,
                                                   const CancelToken& cancel) = 0;
  // Services and span names seen in the range: (service, name).
  virtual Result<std::vector<std::pair<std::string, std::string>>> SpanNames(
      std::uint32_t tenant, TimeRange range, const CancelToken& cancel) = 0;

  // Spans by their id alone, of any trace, that began in the range.
  virtual Result<std::vector<SpanRow>> SpansById(std::uint32_t tenant, TimeRange range,
                                                 const std::vector<profile::SpanId>& spans,
                                                 const CancelToken& cancel) = 0;
  // The traces with a span that matches, that with the newest one first, at most `limit`.
  virtual Result<std::vector<profile::TraceId>> FindTraces(const SpanSearch& search,
                                                           const CancelToken& cancel) = 0;
  // Of those that have spans, in no order.
  virtual Result<std::vector<TraceRow>> Traces(std::uint32_t tenant,
                                               const std::vector<profile::TraceId>& traces,
                                               const CancelToken& cancel) = 0;
  // Every linked sample of these traces, those of profilers that know only spans too, counted
  // instead of listed; by_span: those of each span. In no order.
  virtual Result<std::vector<TraceSamples>> SamplesOfTraces(
      std::uint32_t tenant, const std::vector<profile::TraceId>& traces, bool by_span,
      const CancelToken& cancel) = 0;
  // These spans of these traces, and their direct children. In no order, some may come twice.
  virtual Result<std::vector<SpanTime>> SpanTimes(std::uint32_t tenant,
                                                  const std::vector<profile::TraceId>& traces,
                                                  const std::vector<profile::SpanId>& spans,
                                                  const CancelToken& cancel) = 0;
  // How many requests services had: spans that others, or nobody, called from outside.
  virtual Result<std::int64_t> CountRequests(const ServiceSpansQuery& query,
                                             const CancelToken& cancel) = 0;
  virtual Result<ServiceSpans> SpansOfServices(const ServiceSpansQuery& query,
                                               const CancelToken& cancel) = 0;
  // When the spans that match ran, the newest first, at most `limit`; for many of them.
  virtual Result<std::vector<SpanTime>> FindSpans(const SpanSearch& search,
                                                  const CancelToken& cancel) = 0;
  // All spans of these traces, by trace and start, with what telling their time apart needs: of
  // attributes only kTimingAttributes, of the resource only kInstanceLabels; no status message, not
  // encoded.
  virtual Result<std::vector<SpanRow>> ShapesOfTraces(std::uint32_t tenant,
                                                      const std::vector<profile::TraceId>& traces,
                                                      const CancelToken& cancel) = 0;
  // Every linked sample of these traces, in no order. Those of profilers that know only spans come
  // too, as they are: with a trace of zeros.
  virtual Result<std::vector<LinkRow>> LinksOfTraces(std::uint32_t tenant,
                                                     const std::vector<profile::TraceId>& traces,
                                                     const CancelToken& cancel) = 0;
  virtual Result<std::vector<LatencyRow>> Latencies(std::uint32_t tenant, TimeRange range,
                                                    const CancelToken& cancel) = 0;
  // All spans that match, by when they began and how long they took, in that order.
  virtual Result<std::vector<DurationCell>> Durations(const SpanSearch& search, const Steps& steps,
                                                      const CancelToken& cancel) = 0;

  // Observations whose sender gave their times, by step and by offset within their second.
  virtual Result<std::vector<OffsetCell>> Offsets(const SampleQuery& query, const Steps& steps,
                                                  std::int64_t offset_width_ns,
                                                  const CancelToken& cancel) = 0;
  // Whether a function of one of these dictionaries comes from that source file.
  virtual Result<bool> NamesFile(const std::vector<DictionaryKey>& dictionaries,
                                 const std::string& file, const CancelToken& cancel) = 0;

  // Newest first; of one time, that with the highest number.
  virtual Result<std::vector<AlertEvent>> AlertEvents(const AlertEventQuery& query,
                                                      const CancelToken& cancel) = 0;
  // The same.
  virtual Result<std::vector<RegressionEvent>> RegressionEvents(const RegressionEventQuery& query,
                                                                const CancelToken& cancel) = 0;

  // Who has sent profiles or spans; the numbers rise.
  virtual Result<std::vector<std::uint32_t>> Tenants(const CancelToken& cancel) = 0;

  virtual Result<EngineStatistics> Statistics(const CancelToken& cancel) = 0;
};

}  // namespace wherefore::store
