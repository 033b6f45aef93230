// JFR -> Batch: one profile per type id, equal samples summed.
//
// A recording is all or nothing: malformed bytes make the file corrupt. Only a dangling reference
// merely costs a sample its stack or label, which the message says. Events that are not profiles
// are skipped. For classes and pools of chunks see jfr/chunk.h.
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/text.h"
#include "formats/formats.h"
#include "formats/jfr/builder.h"
#include "formats/jfr/chunk.h"
#include "formats/jfr/labels.h"
#include "formats/wire/gzip.h"

namespace wherefore::formats {

using profile::Id;

namespace {

constexpr std::size_t kMaxBytes = std::size_t{256} << 20;
constexpr std::int64_t kNsPerSecond = 1'000'000'000;

// What is collected. Each gives one profile, or two: how often, and how much.
enum Measured : std::uint8_t {
  kCpu,
  kWall,
  kNewTlab,
  kOutsideTlab,
  kAllocSample,
  kMonitor,
  kPark,
  kLive,
  kMalloc,
  kMeasured,
  kNone
};

struct MeasuredSpec {
  std::string_view name;
  std::string_view counted;  // sample type of "how often"; its unit is count
  std::string_view summed;   // of "how much"
  std::string_view summed_unit;
  std::string_view period_type;
  std::string_view period_unit;
};
constexpr std::array<MeasuredSpec, kMeasured> kSpecs = {{
    {"process_cpu", "", "cpu", "nanoseconds", "cpu", "nanoseconds"},
    {"wall", "", "wall", "nanoseconds", "wall", "nanoseconds"},
    {"memory", "alloc_in_new_tlab_objects", "alloc_in_new_tlab_bytes", "bytes", "space", "bytes"},
    {"memory", "alloc_outside_tlab_objects", "alloc_outside_tlab_bytes", "bytes", "space", "bytes"},
    {"memory", "alloc_sample_objects", "alloc_sample_bytes", "bytes", "space", "bytes"},
    {"mutex", "contentions", "delay", "nanoseconds", "mutex", "count"},
    {"block", "contentions", "delay", "nanoseconds", "block", "count"},
    {"memory", "live", "", "", "objects", "count"},
    {"memory", "malloc_objects", "malloc_bytes", "bytes", "", ""},
}};

enum class Kind : std::uint8_t { kExecution, kWallClock, kAmount, kDuration, kSetting };
struct EventSpec {
  std::string_view name;
  Kind kind;
  Measured measured;
  std::string_view amount;  // the field with "how much"
};
constexpr std::array<EventSpec, 10> kEvents = {{
    {"jdk.ExecutionSample", Kind::kExecution, kCpu, ""},
    {"profiler.WallClockSample", Kind::kWallClock, kWall, "samples"},
    {"jdk.ObjectAllocationInNewTLAB", Kind::kAmount, kNewTlab, "tlabSize"},
    {"jdk.ObjectAllocationOutsideTLAB", Kind::kAmount, kOutsideTlab, "allocationSize"},
    {"jdk.ObjectAllocationSample", Kind::kAmount, kAllocSample, "weight"},
    {"jdk.JavaMonitorEnter", Kind::kDuration, kMonitor, "duration"},
    {"jdk.ThreadPark", Kind::kDuration, kPark, "duration"},
    {"profiler.LiveObject", Kind::kAmount, kLive, ""},
    {"profiler.Malloc", Kind::kAmount, kMalloc, "size"},
    {"jdk.ActiveSetting", Kind::kSetting, kNone, ""},
}};

enum Slot : std::uint8_t {
  kStack,
  kState,
  kThread,
  kContext,
  kSpan,
  kSpanName,
  kTraceHigh,
  kTraceLow,
  kAmountSlot
};
constexpr std::array<JfrTypes::Wanted, 9> kFields = {{{"stackTrace", kStack},
                                                      {"state", kState},
                                                      {"sampledThread", kThread},
                                                      {"eventThread", kThread},
                                                      {"contextId", kContext},
                                                      {"spanId", kSpan},
                                                      {"spanName", kSpanName},
                                                      {"traceIdHi", kTraceHigh},
                                                      {"traceIdLo", kTraceLow}}};
constexpr std::array<JfrTypes::Wanted, 3> kSettingFields = {
    {{"id", 0}, {"name", 0, true}, {"value", 1, true}}};

// Untrusted values: sums wrap instead of being undefined.
std::int64_t Plus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t Times(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

std::int64_t TicksToNs(std::int64_t ticks, std::int64_t per_second) {
  if (ticks <= 0) return 0;
  if (per_second <= 0 || per_second == kNsPerSecond) return ticks;
  const auto rest = static_cast<double>(ticks % per_second) / static_cast<double>(per_second);
  return Plus(Times(ticks / per_second, kNsPerSecond),
              std::llround(rest * static_cast<double>(kNsPerSecond)));
}

class JfrDecoder {
 public:
  JfrDecoder(std::string_view bytes, const JfrContext& context, const JfrLabels& labels)
      : bytes_(bytes), context_(context), build_(result_.data, bytes.size(), labels) {}

  Result<DecodedProfiles> Run();

 private:
  struct Row {
    JfrSampleKey key;
    std::int64_t count = 0;
    std::int64_t sum = 0;
  };
  struct Collected {
    std::vector<Row> rows;
    std::unordered_map<Hash128, std::uint32_t> places;
  };
  struct Plan {
    EventSpec spec;
    std::vector<JfrStep> steps;
  };
  // Settings of the recording; the first chunk that has one wins.
  struct Settings {
    std::string event;
    std::int64_t cpu_period = 0;
    std::int64_t wall_period = 0;
    std::int64_t alloc_period = 0;
  };
  enum State : std::uint8_t { kUnknownState, kOther, kRunnable, kSleeping };

  Result<> ReadChunk(JfrChunk& chunk);
  void MakePlans(const JfrChunk& chunk);
  std::string ReadSetting(JfrChunk& chunk, const Plan& plan, JfrCursor& in);
  void NoteSetting(JfrChunk& chunk, std::int64_t id, const std::string& name,
                   const std::string& value);
  std::string ReadEvent(JfrChunk& chunk, const Plan& plan, JfrCursor& in);
  State StateOf(JfrChunk& chunk, std::int64_t key);
  void Add(Measured measured, const JfrSampleKey& key, std::int64_t count, std::int64_t sum);
  void MakeResource();
  void MakeProfile(Measured measured, bool summed);
  [[nodiscard]] std::int64_t PeriodOf(Measured measured) const;

  std::string_view bytes_;
  const JfrContext& context_;
  DecodedProfiles result_;
  JfrBuilder build_;
  Settings settings_;
  std::unordered_map<std::int64_t, Plan> plans_;  // of the current chunk, by class number
  std::array<Collected, kMeasured> collected_;
  std::uint64_t start_ns_ = 0;
  std::uint64_t end_ns_ = 0;
};

Result<DecodedProfiles> JfrDecoder::Run() {
  std::size_t number = 0;
  for (std::size_t offset = 0; offset < bytes_.size(); ++number) {
    WHEREFORE_ASSIGN_OR_RETURN(JfrChunk chunk, JfrChunk::Read(bytes_, offset, number));
    WHEREFORE_RETURN_IF_ERROR(ReadChunk(chunk));
    offset += chunk.header().size;
  }
  if (number == 0) return Error(Code::kCorrupt, "JFR: the file is empty");
  MakeResource();
  for (std::uint8_t s = 0; s < kMeasured; ++s) {
    if (!kSpecs[s].counted.empty()) MakeProfile(static_cast<Measured>(s), false);
    if (!kSpecs[s].summed.empty()) MakeProfile(static_cast<Measured>(s), true);
  }
  result_.message = build_.message();
  return std::move(result_);
}

Result<> JfrDecoder::ReadChunk(JfrChunk& chunk) {
  const auto positive = [](std::int64_t v) { return v < 0 ? 0 : static_cast<std::uint64_t>(v); };
  const std::uint64_t start = positive(chunk.header().start_ns);
  if (start_ns_ == 0 || start < start_ns_) start_ns_ = start;
  end_ns_ = std::max(end_ns_, start + positive(chunk.header().duration_ns));
  MakePlans(chunk);
  const auto each = [&](bool settings) {
    return chunk.EachEvent([&](std::int64_t type, JfrCursor in) {
      const auto plan = plans_.find(type);
      if (plan == plans_.end() || (plan->second.spec.kind == Kind::kSetting) != settings) {
        return std::string();
      }
      return settings ? ReadSetting(chunk, plan->second, in) : ReadEvent(chunk, plan->second, in);
    });
  };
  // Settings decide how events are read, and may come after them.
  WHEREFORE_RETURN_IF_ERROR(each(true));
  return each(false);
}

void JfrDecoder::MakePlans(const JfrChunk& chunk) {
  plans_.clear();
  for (const JfrTypes::Type& type : chunk.types().types()) {
    for (const EventSpec& spec : kEvents) {
      if (type.name != spec.name) continue;
      if (spec.kind == Kind::kSetting) {
        plans_.try_emplace(type.id, Plan{spec, chunk.types().Plan(type, kSettingFields)});
        continue;
      }
      std::vector<JfrTypes::Wanted> wanted(kFields.begin(), kFields.end());
      if (!spec.amount.empty()) wanted.push_back({spec.amount, kAmountSlot});
      plans_.try_emplace(type.id, Plan{spec, chunk.types().Plan(type, wanted)});
    }
  }
}

std::string JfrDecoder::ReadSetting(JfrChunk& chunk, const Plan& plan, JfrCursor& in) {
  JfrRow row;
  chunk.types().Walk(in, plan.steps, row);
  if (!in.ok()) return fmt::format("{} is shorter than its fields", plan.spec.name);
  // Most settings do not matter, so do not copy a long text for each event.
  constexpr std::size_t kLongest = 200;
  if (row.texts[0].bytes.size() > kLongest || row.texts[1].bytes.size() > kLongest) return {};
  NoteSetting(chunk, row.numbers[0], chunk.Text(row.texts[0]), chunk.Text(row.texts[1]));
  return {};
}

void JfrDecoder::NoteSetting(JfrChunk& chunk, std::int64_t id, const std::string& name,
                             const std::string& value) {
  const auto set = [](std::int64_t& out, std::optional<std::int64_t> number) {
    if (out == 0 && number && *number > 0) out = *number;
  };
  if (name == "event" && settings_.event.empty()) settings_.event = value;
  if (name == "interval") set(settings_.cpu_period, ParseInt(value));
  if (name == "wall") set(settings_.wall_period, ParseInt(value));
  if (name == "alloc") set(settings_.alloc_period, ParseInt(value));
  if (name != "period") return;
  // The JDK's recorder: "20 ms", "everyChunk".
  const JfrTypes::Type* type = chunk.types().Find(id);
  if (type == nullptr || type->name != "jdk.ExecutionSample") return;
  std::string text = value;
  std::erase(text, ' ');
  if (const Result<std::int64_t> period = ParseDuration(text)) set(settings_.cpu_period, *period);
}

JfrDecoder::State JfrDecoder::StateOf(JfrChunk& chunk, std::int64_t key) {
  JfrPool::Entry* entry = chunk.pool(JfrChunk::kThreadStates).Find(key);
  if (entry == nullptr) return kUnknownState;
  if (entry->resolved == 0) {
    const std::string name = chunk.NameIn(JfrChunk::kThreadStates, key);
    entry->resolved = name == "STATE_RUNNABLE"   ? kRunnable
                      : name == "STATE_SLEEPING" ? kSleeping
                                                 : kOther;
  }
  return static_cast<State>(entry->resolved);
}

std::string JfrDecoder::ReadEvent(JfrChunk& chunk, const Plan& plan, JfrCursor& in) {
  JfrRow row;
  row.numbers[kAmountSlot] = plan.spec.kind == Kind::kWallClock ? 1 : 0;
  chunk.types().Walk(in, plan.steps, row);
  if (!in.ok()) return fmt::format("{} is shorter than its fields", plan.spec.name);
  const auto bits = [&](Slot slot) { return static_cast<std::uint64_t>(row.numbers[slot]); };
  const JfrSampleKey key{
      build_.Stack(chunk, row.numbers[kStack]),
      build_.Attributes(chunk, row.numbers[kContext], row.numbers[kSpanName], row.numbers[kThread]),
      build_.Link(bits(kTraceHigh), bits(kTraceLow), bits(kSpan))};
  const std::int64_t amount = row.numbers[kAmountSlot];
  const bool wall = settings_.event == "wall";
  switch (plan.spec.kind) {
    case Kind::kExecution:
      if (StateOf(chunk, row.numbers[kState]) != kSleeping) Add(kCpu, key, 1, 1);
      if (wall) Add(kWall, key, 1, 1);
      break;
    case Kind::kWallClock:
      Add(kWall, key, 1, amount);
      if (wall && StateOf(chunk, row.numbers[kState]) == kRunnable) Add(kCpu, key, 1, amount);
      break;
    case Kind::kDuration:
      Add(plan.spec.measured, key, 1, TicksToNs(amount, chunk.header().ticks_per_second));
      break;
    default:
      Add(plan.spec.measured, key, 1, amount);
  }
  return build_.ok() ? "" : "samples, names and labels take too much memory for a file this small";
}

void JfrDecoder::Add(Measured measured, const JfrSampleKey& key, std::int64_t count,
                     std::int64_t sum) {
  Collected& c = collected_[measured];
  const auto [it, is_new] =
      c.places.try_emplace(HashBytes(&key, sizeof(key)), static_cast<std::uint32_t>(c.rows.size()));
  if (is_new) {
    build_.PayRow();
    c.rows.push_back({key});
  }
  Row& row = c.rows[it->second];
  row.count = Plus(row.count, count);
  row.sum = Plus(row.sum, sum);
}

void JfrDecoder::MakeResource() {
  profile::Batch& b = result_.data;
  profile::Resource res;
  const auto own = [&](std::string_view key, std::string_view value) {
    if (res.attributes.count == 0) {
      res.attributes.begin = static_cast<std::uint32_t>(b.own_attributes.size());
    }
    b.own_attributes.push_back(
        {build_.Text(key), 0, {profile::Value::Kind::kString, build_.Text(value), 0}});
    ++res.attributes.count;
  };
  if (!context_.service.empty()) own("service.name", context_.service);
  bool named = settings_.event.empty();
  for (const auto& [key, value] : context_.labels) {
    own(key, value);
    named = named || key == "jfr_event";
  }
  if (!named) own("jfr_event", settings_.event);
  b.resources.push_back(res);
  b.scopes.emplace_back();
}

// Time between two samples: what the sender asked for, else what the recording says.
std::int64_t JfrDecoder::PeriodOf(Measured measured) const {
  constexpr std::int64_t kUsual = kNsPerSecond / 100;
  const auto or_usual = [](std::int64_t period) { return period > 0 ? period : kUsual; };
  if (measured == kNewTlab || measured == kOutsideTlab) return settings_.alloc_period;
  if (measured != kCpu && measured != kWall) return 0;
  if (context_.sample_rate > 0) return or_usual(kNsPerSecond / context_.sample_rate);
  const bool own_wall = measured == kWall && settings_.wall_period > 0;
  return or_usual(own_wall ? settings_.wall_period : settings_.cpu_period);
}

void JfrDecoder::MakeProfile(Measured measured, bool summed) {
  const std::vector<Row>& rows = collected_[measured].rows;
  if (rows.empty()) return;
  profile::Batch& b = result_.data;
  const MeasuredSpec& spec = kSpecs[measured];
  profile::Profile& p = b.profiles.emplace_back();
  p.resource = 1;
  p.scope = 1;
  p.name = build_.Text(spec.name);
  p.sample_type = {build_.Text(summed ? spec.summed : spec.counted),
                   build_.Text(summed ? spec.summed_unit : "count")};
  p.period_type = {build_.Text(spec.period_type), build_.Text(spec.period_unit)};
  p.period = PeriodOf(measured);
  p.time_ns = context_.from_ns != 0 ? context_.from_ns : start_ns_;
  const std::uint64_t end = context_.until_ns != 0 ? context_.until_ns : end_ns_;
  p.duration_ns = end > p.time_ns ? end - p.time_ns : 0;
  p.first_sample = static_cast<std::uint32_t>(b.samples.size());
  p.sample_count = static_cast<std::uint32_t>(rows.size());
  const bool time = measured == kCpu || measured == kWall;
  for (const Row& row : rows) {
    const std::int64_t value = !summed ? row.count : time ? Times(row.sum, p.period) : row.sum;
    b.values.push_back(value);
    b.samples.Append(row.key.stack, build_.Set(row.key.attributes), row.key.link, value, {},
                     {static_cast<std::uint32_t>(b.values.size() - 1), 1});
    // A wall-clock event may stand for several looks at a thread that did not move.
    const std::int64_t seen = time ? row.sum : row.count;
    b.samples.count.push_back(static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(seen, 0, std::numeric_limits<std::uint32_t>::max())));
  }
}

Result<std::shared_ptr<const std::string>> Plain(std::shared_ptr<const std::string> bytes) {
  if (IsGzip(*bytes)) {
    WHEREFORE_ASSIGN_OR_RETURN(std::string plain, Gunzip(*bytes, kMaxBytes));
    return std::make_shared<const std::string>(std::move(plain));
  }
  if (bytes->size() > kMaxBytes) return Error(Code::kLimit, "JFR: more than 256 MiB");
  return bytes;
}

}  // namespace

Result<DecodedProfiles> DecodeJfr(std::shared_ptr<const std::string> bytes,
                                  const JfrContext& context) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto plain, Plain(std::move(bytes)));
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto snapshot,
      Plain(std::make_shared<const std::string>(std::string(context.labels_snapshot))));
  JfrLabels labels;
  WHEREFORE_RETURN_IF_ERROR(labels.Read(*snapshot));
  return JfrDecoder(*plain, context, labels).Run();
}

}  // namespace wherefore::formats
