// pprof: decodes, a round trip changes nothing, survives conversion to OTLP; the checker survives.
#include "formats/formats.h"
#include "formats/fuzzing.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wherefore::formats;  // NOLINT(google-build-using-namespace): one function
  const auto body = Input(data, size);
  const auto decoded = DecodePprof(body, {});
  CheckStable(
      decoded, [](const auto& batch) { return *EncodePprof(batch); },
      [](auto bytes) { return DecodePprof(bytes, {}); });
  CheckStable(decoded, EncodeOtlpProfiles, DecodeOtlpProfiles);
  static_cast<void>(CheckPprof(*body));
  return 0;
}
