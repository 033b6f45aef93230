// Decompresses gzip, zlib/deflate and zstd with a hard limit on the output; compresses zstd (gzip:
// base/gzip.h). Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace wherefore::net {

// `encoding` is a Content-Encoding: "gzip", "deflate" (zlib or raw), "zstd", "identity" or "".
// kUnsupported for others, kCorrupt for damaged input, kLimit if the output would exceed `limit`
// bytes (which are never allocated).
[[nodiscard]] Result<std::string> Decompress(std::string_view encoding, std::string_view bytes,
                                             std::size_t limit);
[[nodiscard]] std::string Zstd(std::string_view bytes, int level = 3);

}  // namespace wherefore::net
