#include "sdk/collect/aggregate.h"

#include <sys/syscall.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

#include "sdk/sample/capture.h"
#include "sdk/sample/heap_table.h"
#include "sdk/unwind/unwind.h"

namespace wherefore::sdk {
namespace {

// Stacks are looked through for unused ones only when there are this many.
constexpr std::size_t kManyStacks = 20'000;

constexpr std::string_view kWaitKey = "wait.kind";

std::string_view WaitName(WaitKind kind) {
  switch (kind) {
    case WaitKind::kMutex:
      return "mutex";
    case WaitKind::kRwLock:
      return "rwlock";
    case WaitKind::kCondition:
      return "condition";
    case WaitKind::kSemaphore:
      return "semaphore";
    case WaitKind::kIo:
      return "io";
  }
  return "";
}

// In place of the system call of looks that found no room in the queue: it is not known.
constexpr std::uint64_t kAnyCall = ~std::uint64_t{1};

// What a thread waits for, by the system call it is in; empty: not known.
std::string_view WaitNameOf(std::uint64_t system_call) {
  switch (system_call) {
    case SYS_futex:
      return "lock";
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_pause:
    case SYS_rt_sigtimedwait:  // these two wait for a signal, as pause does
    case SYS_rt_sigsuspend:
      return "sleep";
    case SYS_wait4:
    case SYS_waitid:
      return "child";
    case kAnyCall:
      return "";
    default:  // a thread that waits outside a system call waits for a page of memory
      return WaitName(WaitKind::kIo);
  }
}

// The label wait.kind; empty for events that are no waits.
std::string_view WaitLabel(const Event& event) {
  if (event.kind == EventKind::kWaiter) return WaitName(static_cast<WaitKind>(event.detail));
  return event.kind == EventKind::kBlocked ? WaitNameOf(event.detail) : std::string_view();
}

template <typename Table, typename Ids, typename Value>
std::uint32_t Intern(Table& table, Ids& ids, std::string bytes, Value value) {
  const auto [at, fresh] =
      ids.try_emplace(std::move(bytes), static_cast<std::uint32_t>(table.size()));
  if (fresh) table.push_back(std::move(value));
  return at->second;
}

}  // namespace

Aggregate::Aggregate(Modules& modules) : modules_(modules), links_(1), labels_(1) {}

void Aggregate::Add(const Event& event) {
  const Key key = {
      .stack = InternStack(event), .link = InternLink(event), .labels = InternLabels(event, {})};
  if (event.kind != EventKind::kAlloc) {
    const std::uint32_t looks = event.kind == EventKind::kBlocked ? event.looks : 1;
    AddTimes(event, key, Looks(event.value, looks, looks), Looks(event.value, event.count, looks));
    return;
  }
  AddTo(Series::kAllocated, key, OneEvent(event.value, event.count, event.distance));
  if (enabled(Series::kInUse) && event.detail != HeapTable::kNone) {
    live_.push_back({.key = key,
                     .slot = static_cast<std::uint32_t>(event.detail),
                     .id = event.id,
                     .bytes = event.value,
                     .objects = event.count,
                     .distance = event.distance});
  }
}

void Aggregate::AddLost(const EventQueue::Lost& lost) {
  Event event{};
  event.kind = lost.kind;
  event.detail = lost.kind == EventKind::kWaiter ? static_cast<std::uint64_t>(lost.wait) : kAnyCall;
  AddTimes(event, {.stack = InternFrames({kLostFrame})},
           Looks(lost.value, lost.events, lost.events),
           Looks(lost.value, static_cast<double>(lost.count), lost.events));
}

void Aggregate::AddTimes(const Event& event, const Key& key, const Sum& time, const Sum& waits) {
  const std::string_view wait = WaitLabel(event);
  Key waiting = key;  // in the profiles of waiting
  if (!wait.empty()) waiting.labels = InternLabels(event, wait);
  switch (event.kind) {
    case EventKind::kCpu:
      AddTo(Series::kCpu, key, time);
      AddTo(Series::kWall, key, time);
      break;
    case EventKind::kBlocked:
      AddTo(Series::kWall, key, time);
      AddTo(Series::kOffCpu, waiting, time);
      // Locks are hooked and counted there exactly; sleeping is meant.
      if (wait == WaitName(WaitKind::kIo)) AddTo(Series::kBlock, waiting, waits);
      break;
    case EventKind::kHolder:
      AddTo(Series::kMutex, key, waits);
      break;
    case EventKind::kWaiter:
      AddTo(Series::kBlock, waiting, waits);
      break;
    case EventKind::kThread:
      AddTo(Series::kThreads, key, time);
      break;
    case EventKind::kAlloc:  // of a thread that ended; the others' are made up for
      AddTo(Series::kAllocated, key, waits);
      break;
  }
}

Aggregate::Sum Aggregate::OneEvent(std::int64_t value, double count, double distance) {
  return {.value = value,
          .count = count,
          .seen = 1,
          .distance = distance,
          .squares = distance * distance};
}

Aggregate::Sum Aggregate::Looks(std::int64_t value, double count, std::uint32_t looks) {
  const double all = looks;
  return {.value = value, .count = count, .seen = looks, .distance = all, .squares = all};
}

void Aggregate::Sum::Add(const Sum& more) {
  value += more.value;
  count += more.count;
  seen += more.seen;
  distance += more.distance;
  squares += more.squares;
}

void Aggregate::AddTo(Series series, const Key& key, const Sum& sum) {
  if (enabled(series)) sums_[Index(series)][key].Add(sum);
}

Aggregate::StackId Aggregate::InternStack(const Event& event) {
  std::vector<Frame> frames;
  frames.reserve(event.depth + 1U);
  if (event.depth > 0 && IsHook(event.pcs[0])) frames.push_back(kHooksFrame);
  for (std::uint16_t i = 0; i < event.depth; ++i) {
    // A hook between the host and a library of its own is not shown.
    if (IsHook(event.pcs[i])) continue;
    if (event.pcs[i] == kRecoveredMark) {
      frames.push_back(kRecoveredFrame);
      continue;
    }
    const Modules::Place place = modules_.Find(event.pcs[i], event.generation);
    frames.push_back({.module = place.module, .address = place.address});
  }
  if (event.kind == EventKind::kThread && event.depth == 0) frames.push_back(kRunningFrame);
  if (event.end == StackEnd::kTruncated) {
    frames.push_back(kTruncatedFrame);
  } else if (event.end == StackEnd::kBroken) {
    frames.push_back(kIncompleteFrame);
  }
  return InternFrames(std::move(frames));
}

Aggregate::StackId Aggregate::InternFrames(std::vector<Frame> frames) {
  std::string bytes(reinterpret_cast<const char*>(frames.data()), frames.size() * sizeof(Frame));
  return Intern(stacks_, stack_ids_, std::move(bytes), std::move(frames));
}

void Aggregate::AddKnown(Series series, std::vector<Frame> stack, std::int64_t value) {
  if (value > 0) AddTo(series, {.stack = InternFrames(std::move(stack))}, OneEvent(value, 1));
}

std::uint32_t Aggregate::InternLink(const Event& event) {
  if (event.has_span == 0) return 0;
  profile::Link link;
  std::memcpy(link.trace.data(), event.trace, link.trace.size());
  std::memcpy(link.span.data(), event.span, link.span.size());
  std::string bytes(reinterpret_cast<const char*>(event.trace), sizeof event.trace);
  bytes.append(reinterpret_cast<const char*>(event.span), sizeof event.span);
  return Intern(links_, link_ids_, std::move(bytes), link);
}

std::uint32_t Aggregate::InternLabels(const Event& event, std::string_view wait) {
  if (event.label_bytes == 0 && wait.empty()) return 0;
  std::string bytes(reinterpret_cast<const char*>(event.labels), event.label_bytes);
  bytes.append(wait);
  if (const auto found = label_ids_.find(bytes); found != label_ids_.end()) return found->second;
  Labels labels;
  for (std::size_t at = 0; at + 2 <= event.label_bytes;) {
    const std::size_t key = event.labels[at];
    const std::size_t length = event.labels[at + 1];
    if (at + 2 + length > event.label_bytes) break;
    if (key < label_keys_.size()) {
      std::erase_if(labels, [&](const auto& label) { return label.first == label_keys_[key]; });
      labels.emplace_back(
          label_keys_[key],
          std::string(reinterpret_cast<const char*>(event.labels + at + 2), length));
    }
    at += 2 + length;
  }
  if (!wait.empty()) {
    std::erase_if(labels, [](const auto& label) { return label.first == kWaitKey; });
    labels.emplace_back(kWaitKey, wait);
  }
  return Intern(labels_, label_ids_, std::move(bytes), std::move(labels));
}

void Aggregate::DropFreed() {
  std::erase_if(live_,
                [](const Live& live) { return !g_heap_table.StillThere(live.slot, live.id); });
}

Aggregate::Sums Aggregate::InUseSums() {
  DropFreed();
  Sums sums;
  for (const Live& live : live_) {
    sums[{.stack = live.key.stack, .link = 0, .labels = live.key.labels}].Add(
        OneEvent(live.bytes, live.objects, live.distance));
  }
  return sums;
}

// Samples of a series -> the number of observations each stands for. All taken at one distance: as
// many as there were. A sample taken at twice the distance stands for twice as much and says no
// more, so where distances changed there are fewer than were taken: (sum d)^2 / sum d^2 of equal
// weight, given to samples by their distances; and never more than one for every distance in force
// now, since nothing smaller is sure to be seen. Of the heap; elsewhere distances are all 1.
class Aggregate::Observations {
 public:
  Observations(const Sum& all, double distance_now) : per_distance_(0) {
    if (all.distance <= 0 || all.squares <= 0) return;
    double equal = all.distance * all.distance / all.squares;
    if (distance_now > 0) equal = std::min(equal, all.distance / distance_now);
    constexpr double kRounding = 0.999999;
    if (equal < kRounding * all.seen) per_distance_ = std::max(equal, 1.0) / all.distance;
  }

  // What is less than one is left to the next, so that sums are right.
  std::uint32_t Of(const Sum& sum) {
    if (per_distance_ == 0) return sum.seen;
    rest_ += sum.distance * per_distance_;
    const double whole = std::floor(rest_ + 0.5);
    rest_ -= whole;
    return static_cast<std::uint32_t>(whole);
  }

 private:
  double per_distance_;  // 0: as many as were seen
  double rest_ = 0;      // -0.5 ... 0.5
};

void Aggregate::WriteSample(BatchWriter& writer, const Key& key, const Sum& sum,
                            std::uint32_t observations) const {
  writer.Add({.stack = stacks_[key.stack],
              .link = links_[key.link],
              .labels = labels_[key.labels],
              .value = sum.value,
              .count = std::llround(sum.count),
              .observations = observations});
}

void Aggregate::WriteSeries(BatchWriter& writer, Series series, const Window& window,
                            std::size_t most) {
  Sums& sums = sums_[Index(series)];
  writer.Begin(series, reduced_[Index(series)]);
  std::vector<const Sums::value_type*> samples;
  samples.reserve(sums.size());
  Sum all;
  for (const auto& sample : sums) {
    samples.push_back(&sample);
    all.Add(sample.second);
  }
  Sum other;
  if (samples.size() > most) {
    const auto end = samples.begin() + static_cast<std::ptrdiff_t>(most - 1);
    std::ranges::nth_element(samples, end, std::ranges::greater(),
                             [](const auto* sample) { return sample->second.value; });
    for (auto at = end; at != samples.end(); ++at) other.Add((*at)->second);
    samples.erase(end, samples.end());
  }
  const bool heap = series == Series::kAllocated || series == Series::kInUse;
  Observations observations(all, heap ? static_cast<double>(window.periods[Index(series)]) : 0);
  for (const auto* sample : samples)
    WriteSample(writer, sample->first, sample->second, observations.Of(sample->second));
  if (other.seen > 0)
    WriteSample(writer, {.stack = InternFrames({kOtherFrame})}, other, observations.Of(other));
}

void Aggregate::Prepare(Series series) {
  if (series == Series::kInUse && enabled(series)) sums_[Index(series)] = InUseSums();
  ExpectNames(series);
}

profile::Batch Aggregate::Peek(const Window& window) {
  for (std::size_t i = 0; i < kSeriesCount; ++i) Prepare(static_cast<Series>(i));
  modules_.ReadExpected();
  BatchWriter writer(modules_, window);
  for (std::size_t i = 0; i < kSeriesCount; ++i)
    WriteSeries(writer, static_cast<Series>(i), window, SIZE_MAX);
  return std::move(writer).Finish();
}

profile::Batch Aggregate::Peek(Series series, const Window& window, std::size_t most) {
  Prepare(series);
  modules_.ReadExpected();
  BatchWriter writer(modules_, window);
  WriteSeries(writer, series, window, most);
  return std::move(writer).Finish();
}

profile::Batch Aggregate::Empty(const Window& window) const {
  BatchWriter writer(modules_, window);
  for (std::size_t i = 0; i < kSeriesCount; ++i) {
    if (enabled_[i]) writer.AddEmpty(static_cast<Series>(i));
  }
  return std::move(writer).Finish();
}

profile::Batch Aggregate::Empty(Series series, const Window& window) const {
  BatchWriter writer(modules_, window);
  writer.AddEmpty(series);
  return std::move(writer).Finish();
}

bool Aggregate::nothing() {
  DropFreed();
  return live_.empty() && std::ranges::all_of(sums_, [](const Sums& sums) { return sums.empty(); });
}

void Aggregate::ExpectNames(Series series) {
  for (const auto& [key, sum] : sums_[Index(series)]) {
    for (const Frame& frame : stacks_[key.stack]) {
      if (frame.module != kNoModule)
        modules_.Expect(static_cast<std::uint32_t>(frame.module), frame.address);
    }
  }
}

void Aggregate::NameUnloaded() {
  if (!modules_.AnyGoneWithoutNames()) return;
  for (const std::vector<Frame>& stack : stacks_) {
    for (const Frame& frame : stack) {
      const auto module = static_cast<std::uint32_t>(frame.module);
      if (frame.module != kNoModule && modules_.IsGoneWithoutNames(module))
        modules_.Expect(module, frame.address);
    }
  }
  modules_.ReadExpected();
}

void Aggregate::Forget() {
  ForgetSums();
  ForgetUnused();
}

profile::Batch Aggregate::Take(const Window& window) {
  profile::Batch batch = Peek(window);
  Forget();
  return batch;
}

void Aggregate::FilterLinks(const std::function<bool(const profile::TraceId&)>& keeps) {
  std::vector<bool> dropped(links_.size());
  for (std::size_t i = 1; i < links_.size(); ++i) {
    if (links_[i].span == profile::SpanId{} || keeps(links_[i].trace)) continue;
    links_[i] = {};
    dropped[i] = true;
  }
  for (std::size_t i = 0; i < kSeriesCount; ++i) {
    reduced_[i] =
        std::ranges::any_of(sums_[i], [&](const auto& sum) { return dropped[sum.first.link]; });
  }
}

void Aggregate::ForLinkedCpu(
    const std::function<void(const profile::TraceId&, std::int64_t cpu_ns)>& take) const {
  for (const auto& [key, sum] : sums_[Index(Series::kCpu)]) {
    if (key.link != 0) take(links_[key.link].trace, sum.value);
  }
}

void Aggregate::ForgetSums() {
  reduced_ = {};
  for (Sums& sums : sums_) sums.clear();
}

void Aggregate::ForgetDisabled() {
  for (std::size_t i = 0; i < kSeriesCount; ++i) {
    if (!enabled_[i]) sums_[i].clear();
  }
  if (!enabled(Series::kInUse)) live_.clear();
}

void Aggregate::ForgetUnused() {
  links_.resize(1);
  link_ids_.clear();
  if (labels_.size() > kManyStacks && live_.empty()) {
    labels_.resize(1);
    label_ids_.clear();
  }
  if (stacks_.size() < kManyStacks) return;
  std::vector<std::vector<Frame>> kept;
  std::unordered_map<std::string, StackId> ids;
  for (Live& live : live_) {
    std::vector<Frame>& frames = stacks_[live.key.stack];
    std::string bytes(reinterpret_cast<const char*>(frames.data()), frames.size() * sizeof(Frame));
    live.key.stack = Intern(kept, ids, std::move(bytes), frames);
  }
  stacks_ = std::move(kept);
  stack_ids_ = std::move(ids);
}

}  // namespace wherefore::sdk
