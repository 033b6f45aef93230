// Times in Pyroscope's HTTP API (from, until). Pure; any thread.
//
//   digits            after removing '_', ',' and spaces: 8 digits that form a date are YYYYMMDD in
//                     UTC, 13 are ms, 16 us, 19 ns, any other number of digits seconds
//   word [+-] offset  relative to now, whatever the word; offset = { number unit }, the unit by its
//                     beginning: s, m (min), h, d, w, M (mon, 30 days), y (365 days)
//
// Anything else is kInvalid, with a reason.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace wherefore::formats {

// Returns nanoseconds since 1970.
[[nodiscard]] Result<std::int64_t> ParsePyroscopeTime(std::string_view text, std::int64_t now_ns);

}  // namespace wherefore::formats
