// OTLP profiles, JSON.
#include "formats/formats.h"
#include "formats/fuzzing.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wherefore::formats;  // NOLINT(google-build-using-namespace): one function
  CheckStable(DecodeOtlpProfilesJson(Input(data, size)), EncodeOtlpProfilesJson,
              DecodeOtlpProfilesJson);
  return 0;
}
