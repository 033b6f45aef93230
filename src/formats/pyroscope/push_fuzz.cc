// Push requests, binary and JSON, application names, speedscope files, and what is inside them.
#include "formats/fuzzing.h"
#include "formats/pyroscope/upload.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wherefore::formats;  // NOLINT(google-build-using-namespace): one function
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  for (const auto& push : {DecodePush(input), DecodePushJson(input)}) {
    if (!push) continue;
    for (const PushSeries& series : *push) {
      for (const PushSeries::Sample& sample : series.samples) {
        if (const auto decoded = DecodePprof(sample.profile, {})) {
          RequireOk(decoded->data.Validate(), "decoded data is valid");
        }
      }
    }
  }
  (void)ParseAppName(input);
  (void)ParseSampleTypeConfig(input);
  if (const auto decoded = DecodeSpeedscope(Input(data, size), {})) {
    RequireOk(decoded->data.Validate(), "decoded data is valid");
  }
  return 0;
}
