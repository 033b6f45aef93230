// Any bytes through every decoder: no crash, never more than the limit, and small output survives a
// round trip through our own encoders.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/gzip.h"
#include "net/compression.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wherefore;  // NOLINT(google-build-using-namespace)
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  constexpr std::size_t kLimit = 1u << 16;
  for (const char* encoding : {"gzip", "deflate", "zstd", "identity", "br"}) {
    const auto out = net::Decompress(encoding, bytes, kLimit);
    if (out && out->size() > kLimit) std::abort();
    if (!out && out.error().message().empty()) std::abort();
  }
  if (size > kLimit) return 0;
  if (net::Decompress("gzip", Gzip(bytes, 1), kLimit).value() != bytes) std::abort();
  if (net::Decompress("zstd", net::Zstd(bytes, 1), kLimit).value() != bytes) std::abort();
  return 0;
}
