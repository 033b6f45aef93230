// Any bytes as what an OpAMP server answers: no crash, and nothing in it that was not sent.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "sdk/net/opamp_messages.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto read =
      wherefore::sdk::DecodeServerToAgent({reinterpret_cast<const char*>(data), size});
  if (!read) {
    if (read.error().message().empty()) std::abort();
    return 0;
  }
  std::size_t bytes = read->instance_uid.size() + read->error.size();
  if (read->config) {
    bytes += read->config->hash.size();
    for (const auto& [name, body] : read->config->files) bytes += name.size() + body.size();
  }
  if (bytes > size) std::abort();
  return 0;
}
