// gzip, zlib/deflate and zstd with a hard limit on what comes out. Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace wherefore::net {

// `encoding` as in Content-Encoding: "gzip", "deflate" (zlib or raw), "zstd", "identity", "". An
// unknown one is kUnsupported, damage is kCorrupt, more than `limit` bytes out is kLimit (never
// allocated).
[[nodiscard]] Result<std::string> Decompress(std::string_view encoding, std::string_view bytes,
                                             std::size_t limit);
[[nodiscard]] std::string Gzip(std::string_view bytes, int level = 6);
[[nodiscard]] std::string Zstd(std::string_view bytes, int level = 3);

}  // namespace wherefore::net
