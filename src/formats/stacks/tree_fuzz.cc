// Pyroscope's tree format, and conversion to pprof.
#include "formats/formats.h"
#include "formats/fuzzing.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wherefore::formats;  // NOLINT(google-build-using-namespace): one function
  CheckStable(
      DecodeTree(Input(data, size), {}), [](const auto& batch) { return *EncodePprof(batch); },
      [](auto bytes) { return DecodePprof(bytes, {}); });
  return 0;
}
