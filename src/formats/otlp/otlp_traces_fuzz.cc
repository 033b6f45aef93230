// OTLP traces, binary, and a round trip through JSON.
#include "formats/formats.h"
#include "formats/fuzzing.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wherefore::formats;  // NOLINT(google-build-using-namespace): one function
  const auto decoded = DecodeOtlpTraces(Input(data, size));
  CheckStable(decoded, EncodeOtlpTraces, DecodeOtlpTraces);
  CheckStable(decoded, EncodeOtlpTracesJson, DecodeOtlpTracesJson);
  return 0;
}
