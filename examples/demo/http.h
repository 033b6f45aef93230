// The little HTTP the demo needs: requests with a body over loopback, one thread per connection.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace demo {

struct Request {
  std::string path;
  std::string traceparent;  // empty: none
  std::string body;
};
struct Response {
  int status = 200;
  std::string body;
};

using Handler = std::function<Response(const Request&)>;

// Listens on 127.0.0.1:port and serves until the process ends. False: the port cannot be had.
bool Serve(std::uint16_t port, const Handler& handler);

// Sends one request and waits for the answer; status 0 when there is none. Each thread keeps its
// connection to a port.
Response Call(std::uint16_t port, const Request& request);

}  // namespace demo
