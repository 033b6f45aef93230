#include "formats/wire/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include <fmt/format.h>

#include "base/gzip.h"
#include "base/text.h"

namespace wherefore::formats {

namespace {

struct EndInflate {
  void operator()(z_stream* z) const { inflateEnd(z); }
};

}  // namespace

Result<std::string> Gunzip(std::string_view bytes, std::size_t limit, bool partial) {
  if (!partial) {
    if (auto whole = GunzipWhole(bytes, limit)) return *std::move(whole);
  }
  constexpr int kGzipOnly = 15 + 16;
  z_stream z{};
  if (inflateInit2(&z, kGzipOnly) != Z_OK)
    return Error(Code::kInternal, "zlib cannot be initialised");
  const std::unique_ptr<z_stream, EndInflate> guard(&z);
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  z.avail_in = static_cast<uInt>(std::min<std::size_t>(bytes.size(), UINT32_MAX));
  std::string out;
  std::size_t used = 0;
  for (;;) {
    if (used == out.size()) {
      // Grows with what actually comes out, never with what a header promises.
      out.resize(std::min(limit + 1, std::max<std::size_t>(out.size() * 2, std::size_t{64} << 10)));
    }
    z.next_out = reinterpret_cast<Bytef*>(out.data() + used);
    z.avail_out = static_cast<uInt>(std::min<std::size_t>(out.size() - used, 1U << 30));
    const uInt room = z.avail_out;
    const int code = inflate(&z, Z_NO_FLUSH);
    used += room - z.avail_out;
    if (used > limit) {
      if (!partial)
        return Error(Code::kLimit,
                     "gzip: more than " + FormatBytes(static_cast<std::int64_t>(limit)));
      used = limit;
      break;
    }
    if (code == Z_STREAM_END) {
      if (z.avail_in == 0) break;
      if (inflateReset(&z) != Z_OK) return Error(Code::kInternal, "zlib failed");
      continue;
    }
    if (code != Z_OK && code != Z_BUF_ERROR) {
      return Error(Code::kCorrupt, fmt::format("gzip: {}", z.msg == nullptr ? "damaged" : z.msg));
    }
    if (z.avail_in == 0 && z.avail_out != 0) {
      if (partial) break;
      return Error(Code::kCorrupt, "gzip: ends early");
    }
  }
  out.resize(used);
  return out;
}

}  // namespace wherefore::formats
