// gzip -> bytes, with a limit. pprof files are compressed as files, not as transfers, so this is a
// matter of the format; src/net does the same for requests. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace wherefore::formats {

[[nodiscard]] inline bool IsGzip(std::string_view bytes) {
  return bytes.starts_with("\x1f\x8b");
}
// All members of the file. kLimit when more than `limit` bytes come out; with `partial` the first
// `limit` bytes are returned instead.
[[nodiscard]] Result<std::string> Gunzip(std::string_view bytes, std::size_t limit,
                                         bool partial = false);

}  // namespace wherefore::formats
