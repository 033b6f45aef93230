// Any bytes as OpAMP messages: no crash, and what was understood is written and read back the same.
#include "formats/fuzzing.h"
#include "formats/opamp/opamp.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wherefore::formats;  // NOLINT(google-build-using-namespace): one file
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto message = opamp::DecodeAgentToServer(bytes)) {
    const auto again = opamp::DecodeAgentToServer(opamp::Encode(*message));
    RequireOk(again, "our own message can be decoded");
    Require(*again == *message, "a message says the same after encoding");
  }
  if (const auto message = opamp::DecodeServerToAgent(bytes)) {
    const auto again = opamp::DecodeServerToAgent(opamp::Encode(*message));
    RequireOk(again, "our own answer can be decoded");
    Require(*again == *message, "an answer says the same after encoding");
  }
  return 0;
}
