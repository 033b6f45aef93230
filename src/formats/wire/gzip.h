// Unpacks gzip, with a limit. pprof files are compressed as files, not in transfer, so this belongs
// to the format; src/net does the same for requests. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace wherefore::formats {

[[nodiscard]] inline bool IsGzip(std::string_view bytes) {
  return bytes.starts_with("\x1f\x8b");
}
// Unpacks all members of the file. kLimit if the output exceeds `limit` bytes; with `partial`
// returns the first `limit` bytes instead.
[[nodiscard]] Result<std::string> Gunzip(std::string_view bytes, std::size_t limit,
                                         bool partial = false);

}  // namespace wherefore::formats
