// JFR: decodes and survives conversion to OTLP. The first byte of the input is the length of the
// labels part before the recording.
#include <algorithm>

#include "formats/formats.h"
#include "formats/fuzzing.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wherefore::formats;  // NOLINT(google-build-using-namespace): one function
  if (size == 0) return 0;
  const std::size_t labels = std::min<std::size_t>(data[0], size - 1);
  const std::string snapshot(reinterpret_cast<const char*>(data + 1), labels);
  const auto decoded = DecodeJfr(Input(data + 1 + labels, size - 1 - labels),
                                 {.service = "s", .labels_snapshot = snapshot});
  CheckStable(decoded, EncodeOtlpProfiles, DecodeOtlpProfiles);
  return 0;
}
