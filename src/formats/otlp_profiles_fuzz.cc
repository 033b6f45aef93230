// OTLP profiles, binary: decodes, stays the same, and the checker survives it too.
#include "formats/formats.h"
#include "formats/fuzzing.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wherefore::formats;  // NOLINT(google-build-using-namespace): one function, one
                                       // module
  const auto body = Input(data, size);
  CheckStable(DecodeOtlpProfiles(body), EncodeOtlpProfiles, DecodeOtlpProfiles);
  static_cast<void>(CheckOtlpProfiles(*body));
  static_cast<void>(Recognise(*body));
  return 0;
}
