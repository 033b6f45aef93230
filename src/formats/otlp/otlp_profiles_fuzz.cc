// OTLP profiles, binary: decodes, a round trip changes nothing, and the checker survives.
#include "formats/formats.h"
#include "formats/fuzzing.h"
#include "formats/registry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wherefore::formats;  // NOLINT(google-build-using-namespace): one function
  const auto body = Input(data, size);
  CheckStable(DecodeOtlpProfiles(body), EncodeOtlpProfiles, DecodeOtlpProfiles);
  static_cast<void>(CheckOtlpProfiles(*body));
  static_cast<void>(Recognise(*body));
  return 0;
}
