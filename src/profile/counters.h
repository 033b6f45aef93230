// Counters: converts profiles that count since their process started (Go's heap, mutex and block
// profiles) into what happened since the previous profile of their series.
//
// A series is a tenant, a set of resource attributes and a profile type. Its base, the last value
// per stack, is kept by whoever stores the differences: the base moves with the commit that used
// it, or not at all. So there are two steps. CounterReadings needs only the request and is made
// wherever that was decoded. TakeDifferences needs the bases and is called in commit order.
//
// Rules:
// - The first profile of a series counts in full (it says what happened since the process started),
//   or only sets the base; the caller decides.
// - A process restart is recognised by values that disappeared: if more than a tenth of the last
//   total is gone, everything in the new profile is new. Go estimates values from samples and so
//   lowers them a little now and then: a stack that went down by less counts 0 until it exceeds its
//   highest value again, so that the differences add up to the counter.
// - A gap is one long interval: the difference covers it and the profile's duration says so. Its
//   time stays the sender's, which is when it was taken.
// - A sender's clock may be wrong or set back, so what matters is whether the counter went on. A
//   profile that is older than the last one of its series and has lower values came late: it is
//   left out with a reason. If the next one continues from it, it was a restart, and both count.
//
// Threads: plain data and pure functions; a CounterMemory belongs to one thread.
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

// Whether Go writes this type as a counter that only grows.
[[nodiscard]] bool CanBeCumulative(std::string_view sample_type);

enum class FirstReading : std::uint8_t { kCountsWhole, kSetsBase };

// (hash of stack and attributes, value), sorted.
using CounterValues = std::vector<std::pair<std::uint64_t, std::int64_t>>;

struct CounterBase {
  std::uint64_t time_ns = 0;  // of the last profile; 0: never seen
  CounterValues values;
  CounterValues late;  // values of a profile that seemed to come late; empty: none
};

// The counter values of a request.
struct CounterReadings {
  struct Reading {
    std::size_t profile = 0;  // in the batch
    Hash128 series;
    CounterValues values;
  };
  CounterReadings() = default;
  CounterReadings(const Batch& batch, std::uint32_t tenant);

  std::vector<std::uint64_t> sample_keys;  // one per sample of the batch
  std::vector<Reading> readings;
};

// How a base moved. Applying moves is idempotent: in order, from any earlier state, they lead to
// the same base.
struct CounterMove {
  Hash128 series;
  std::uint64_t time_ns = 0;
  bool restarted = false;   // the counter started again from 0
  CounterValues values;     // new values of the keys that changed
  std::size_t profile = 0;  // the profile that used it: index in the resulting batch
};
void Apply(const CounterMove& move, CounterBase& base);

struct CounterDifferences {
  std::vector<CounterMove> moves;
  std::uint64_t rejected = 0;
  std::string message;  // why
};
// Replaces the values of the profiles in `readings` by differences and removes samples that did not
// change. Profiles that cannot be used are removed and counted as rejected. `base_of` is called
// once per reading; the base it returns is moved on.
[[nodiscard]] CounterDifferences TakeDifferences(
    Batch& batch, const CounterReadings& readings, FirstReading first,
    const std::function<CounterBase&(const Hash128&)>& base_of);

// Converts with bases that live in memory only, for as long as this object.
class CounterMemory {
 public:
  CounterDifferences Convert(Batch& batch, std::uint32_t tenant, FirstReading first) {
    return TakeDifferences(
        batch, CounterReadings(batch, tenant), first,
        [this](const Hash128& series) -> CounterBase& { return bases_[series]; });
  }

 private:
  std::unordered_map<Hash128, CounterBase> bases_;
};

}  // namespace wherefore::profile
