// Files of any format, recognised by content: what is decoded is valid, whatever the bytes.
#include "formats/fuzzing.h"
#include "formats/registry.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wherefore::formats;  // NOLINT(google-build-using-namespace): one function
  const auto content = DecodeFile(Input(data, size), {.service = "fuzz"});
  if (!content) return 0;
  if (const auto* profiles = std::get_if<DecodedProfiles>(&*content))
    RequireOk(profiles->data.Validate(), "decoded profiles are valid");
  if (const auto* spans = std::get_if<DecodedSpans>(&*content))
    RequireOk(spans->data.Validate(), "decoded spans are valid");
  return 0;
}
