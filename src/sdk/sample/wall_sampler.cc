#include "sdk/sample/wall_sampler.h"

#include <algorithm>

#include "sdk/platform/task_list.h"
#include "sdk/platform/thread_state.h"
#include "sdk/sample/crash_marker.h"

namespace wherefore::sdk {
namespace {

constexpr double kMostLooksPerSecond = 800;
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::size_t kMostShown = 4096;  // threads in one listing
// Threads that ended and are still remembered.
constexpr std::size_t kMostGone = 64;
// Listing threads takes at most one part in so many of one CPU; mostly the budget allows less.
// Threads of an old list that ended are not seen where they waited.
constexpr std::int64_t kListPart = 50;
// Of what the process uses, for looking at its threads; but not less than so much of the most.
constexpr double kShareOfUse = 0.01;
constexpr double kLeastShare = 0.05;
// In a program's first seconds, which may be all there are of it.
constexpr double kFirstShare = 1;
constexpr std::int64_t kFirstTime = 10 * kSecond;

}  // namespace

bool WallSampler::Start(double rate, std::int64_t since, double share) {
  rate_.store(rate, std::memory_order_relaxed);
  stop_.store(false, std::memory_order_relaxed);
  if (thread_.running()) return true;
  since_ = since;
  most_share_ = share;
  return thread_.Start(
      "wherefore-wall", [](void* self) { static_cast<WallSampler*>(self)->Run(); }, this);
}

void WallSampler::Stop() {
  stop_.store(true, std::memory_order_relaxed);
  wake_.Signal();
  thread_.Join();
}

void WallSampler::SetRate(double rate) {
  if (rate_.exchange(rate, std::memory_order_relaxed) != rate) wake_.Signal();
}

void WallSampler::RequestThreads() {
  show_all_.store(true, std::memory_order_relaxed);
  wake_.Signal();
}

void WallSampler::Forget() {
  thread_.Forget();
  tids_.clear();
  census_.Distrust();
  next_second_ = 0;
  list_at_earliest_ = 0;
  process_at_ = 0;
}

void WallSampler::Run() {
  const Inside inside(Part::kWall);
  StartAt(since_);
  budget_.SetShare(kFirstShare * most_share_);
  budget_.Begin(MonotonicNow(), Used());
  while (!stop_.load(std::memory_order_relaxed)) {
    const double rate = rate_.load(std::memory_order_relaxed);
    // Half to one and a half times the distance: a program that works in step would look the same
    // at every tick.
    const double pause =
        static_cast<double>(kSecond) * (rate > 0 ? (0.5 + NextUnit(random_)) / rate : 1);
    const bool called =
        wake_.WaitFor(static_cast<std::int64_t>(std::max(pause, budget_.PauseNs())));
    if (stop_.load(std::memory_order_relaxed)) return;
    const std::int64_t now = MonotonicNow();
    if (show_all_.exchange(false, std::memory_order_relaxed)) ShowAll(now);
    if (rate <= 0) StartAt(now);        // a pause is not looked back upon
    if (called || rate <= 0) continue;  // somebody wanted something; the tick is not due yet
    Prepare(now);
    Tick(now, rate);
  }
}

// Time counts from here on.
void WallSampler::StartAt(std::int64_t time) {
  last_tick_ = time;
  last_looks_.clear();
  last_weight_ = 0;
}

// What a tick does before it looks: most of it once a second.
void WallSampler::Prepare(std::int64_t now) {
  const std::int64_t before = Used();
  waiting_.ReadTables();  // once, and not at a rate
  budget_.Exempt(Used() - before);
  const bool second = now >= next_second_;
  if (second) {
    next_second_ = now + kSecond;
    ShareByUse(now);
  }
  // Whenever threads came or went, as long as listing them takes little.
  if (now < list_at_earliest_) return;
  if (registry_.changes() != listed_changes_ || (second && census_.OutOfDate(registry_))) List(now);
}

// A program that does little is not to find us above itself in its own profile.
void WallSampler::ShareByUse(std::int64_t now) {
  if (now - since_ < kFirstTime) return;
  const std::int64_t process = ClockNow(CLOCK_PROCESS_CPUTIME_ID);
  if (process_at_ != 0 && now > process_at_) {
    const double use =
        static_cast<double>(process - process_used_) / static_cast<double>(now - process_at_);
    budget_.SetShare(std::clamp(kShareOfUse * use, kLeastShare * most_share_, most_share_));
  }
  process_at_ = now;
  process_used_ = process;
}

void WallSampler::List(std::int64_t now) {
  listed_changes_ = registry_.changes();
  const std::int64_t before = Used();
  if (!ListThreads(tids_)) waiting_.NoteRefusal();
  std::erase_if(tids_, [this](std::uint32_t tid) { return registry_.IsOwn(tid); });
  std::ranges::sort(tids_);
  if (waiting_.known() > tids_.size() + kMostGone) waiting_.KeepOnly(tids_);
  list_at_earliest_ = now + (kListPart * (Used() - before));
}

// A tick stands for half the time to the one before it and half of that to the next one: how long
// these are depends on what was seen, and what was seen before must not get less of it than what
// came after.
void WallSampler::Tick(std::int64_t now, double rate) {
  budget_.Settle(now, Used());
  const std::size_t n = tids_.size();
  const auto most =
      static_cast<std::size_t>(std::max(1.0, kMostLooksPerSecond / std::max(rate, 1.0)));
  const std::size_t k = budget_.Grant(std::min(n, most));
  if (k == 0) return;
  const std::int64_t before = Used();
  const auto elapsed = static_cast<double>(now - last_tick_);
  const double half = last_weight_ > 0 ? elapsed / 2 : elapsed;  // the first has none before it
  for (const std::uint32_t tid : last_looks_)
    waiting_.Prolong(tid, static_cast<std::int64_t>(half * last_weight_));
  last_looks_.clear();
  last_tick_ = now;
  last_weight_ = static_cast<double>(n) / static_cast<double>(k);
  for (std::size_t i = 0; i < k; ++i) {
    // The first k of a shuffle: each thread is as likely as any other.
    std::swap(tids_[i], tids_[i + (NextRandom(random_) % (n - i))]);
    Look(tids_[i], static_cast<std::int64_t>(half * last_weight_));
  }
  budget_.Looked(k, Used() - before);
}

void WallSampler::Look(std::uint32_t tid, std::int64_t value) {
  if (registry_.IsOwn(tid)) return;  // started after threads were listed
  const WaitingThreads::Found found = waiting_.Look(tid, value, last_weight_);
  if (found == WaitingThreads::Found::kWaits) last_looks_.push_back(tid);
  if (found == WaitingThreads::Found::kGone) census_.Distrust();
}

// Once a minute or so, and not the wall clock's.
void WallSampler::ShowAll(std::int64_t now) {
  const std::int64_t before = Used();
  List(now);
  const std::size_t n = std::min(tids_.size(), kMostShown);
  for (std::size_t i = 0; i < n; ++i) waiting_.Show(tids_[i]);
  budget_.Exempt(Used() - before);
}

}  // namespace wherefore::sdk
