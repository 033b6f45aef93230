// Tiers: long ranges are added up from sums by hour where those say the same as the samples, and
// from samples at the ends of the range and wherever they do not. Exact either way.
//
// Sums by hour know service, type and version; other labels, and averages of snapshots, need
// samples. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "query/context.h"

namespace wherefore::query {

// From this length on sums by hour are used; below it only where samples are gone.
inline constexpr std::int64_t kLongRangeNs = 2 * 86'400'000'000'000;

// What an answer was made of.
struct Tier {
  std::int64_t hours = 0;    // whole hours of a service and day that were not read from samples
  std::int64_t missing = 0;  // hours that are not in it: their samples are gone, and no sum can say
  std::string note;          // a sentence for people where `missing` is not 0

  [[nodiscard]] const char* Name() const { return hours > 0 ? "hours" : "raw"; }
  // Of an answer made of two.
  void Add(const Tier& other);
};

// As Reader::SumStacks().
Result<std::vector<store::StackSum>> SumStacksOfTiers(QueryContext& context,
                                                      const Resolved& resolved, Tier& tier,
                                                      const CancelToken& cancel);
// Where only samples will do: what of the query is not there any more.
Result<> NoteGoneSamples(QueryContext& context, const Resolved& resolved, std::string_view why,
                         Tier& tier, const CancelToken& cancel);

}  // namespace wherefore::query
