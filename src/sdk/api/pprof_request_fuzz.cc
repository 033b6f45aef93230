// Any bytes as the head of a request to the pprof server: no crash, always one complete answer.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "sdk/api/pprof_server.h"
#include "sdk/net/http_server.h"

namespace {

using wherefore::sdk::HttpServer;

void Require(bool holds) {
  if (!holds) std::abort();
}

// As the runtime has it, with a profile that costs nothing.
const HttpServer& Server() {
  static const auto* const server = [] {
    auto* made = new HttpServer;
    const auto profile = []() -> wherefore::Result<std::string> { return "profile"; };
    AddPprofRoutes(*made, {.now = [profile](wherefore::sdk::Type) { return profile(); },
                           .allocations = profile,
                           .begin = [](wherefore::sdk::Type) { return 1; },
                           .end = [profile](std::uint64_t, std::string_view) { return profile(); },
                           .drop = [](std::uint64_t) {}});
    return made;
  }();
  return *server;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string head(reinterpret_cast<const char*>(data), size);
  const HttpServer::Reply reply = Server().Answer(head.substr(0, head.find("\r\n\r\n")));
  if (reply.later) {
    Require(reply.bytes.empty() && reply.later->seconds > 0 && reply.later->seconds < 1e9);
    return 0;
  }
  const std::string& answer = reply.bytes;
  Require(answer.starts_with("HTTP/1.1 ") && answer.find("\r\n\r\n") != std::string::npos);
  Require(answer.find("\r\nconnection: close\r\n") != std::string::npos);
  return 0;
}
