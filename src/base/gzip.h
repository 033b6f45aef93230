// gzip for bytes that are in memory as a whole, by libdeflate: two to three times as fast as zlib,
// which decompresses what does not suit (src/net/compression.h, src/formats/wire/gzip.h). Pure
// functions, any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace wherefore {

// Levels as zlib counts them, 1 to 9. The same bytes for the same input and version of the library.
[[nodiscard]] std::string Gzip(std::string_view bytes, int level = 6);
// What a file of one member contains, if that is at most `limit` bytes. None: several members, more
// than `limit`, sixteen times as large unpacked, or damaged. Only zlib's loop can tell which, and
// allocates no more than what comes out.
[[nodiscard]] std::optional<std::string> GunzipWhole(std::string_view bytes, std::size_t limit);

}  // namespace wherefore
