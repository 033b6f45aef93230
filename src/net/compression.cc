#include "net/compression.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>
#include <new>
#include <span>

#include <fmt/format.h>

#include "base/check.h"
#include "base/gzip.h"

namespace wherefore::net {
namespace {

// Output that grows by doubling, never beyond the limit. When it is full, one spare byte takes what
// would come next: a stream that ends exactly at the limit is fine, one that fills the spare byte
// is not.
class LimitedOutput {
 public:
  LimitedOutput(std::size_t expected, std::size_t limit) : limit_(limit) {
    text_.resize(std::min(limit, std::max<std::size_t>(expected, 1024)));
  }

  // Room to write into; never empty.
  std::span<char> Room() {
    if (used_ == text_.size() && used_ < limit_) {
      text_.resize(text_.size() > limit_ / 2 ? limit_ : text_.size() * 2);
    }
    if (used_ == text_.size()) return {&spare_, 1};
    return std::span(text_).subspan(used_);
  }
  // False if the limit is exceeded.
  [[nodiscard]] bool Advance(std::size_t written) {
    if (written > 0 && used_ == limit_) return false;
    used_ += written;
    return true;
  }
  std::string Take() && {
    text_.resize(used_);
    // Otherwise a small body in a big buffer would hold it for as long as the batch lives.
    if (text_.capacity() > 2 * used_ + 4096) text_.shrink_to_fit();
    return std::move(text_);
  }

 private:
  const std::size_t limit_;
  std::string text_;
  std::size_t used_ = 0;
  char spare_ = 0;
};

Error TooLarge(std::size_t limit) {
  return {Code::kLimit, fmt::format("the decompressed body is larger than {} bytes", limit)};
}

Error Damaged(std::string_view what, std::string_view why) {
  return {Code::kCorrupt, fmt::format("the {} body cannot be decompressed: {}", what, why)};
}

// inflateInit2's "window bits" also select the wrapper.
enum class Wrapper : std::int8_t { kGzip = 15 + 16, kZlib = 15, kRaw = -15 };

class Inflater {
 public:
  explicit Inflater(Wrapper wrapper) {
    if (inflateInit2(&stream_, static_cast<int>(wrapper)) != Z_OK) throw std::bad_alloc();
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() { inflateEnd(&stream_); }
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
};

uInt ClampToUint(std::size_t size) {
  return static_cast<uInt>(std::min<std::size_t>(size, std::numeric_limits<uInt>::max()));
}

Result<std::string> Inflate(std::string_view what, Wrapper wrapper, std::string_view bytes,
                            std::size_t limit) {
  Inflater inflater(wrapper);
  z_stream& stream = inflater.stream();
  LimitedOutput out(bytes.size() * 4, limit);
  std::string_view rest = bytes;
  while (true) {
    const std::span<char> room = out.Room();
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest.data()));
    stream.avail_in = ClampToUint(rest.size());
    stream.next_out = reinterpret_cast<Bytef*>(room.data());
    stream.avail_out = ClampToUint(room.size());
    const uInt offered_in = stream.avail_in;
    const uInt offered_out = stream.avail_out;
    const int code = inflate(&stream, Z_NO_FLUSH);
    rest.remove_prefix(offered_in - stream.avail_in);
    if (!out.Advance(offered_out - stream.avail_out)) return TooLarge(limit);
    if (code == Z_STREAM_END) {
      if (rest.empty()) return std::move(out).Take();
      // gzip allows several members in a row; the others allow nothing after the end.
      if (wrapper != Wrapper::kGzip) return Damaged(what, "bytes after the end of the stream");
      inflateReset(&stream);
    } else if (code == Z_BUF_ERROR || (code == Z_OK && rest.empty() && stream.avail_out > 0)) {
      return Damaged(what, "it is cut off");
    } else if (code != Z_OK) {
      return Damaged(what, stream.msg != nullptr ? stream.msg : "invalid data");
    }
  }
}

// Senders disagree about "deflate": RFC 9110 says zlib, many send the raw stream.
bool HasZlibHeader(std::string_view bytes) {
  if (bytes.size() < 2) return false;
  const auto cmf = static_cast<std::uint8_t>(bytes[0]);
  const auto flags = static_cast<std::uint8_t>(bytes[1]);
  return (cmf & 0x0f) == 8 && (cmf >> 4) <= 7 && (cmf * 256 + flags) % 31 == 0;
}

Result<std::string> InflateZstd(std::string_view bytes, std::size_t limit) {
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                     &ZSTD_freeDCtx);
  WHEREFORE_CHECK(context != nullptr);
  // The sender chooses the window we must allocate. Limit it to about what may come out, but allow
  // the 8 MiB every decoder must support (RFC 8878).
  const int window = std::clamp(static_cast<int>(std::bit_width(limit)), 23, 27);
  ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, window);
  LimitedOutput out(bytes.size() * 4, limit);
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  while (true) {
    const std::span<char> room = out.Room();
    ZSTD_outBuffer chunk{room.data(), room.size(), 0};
    const std::size_t left = ZSTD_decompressStream(context.get(), &chunk, &in);
    if (ZSTD_isError(left) != 0) return Damaged("zstd", ZSTD_getErrorName(left));
    if (!out.Advance(chunk.pos)) return TooLarge(limit);
    if (in.pos < in.size) continue;
    if (left == 0) return std::move(out).Take();  // the end of a frame is the end of the input
    if (chunk.pos < chunk.size) return Damaged("zstd", "it is cut off");
  }
}

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](char x, char y) { return (x >= 'A' && x <= 'Z' ? x + 32 : x) == y; });
}

}  // namespace

Result<std::string> Decompress(std::string_view encoding, std::string_view bytes,
                               std::size_t limit) {
  const auto is = [&](std::string_view name) { return EqualsIgnoringCase(encoding, name); };
  if (is("") || is("identity")) {
    if (bytes.size() > limit) return TooLarge(limit);
    return std::string(bytes);
  }
  if (is("gzip") || is("x-gzip")) {
    if (auto whole = GunzipWhole(bytes, limit)) return *std::move(whole);
    return Inflate("gzip", Wrapper::kGzip, bytes, limit);
  }
  if (is("deflate")) {
    return Inflate("deflate", HasZlibHeader(bytes) ? Wrapper::kZlib : Wrapper::kRaw, bytes, limit);
  }
  if (is("zstd")) return InflateZstd(bytes, limit);
  return Error(
      Code::kUnsupported,
      fmt::format("content encoding \"{}\" is not supported; use gzip, zstd, deflate or none",
                  encoding));
}

std::string Zstd(std::string_view bytes, int level) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), level);
  WHEREFORE_CHECK(ZSTD_isError(size) == 0);
  out.resize(size);
  return out;
}

}  // namespace wherefore::net
