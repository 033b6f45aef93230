#include "elf/xz.h"

#include <lzma.h>

#include <algorithm>

namespace wherefore::elf {
namespace {

// The strongest preset needs 65 MiB to unpack.
constexpr std::uint64_t kDecoderMemory = 80 << 20;
constexpr std::size_t kStep = 1 << 20;

}  // namespace

Result<std::vector<std::uint8_t>> UnpackXz(std::span<const std::uint8_t> packed,
                                           std::size_t max_bytes) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, kDecoderMemory, 0) != LZMA_OK) {
    return Error(Code::kInternal, "xz: the decoder cannot be set up");
  }
  std::vector<std::uint8_t> out;
  stream.next_in = packed.data();
  stream.avail_in = packed.size();
  lzma_ret status = LZMA_OK;
  while (status == LZMA_OK && out.size() < max_bytes) {
    const std::size_t done = out.size();
    out.resize(std::min(max_bytes, done + std::max(kStep, done)));
    stream.next_out = out.data() + done;
    stream.avail_out = out.size() - done;
    status = lzma_code(&stream, LZMA_FINISH);
    out.resize(out.size() - stream.avail_out);
  }
  lzma_end(&stream);
  if (status != LZMA_STREAM_END) return Error(Code::kCorrupt, "xz: damaged or too large");
  return out;
}

}  // namespace wherefore::elf
