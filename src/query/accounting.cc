#include "query/accounting.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/arithmetic.h"
#include "profile/share_error.h"
#include "query/looks.h"

namespace wherefore::query {
namespace {

constexpr double kZ = 1.96;                // 95 %
constexpr double kLockDistance = 100'000;  // nanoseconds of waiting between two samples
// A span may not be longer: sums of times must fit into 64 bits.
constexpr std::int64_t kLongestNs = INT64_MAX / 4;

std::int64_t NotNegative(std::int64_t value) {
  return std::clamp<std::int64_t>(value, 0, kLongestNs);
}

// The distance to the near end of the 95 % interval of a count.
double SurelySeen(double n) {
  return std::max(0.0, n + kZ * kZ / 2 - kZ * std::sqrt(n + kZ * kZ / 4));
}

std::int64_t Rounded(double error, std::int64_t most) {
  return error >= static_cast<double>(most) ? most : std::llround(std::max(0.0, error));
}

double LockError(std::int64_t value) {
  return kZ * std::sqrt(kLockDistance * std::max(static_cast<double>(value), 2 * kLockDistance));
}

double LookError(const Seen& seen, double look_ns) {
  if (seen.observations <= 0) return look_ns * profile::CountError(0);
  const double worth = static_cast<double>(seen.value) / static_cast<double>(seen.observations);
  return worth * profile::CountError(seen.observations);
}

void Add(Seen& to, const Seen& more) {
  to.Add(more.value, more.observations);
}

}  // namespace

std::string_view PartName(Part part) {
  static constexpr std::array<std::string_view, kParts> kNames = {
      "on_cpu", "lock", "thread", "io", "sleep", "other", "children", "unobserved"};
  return kNames[static_cast<std::size_t>(part)];
}

std::string_view SourceName(Source source) {
  static constexpr std::array<std::string_view, 8> kNames = {
      "", "spans", "wherefore.span.cpu_ns", "cpu", "block", "mutex", "off_cpu", "wall"};
  return kNames[static_cast<std::size_t>(source)];
}

void Seen::Add(std::int64_t more, std::int64_t times) {
  value = NotNegative(SaturatingAdd(value, NotNegative(more)));
  observations = NotNegative(SaturatingAdd(observations, NotNegative(times)));
}

void Accounting::Add(const SpanFigures& span) {
  const std::int64_t duration = NotNegative(span.duration_ns);
  if (duration_ > kLongestNs - duration) return;  // beyond what can be told
  const std::int64_t children = std::min(NotNegative(span.children_ns), duration);
  ++spans_;
  duration_ += duration;
  children_ += children;
  child_spans_ = SaturatingAdd(child_spans_, NotNegative(span.child_spans));
  AddMeasured(span, duration - children);
  if (span.cpu_distance_ns > 0) AddCpuSamples(span);
  query::Add(io_, span.io);
  query::Add(sleep_, span.sleep);
  query::Add(other_, span.other);
  query::Add(lock_looks_, span.lock_looks);
  if (span.looks_from != Source::kNone) looks_from_ = span.looks_from;
  look_ns_ = std::max(look_ns_, span.look_ns);
}

void Accounting::AddCpuSamples(const SpanFigures& span) {
  cpu_distance_ = std::max(cpu_distance_, NotNegative(span.cpu_distance_ns));
  const double ends = (static_cast<double>(NotNegative(span.child_spans)) + 1) / 2;
  if (span.cpu_clock_ns) {
    clocked_ += static_cast<double>(NotNegative(*span.cpu_clock_ns));
    query::Add(beside_clock_, span.cpu);
    ends_beside_clock_ += ends + 0.5;  // another thread's
    return;
  }
  any_sampled_ = true;
  if (span.random_moments) ends_ += ends;
  query::Add(span.random_moments ? cpu_random_ : cpu_other_, span.cpu);
}

// The clock is that of the span's own thread. Samples that surely saw more than it were taken on
// threads that worked for the span; half as much again, because many spans are asked for that.
Seen Accounting::OfOtherThreads() const {
  const auto seen = static_cast<double>(beside_clock_.value);
  const auto n = static_cast<double>(beside_clock_.observations);
  const double error =
      kZ * static_cast<double>(cpu_distance_) * std::sqrt(std::min(n + 1, ends_beside_clock_));
  if (n <= 0 || seen - clocked_ <= 1.5 * error) return {};
  const double beyond = 1 - clocked_ / seen;
  return {std::llround(seen * beyond), std::max<std::int64_t>(1, std::llround(n * beyond))};
}

// More than the span's own time: waiting up to the children's time happened while they ran; what is
// still more was done by several threads.
void Accounting::AddMeasured(const SpanFigures& span, std::int64_t own) {
  const std::int64_t clock = NotNegative(span.cpu_clock_ns.value_or(0));
  const bool measured = span.waits_from != Source::kNone;
  std::int64_t lock = measured ? NotNegative(span.lock.value) : 0;
  std::int64_t thread = measured ? NotNegative(span.thread.value) : 0;
  const std::int64_t children = NotNegative(span.duration_ns) - own;
  const std::int64_t over = std::max<std::int64_t>(clock + lock + thread - own, 0);
  const std::int64_t meanwhile = std::min({over, lock + thread, children});
  // Children on other threads are waited for by conditions rather than by locks.
  const std::int64_t of_thread = std::min(meanwhile, thread);
  thread -= of_thread;
  lock -= meanwhile - of_thread;
  waiting_for_children_ = SaturatingAdd(waiting_for_children_, meanwhile);

  const std::int64_t sum = clock + lock + thread;
  const std::int64_t laid = std::min(sum, own);
  InProportion share(laid, sum);
  if (sum > 0) {
    clock_ += share.Next(clock);
    lock_ += share.Next(lock);
    thread_ += share.Next(thread);
  }
  if (own > 0) measured_ += static_cast<double>(sum);
  laid_ += static_cast<double>(laid);
  if (span.cpu_clock_ns) any_clock_ = true;
  lock_observations_ = SaturatingAdd(lock_observations_, NotNegative(span.lock.observations));
  thread_observations_ = SaturatingAdd(thread_observations_, NotNegative(span.thread.observations));
  if (span.waits_from != Source::kNone) waits_from_ = span.waits_from;
}

double Accounting::CpuError() const {
  const auto distance = static_cast<double>(cpu_distance_);
  double squares = 0;
  if (ends_ > 0) {
    const double n = static_cast<double>(cpu_random_.observations);
    squares += std::pow(kZ * distance, 2) * std::min(n + 1, ends_);
  }
  if (ends_beside_clock_ > 0 && OfOtherThreads().observations > 0)
    squares += std::pow(kZ * distance, 2) * ends_beside_clock_;
  if ((any_sampled_ && ends_ == 0) || cpu_other_.observations > 0)
    squares += std::pow(distance * profile::CountError(cpu_other_.observations), 2);
  return std::sqrt(squares);
}

Account Accounting::Total() const {
  Account account{.duration_ns = duration_, .spans = spans_};
  const auto part = [&](Part p) -> AccountPart& {
    return account.parts[static_cast<std::size_t>(p)];
  };
  const std::int64_t own = duration_ - children_;
  part(Part::kChildren) = {children_, 0, child_spans_, Source::kSpans};
  part(Part::kOnCpu) = {clock_, 0, 0, any_clock_ ? Source::kCpuClock : Source::kNone};
  const std::int64_t not_on_cpu = own - clock_;
  const auto measured = [&](Part p, std::int64_t value, std::int64_t observations) {
    if (waits_from_ == Source::kNone) return;
    part(p) = {value, Rounded(LockError(value), not_on_cpu), observations, waits_from_};
  };
  measured(Part::kLock, lock_, lock_observations_);
  measured(Part::kThread, thread_, thread_observations_);
  if (laid_ > 0 && measured_ > laid_) account.parallel = measured_ / laid_;
  account.waiting_for_children_ns = waiting_for_children_;
  FillLooks(account, own - clock_ - lock_ - thread_);
  return account;
}

// Into what is left after the measured parts: in proportion, if it is too much.
void Accounting::FillLooks(Account& account, std::int64_t left) const {
  struct Guess {
    Part part;
    Seen seen;
    double error = 0;
    Source source;
  };
  std::vector<Guess> guesses;
  Seen cpu = cpu_random_;
  query::Add(cpu, cpu_other_);
  const Seen elsewhere = OfOtherThreads();
  query::Add(cpu, elsewhere);
  const double cpu_error = CpuError();
  if (any_sampled_ || elsewhere.observations > 0)
    guesses.push_back({Part::kOnCpu, cpu, cpu_error, Source::kCpu});
  if (looks_from_ != Source::kNone) {
    guesses.push_back({Part::kIo, io_, LookError(io_, look_ns_), looks_from_});
    guesses.push_back({Part::kSleep, sleep_, LookError(sleep_, look_ns_), looks_from_});
    Seen other = other_;
    // Looks at waiting for locks see what is measured already. Only what they surely see beyond it
    // is waiting of another kind.
    const auto n = static_cast<double>(lock_looks_.observations);
    const auto known = static_cast<double>(lock_ + thread_ + waiting_for_children_);
    const auto value = static_cast<double>(lock_looks_.value);
    if (n > 0 && value / n * SurelySeen(n) > known) {
      account.lock_looks_counted = true;
      const double beyond = 1 - known / value;
      other.Add(std::llround(value * beyond), std::max<std::int64_t>(1, std::llround(n * beyond)));
    }
    guesses.push_back({Part::kOther, other, LookError(other, look_ns_), looks_from_});
  }
  std::int64_t sum = 0;
  for (const Guess& g : guesses) sum = SaturatingAdd(sum, g.seen.value);
  const double scale = sum > left ? static_cast<double>(left) / static_cast<double>(sum) : 1.0;
  InProportion share(std::min(sum, left), sum);
  double squares = 0;
  std::int64_t rest = left;
  for (const Guess& g : guesses) {
    AccountPart& part = account.parts[static_cast<std::size_t>(g.part)];
    const std::int64_t value = sum > 0 ? share.Next(g.seen.value) : 0;
    rest -= value;
    part.value += value;
    part.error = Rounded(g.error * scale, left);
    part.observations = SaturatingAdd(part.observations, g.seen.observations);
    part.source = g.source;
  }
  for (const AccountPart& part : account.parts)
    squares += static_cast<double>(part.error) * static_cast<double>(part.error);
  account.parts[static_cast<std::size_t>(Part::kUnobserved)] = {
      rest, Rounded(std::sqrt(squares), left), 0, Source::kNone};
  // So much CPU time was seen that several threads must have had it.
  const double own = static_cast<double>(duration_ - children_);
  if (own > 0 && static_cast<double>(cpu.value) - cpu_error > static_cast<double>(left))
    account.parallel =
        std::max(account.parallel, (measured_ + static_cast<double>(cpu.value)) / own);
}

Account AccountOf(const SpanFigures& span) {
  Accounting one;
  one.Add(span);
  return one.Total();
}

}  // namespace wherefore::query
