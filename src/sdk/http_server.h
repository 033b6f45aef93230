// HttpServer: a tiny HTTP/1.1 server inside the host program, for /debug/pprof/*.
//
// Two threads, one request a connection, GET and HEAD only, small requests only. On a loopback
// address the Host header must name one too: a web page that resolves its own name to 127.0.0.1
// gets nothing. Handlers run on the server's threads and may take their time; a client that goes
// away is noticed when the answer is written.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <string>

#include "base/result.h"
#include "sdk/background_thread.h"

namespace wherefore::sdk {

struct ServedBody {
  std::string content_type;
  std::string bytes;
};
// `query` is what stands behind '?', undecoded.
using ServedRoute = std::function<Result<ServedBody>(std::string_view query)>;

class HttpServer {
 public:
  HttpServer() = default;
  ~HttpServer() { Stop(); }
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Before Start. An exact path.
  void Add(std::string path, ServedRoute route) { routes_[std::move(path)] = std::move(route); }
  // kUnavailable when the address is taken. Port 0: any.
  [[nodiscard]] Result<> Start(const std::string& host, int port);
  // Waits for requests in progress.
  void Stop();
  [[nodiscard]] int port() const { return port_; }
  // A handler that waits looks at this.
  [[nodiscard]] bool stopping() const { return stop_.load(); }
  // In a forked child: the port stays the parent's.
  void AfterFork();

  // The whole answer to a request's head, without the empty line that ends it (exposed for tests).
  [[nodiscard]] std::string Answer(const std::string& head) const;

  // The value of `name` in a query as a number; `otherwise` when it is not there, kInvalid when it
  // is none.
  [[nodiscard]] static Result<double> QueryNumber(std::string_view query, std::string_view name,
                                                  double otherwise);

 private:
  void Serve();
  void Talk(int connection);

  std::map<std::string, ServedRoute, std::less<>> routes_;
  std::array<BackgroundThread, 2> threads_;
  std::atomic<bool> stop_{false};
  int listener_ = -1;
  int port_ = 0;
  bool loopback_ = true;
};

}  // namespace wherefore::sdk
