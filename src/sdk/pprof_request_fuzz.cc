// Any bytes as the head of a request to the pprof server: no crash, always one complete answer.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "sdk/http_server.h"
#include "sdk/pprof_server.h"

namespace {

using wherefore::sdk::HttpServer;

void Require(bool holds) {
  if (!holds) std::abort();
}

// As the runtime has it, with a profile that costs nothing.
const HttpServer& Server() {
  static const auto* const server = [] {
    auto* made = new HttpServer;
    const auto collect = [](double seconds) -> wherefore::Result<std::string> {
      Require(seconds >= 0 && seconds < 1e9);
      return fmt::format("{}", seconds);
    };
    AddPprofRoutes(*made, {[collect](wherefore::sdk::Type, double seconds) { return collect(seconds); }, collect});
    return made;
  }();
  return *server;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string head(reinterpret_cast<const char*>(data), size);
  const std::string answer = Server().Answer(head.substr(0, head.find("\r\n\r\n")));
  Require(answer.starts_with("HTTP/1.1 ") && answer.find("\r\n\r\n") != std::string::npos);
  Require(answer.find("\r\nconnection: close\r\n") != std::string::npos);
  return 0;
}
