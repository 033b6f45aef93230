// OTLP traces, JSON.
#include "formats/formats.h"
#include "formats/fuzzing.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wherefore::formats;  // NOLINT(google-build-using-namespace): one function
  CheckStable(DecodeOtlpTracesJson(Input(data, size)), EncodeOtlpTracesJson, DecodeOtlpTracesJson);
  return 0;
}
