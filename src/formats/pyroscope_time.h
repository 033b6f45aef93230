// Times as Pyroscope's HTTP interface writes them (from, until). Pure; any thread.
//
//   digits            after removing '_', ',' and spaces: 8 that form a date are YYYYMMDD (UTC), 13
//                     are ms, 16 us, 19 ns, any other number of them seconds
//   word [+-] offset  relative to now, whatever the word; offset = { number unit }, the unit by how
//                     it begins: s, m (min), h, d, w, M (mon, 30 days), y (365 days)
//
// Anything else is kInvalid with a sentence.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace wherefore::formats {

// Nanoseconds since 1970.
[[nodiscard]] Result<std::int64_t> ParsePyroscopeTime(std::string_view text, std::int64_t now_ns);

}  // namespace wherefore::formats
