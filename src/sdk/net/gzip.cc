#include "sdk/net/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <bit>

namespace wherefore::sdk {

std::optional<std::string> Gzip(std::string_view bytes) {
  z_stream stream{};
  // As much memory as this takes: 256 KiB for a large request, of which a small one needs a tenth.
  const int window = std::clamp(static_cast<int>(std::bit_width(bytes.size())), 9, 15);
  constexpr int kGzip = 16;
  if (deflateInit2(&stream, 1, Z_DEFLATED, window + kGzip, window - 7, Z_DEFAULT_STRATEGY) != Z_OK)
    return std::nullopt;
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (result != Z_STREAM_END) return std::nullopt;
  return out;
}

}  // namespace wherefore::sdk
