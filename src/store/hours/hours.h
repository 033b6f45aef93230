// Hours: sums by hour and stack, made of samples, so that long ranges need not read those.
//
// Rolled is a dictionary's hour at a time. What it was rolled from is noted beside the sums
// (HourContent, table hour_rolls): as long as the profiles of the hour are the same, so are the
// sums. What comes late, or is deleted, shows there; such an hour is read from its samples until it
// is rolled again, under the next revision. Rows and note go into the log as one frame, so a crash
// leaves both or neither.
//
// Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "store/engine/transport.h"
#include "store/read.h"
#include "store/write/rows.h"

namespace wherefore::store {

struct HourRange {  // of hours since 1970, both included
  std::int64_t first = 0;
  std::int64_t last = -1;
};
// Those that overlap a range.
[[nodiscard]] HourRange HoursOf(TimeRange range);
[[nodiscard]] std::int64_t StartOfHour(std::int64_t hour);

// The version of a label set as it stands in rows: the value of service.version; where there is
// none "\n<label>=<value>" of the next label that says it; empty: none does.
[[nodiscard]] std::string VersionText(
    const std::vector<std::pair<std::string, std::string>>& labels);
struct VersionLabel {
  std::string_view label;  // empty: none
  std::string_view value;
};
[[nodiscard]] VersionLabel ReadVersion(std::string_view text);

class NamedFunctions;  // functions.h

// An hour as it was read: where nothing is inserted, deleted or dropped meanwhile.
struct HourSamples {
  HourRow hour;
  std::vector<StackSumBySeries> sums;
  bool whole = false;  // every sample the profiles speak of is there
};
[[nodiscard]] Result<HourSamples> ReadHour(Reader& reader, const DictionaryKey& dictionary,
                                           std::uint32_t hour, const CancelToken& cancel);
// Adds its rows, under the next revision. False, and nothing is added: a sum does not fit into its
// column. `names`: which functions have a name in the store already.
[[nodiscard]] Result<bool> EncodeHour(Reader& reader, const HourSamples& samples,
                                      std::int64_t now_ns, NamedFunctions& names, RowSet& rows,
                                      const CancelToken& cancel);

// When an hour may be rolled: late data comes mostly within minutes.
struct RollWaits {
  std::int64_t after_ns = 600'000'000'000;  // after its end
  std::int64_t again_ns = 600'000'000'000;  // after it was rolled before
  std::int64_t every_ns = 60'000'000'000;   // between looks; 0: not by itself
};
[[nodiscard]] std::int64_t DueAt(const HourRow& hour, const RollWaits& waits);

// For the files of this module: the hours of the rows that conditions on `profiles` and
// `hour_rolls` select.
struct HoursWhere {
  std::string profiles;
  std::string rolls;
};
[[nodiscard]] Result<std::vector<HourRow>> ReadHours(Transport& transport, const HoursWhere& where,
                                                     const QueryLimits& limits,
                                                     const CancelToken& cancel);

}  // namespace wherefore::store
