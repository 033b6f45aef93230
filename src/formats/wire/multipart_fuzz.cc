// Forms: the first line of the input is the content type, the rest is the body.
#include "formats/fuzzing.h"
#include "formats/wire/multipart.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wherefore::formats;  // NOLINT(google-build-using-namespace): one function
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(input.find('\n'), input.size());
  const std::string_view body = input.substr(std::min(end + 1, input.size()));
  const auto parts = ParseMultipart(body, input.substr(0, end));
  if (!parts) return 0;
  for (const Part& part : *parts) {
    Require(part.bytes.data() >= body.data() &&
                part.bytes.data() + part.bytes.size() <= body.data() + body.size(),
            "a part lies inside the body");
  }
  return 0;
}
