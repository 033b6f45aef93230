// Counters: profiles that count since their process began (Go's heap, mutex and block profiles),
// turned into what happened since the last one of their series.
//
// A series is a tenant, a set of resource attributes and a profile type. Its base, the last values
// per stack, is kept by whoever stores the differences: the base moves with the commit that used
// it, or not at all. So the work is cut in two. CounterReadings needs the request only and is made
// wherever it was decoded; TakeDifferences needs the bases and is called in the order of commits.
//
// What the numbers mean:
// - The first profile of a series counts whole (it says what happened since the process began), or
//   only sets the base, as the caller says.
// - A restart of the process is seen by values that went: if more than a tenth of the last total is
//   gone, everything in the new profile happened since. Go estimates values from samples and so
//   takes a little back now and then: a stack that went down by less counts 0 until it is above its
//   highest value again, so that the differences add up to the counter.
// - A gap is one long interval: the difference covers it, the profile's duration says so. Its time
//   stays the sender's, which is when it was taken.
// - A clock may be wrong or set back: what counts is whether the counter went on. A profile that is
//   older than the last one of its series and has less is one that comes late: it is left out with
//   a reason. When the next one goes on from it, it was a restart, and both count.
//
// Threads: plain data and functions of their arguments; CounterMemory belongs to one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "profile/batch.h"

namespace wherefore::profile {

// Whether values of this type only ever grow where Go writes them.
[[nodiscard]] bool CanBeCumulative(std::string_view sample_type);

enum class FirstReading : std::uint8_t { kCountsWhole, kSetsBase };

// By stack and attributes, sorted.
using CounterValues = std::vector<std::pair<std::uint64_t, std::int64_t>>;

struct CounterBase {
  std::uint64_t time_ns = 0;  // of the last profile; 0: never seen
  CounterValues values;
  CounterValues late;  // of a profile that seemed to come late; empty: none
};

// What the counters of a request say.
struct CounterReadings {
  struct Reading {
    std::size_t profile = 0;  // in the batch
    Hash128 series;
    CounterValues values;
  };
  CounterReadings() = default;
  CounterReadings(const Batch& batch, std::uint32_t tenant);

  std::vector<std::uint64_t> sample_keys;  // by sample of the batch
  std::vector<Reading> readings;
};

// How a base moved. Applying moves in their order, from anywhere before them, leads to the same
// base, however often it is done.
struct CounterMove {
  Hash128 series;
  std::uint64_t time_ns = 0;
  bool restarted = false;  // what was counted before is gone
  CounterValues values;    // of what changed: the new value
  std::size_t profile = 0;  // that used it, in the batch as it is afterwards
};
void Apply(const CounterMove& move, CounterBase& base);

struct CounterDifferences {
  std::vector<CounterMove> moves;
  std::uint64_t rejected = 0;
  std::string message;  // why
};
// Replaces the values of the profiles that were read; samples that did not change go. Profiles that
// cannot be used are taken out and counted as rejected. `base_of` is asked once per reading, and
// what it returns is moved on.
[[nodiscard]] CounterDifferences TakeDifferences(
    Batch& batch, const CounterReadings& readings, FirstReading first,
    const std::function<CounterBase&(const Hash128&)>& base_of);

// Bases that nobody needs after this process.
class CounterMemory {
 public:
  CounterDifferences Convert(Batch& batch, std::uint32_t tenant, FirstReading first) {
    return TakeDifferences(batch, CounterReadings(batch, tenant), first,
                           [this](const Hash128& series) -> CounterBase& { return bases_[series]; });
  }

 private:
  std::unordered_map<Hash128, CounterBase> bases_;
};

}  // namespace wherefore::profile
