// Sends standard input as one gRPC message: grpc_send PORT METHOD [--gzip]. Prints status, message,
// body.
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>

#include <fmt/format.h>

#include "net/test_grpc.h"

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string body((std::istreambuf_iterator<char>(std::cin)),
                         std::istreambuf_iterator<char>());
  const bool gzip = argc > 3 && std::string_view(argv[3]) == "--gzip";
  const wherefore::net::GrpcOutcome outcome = wherefore::net::CallGrpc(
      static_cast<std::uint16_t>(std::stoi(argv[1])), argv[2], body, {}, gzip);
  fmt::print("{}\n{}\n", outcome.status, outcome.message);
  std::fwrite(outcome.body.data(), 1, outcome.body.size(), stdout);
  return 0;
}
