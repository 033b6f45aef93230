#include "base/gzip.h"

#include <libdeflate.h>

#include <cstdint>
#include <memory>
#include <new>

#include "base/check.h"

namespace wherefore {
namespace {

struct FreeCompressor {
  void operator()(libdeflate_compressor* c) const { libdeflate_free_compressor(c); }
};
struct FreeDecompressor {
  void operator()(libdeflate_decompressor* d) const { libdeflate_free_decompressor(d); }
};

constexpr std::size_t kHeaderAndTrailer = 18;

// What the trailer says, modulo 4 GiB: a hint from somebody we do not trust.
std::uint32_t PromisedSize(std::string_view bytes) {
  std::uint32_t size = 0;
  for (int i = 3; i >= 0; --i)
    size =
        size << 8 | static_cast<std::uint8_t>(bytes[bytes.size() - 4 + static_cast<unsigned>(i)]);
  return size;
}

}  // namespace

std::string Gzip(std::string_view bytes, int level) {
  const std::unique_ptr<libdeflate_compressor, FreeCompressor> compressor(
      libdeflate_alloc_compressor(level));
  if (!compressor) throw std::bad_alloc();
  std::string out(libdeflate_gzip_compress_bound(compressor.get(), bytes.size()), '\0');
  out.resize(libdeflate_gzip_compress(compressor.get(), bytes.data(), bytes.size(), out.data(),
                                      out.size()));
  WHEREFORE_CHECK(!out.empty());  // there was room
  // The bound is the input's size and more.
  if (out.capacity() > 2 * out.size() + 4096) out.shrink_to_fit();
  return out;
}

std::optional<std::string> GunzipWhole(std::string_view bytes, std::size_t limit) {
  constexpr std::size_t kUsualRatio = 16;
  if (bytes.size() < kHeaderAndTrailer) return std::nullopt;
  const std::size_t size = PromisedSize(bytes);
  if (size > limit || size / kUsualRatio > bytes.size()) return std::nullopt;
  // A megabyte of tables would be too much for each thread to keep; this is 12 kB.
  const std::unique_ptr<libdeflate_decompressor, FreeDecompressor> decompressor(
      libdeflate_alloc_decompressor());
  if (!decompressor) throw std::bad_alloc();
  std::string out(size, '\0');
  std::size_t used = 0;
  std::size_t written = 0;
  const auto result = libdeflate_gzip_decompress_ex(decompressor.get(), bytes.data(), bytes.size(),
                                                    out.data(), out.size(), &used, &written);
  if (result != LIBDEFLATE_SUCCESS || used != bytes.size() || written != size) return std::nullopt;
  return out;
}

}  // namespace wherefore
