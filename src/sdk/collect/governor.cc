#include "sdk/collect/governor.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace wherefore::sdk {
namespace {

constexpr std::int64_t kLargestScale = 64;
// Steps are seconds. Judged is over this many...
constexpr int kStepsPerJudgement = 3;
// ...and before a rate goes up again it must have been possible this many times, with this share of
// the budget left.
constexpr int kCalmJudgements = 4;
constexpr double kLeave = 0.2;
// Above the budget once may be an export; far above it is no reason to wait.
constexpr int kAboveJudgements = 2;
constexpr double kFarAbove = 2;
// What costs less than this share of all cannot help.
constexpr std::int64_t kMatters = 8;
// So many times in a row it must have been above with nothing left to do: one may be an export.
constexpr int kStuckJudgements = 3;
// A process that hardly runs gives no meaningful share: it is charged as if it had used this much
// in a second.
constexpr std::int64_t kLeastProcessNs = 250'000'000;

Governor::Machine ReadFromProc() {
  static unsigned long long last_busy = 0;
  static unsigned long long last_all = 0;
  Governor::Machine machine;
  if (FILE* file = std::fopen("/proc/stat", "re"); file != nullptr) {
    unsigned long long t[8] = {};
    if (std::fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", t, t + 1, t + 2, t + 3,
                    t + 4, t + 5, t + 6, t + 7) == 8) {
      unsigned long long all = 0;
      for (const unsigned long long part : t) all += part;
      const unsigned long long busy = all - t[3] - t[4];
      if (last_all != 0 && all > last_all) {
        machine.cpu = static_cast<double>(busy - last_busy) / static_cast<double>(all - last_all);
      }
      last_busy = busy;
      last_all = all;
    }
    std::fclose(file);
  }
  if (FILE* file = std::fopen("/proc/self/statm", "re"); file != nullptr) {
    long long size = 0;
    long long resident = 0;
    if (std::fscanf(file, "%lld %lld", &size, &resident) == 2) {
      machine.resident_bytes = resident * sysconf(_SC_PAGESIZE);
    }
    std::fclose(file);
  }
  return machine;
}

bool Above(const LoadThresholds& thresholds, const Governor::Machine& machine) {
  if (!thresholds.enabled) return false;
  return (thresholds.cpu > 0 && machine.cpu > thresholds.cpu) ||
         (thresholds.memory_bytes > 0 && machine.resident_bytes > thresholds.memory_bytes);
}

}  // namespace

Governor::Governor(const Options& options)
    : max_overhead_(options.max_overhead),
      shed_(options.load_shedding),
      adaptive_(options.adaptive),
      read_machine_(ReadFromProc) {}

void Governor::Adopt(const Options& options) {
  max_overhead_ = options.max_overhead;
  shed_ = options.load_shedding;
  adaptive_ = options.adaptive;
}

Load Governor::LoadNow() const {
  if (!shed_.enabled && !adaptive_.enabled) return Load::kNormal;
  const Machine machine = read_machine_();
  if (Above(shed_, machine)) return Load::kShed;
  return Above(adaptive_, machine) ? Load::kAdaptive : Load::kNormal;
}

// Whatever cost most since the last judgement, of those that can and that matter, samples half as
// often.
bool Governor::Slower(const Usage& spent, std::int64_t profiler) {
  std::int64_t* scale = nullptr;
  std::int64_t most = profiler / kMatters;
  for (std::size_t i = 0; i < kSamplerCount; ++i) {
    if (spent.samplers[i] <= most || own_scale_[i] >= kLargestScale) continue;
    most = spent.samplers[i];
    scale = &own_scale_[i];
  }
  stuck_ = scale == nullptr ? stuck_ + 1 : 0;
  if (scale == nullptr) return false;
  *scale *= 2;
  return true;
}

std::optional<double> Governor::excess() const {
  return stuck_ >= kStuckJudgements ? std::optional(overhead_) : std::nullopt;
}

// Of those whose cost may double, the one that samples least.
bool Governor::Faster(const Usage& spent) {
  std::int64_t* slowest = nullptr;
  for (std::size_t i = 0; i < kSamplerCount; ++i) {
    const double more =
        static_cast<double>(spent.samplers[i]) / static_cast<double>(spent.process_ns);
    if (overhead_ + more > max_overhead_ * (1 - kLeave)) continue;
    if (own_scale_[i] > (slowest == nullptr ? 1 : *slowest)) slowest = &own_scale_[i];
  }
  calm_ = slowest == nullptr ? 0 : calm_ + 1;
  if (calm_ < kCalmJudgements) return false;
  calm_ = 0;
  *slowest /= 2;
  return true;
}

bool Governor::Judge(const Usage& usage) {
  Usage spent = {
      .process_ns = std::max(usage.process_ns - judged_.process_ns, kLeastProcessNs * steps_),
      .samplers = {},
      .rest = usage.rest - judged_.rest};
  std::int64_t profiler = spent.rest;
  for (std::size_t i = 0; i < kSamplerCount; ++i) {
    spent.samplers[i] = usage.samplers[i] - judged_.samplers[i];
    profiler += spent.samplers[i];
  }
  const double overhead = static_cast<double>(profiler) / static_cast<double>(spent.process_ns);
  // One expensive second (an export, a library loaded) is no reason, unless it is very expensive.
  if (steps_ < kStepsPerJudgement && overhead < 4 * max_overhead_) return false;
  overhead_ = overhead;
  judged_ = usage;
  steps_ = 0;
  if (max_overhead_ <= 0) return false;
  if (overhead > max_overhead_) {
    calm_ = 0;
    ++above_;
    return (above_ >= kAboveJudgements || overhead > kFarAbove * max_overhead_) &&
           Slower(spent, profiler);
  }
  above_ = stuck_ = 0;
  return Faster(spent);
}

bool Governor::Step(const Usage& usage) {
  bool changed = false;
  if (!begun_) {  // what starting cost is behind us
    begun_ = true;
    judged_ = usage;
  } else {
    ++steps_;
    changed = Judge(usage);
  }
  const Load load = LoadNow();
  changed = changed || load != load_;
  load_ = load;
  return changed;
}

}  // namespace wherefore::sdk
