// Output of perf script: decodes, and a round trip changes nothing.
#include "formats/formats.h"
#include "formats/fuzzing.h"
#include "formats/stacks/perf_script.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wherefore::formats;  // NOLINT(google-build-using-namespace): one function
  const auto text = Input(data, size);
  static_cast<void>(IsPerfScript(*text));
  CheckStable(DecodePerfScript(text, {.service = "fuzz"}), EncodeOtlpProfiles, DecodeOtlpProfiles);
  return 0;
}
