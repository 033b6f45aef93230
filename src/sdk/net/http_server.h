// HttpServer: a tiny HTTP/1.1 server inside the host program, for /debug/pprof/*.
//
// One thread for all connections, of which there are few at a time; one request a connection, GET
// and HEAD only, small requests only. On a loopback address the Host header must name one too: a
// web page that resolves its own name to 127.0.0.1 gets nothing. Routes run on the server's thread
// and do not wait: one whose answer takes time says so (ServedLater), and others are answered
// meanwhile. Of these there are at most kMostLater, the next gets a 503; one whose client hangs up
// is given up at once.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "sdk/net/own_socket.h"
#include "sdk/platform/background_thread.h"

namespace wherefore::sdk {

struct ServedBody {
  std::string content_type;
  std::string bytes;
};
// An answer that takes its time: `begin`, a wait, then either `end` or, when nobody wants it any
// more, `drop`, with what `begin` gave.
struct ServedLater {
  double seconds = 0;
  std::function<Result<std::uint64_t>()> begin;
  std::function<Result<ServedBody>(std::uint64_t)> end;
  std::function<void(std::uint64_t)> drop;
};
// `query` is what stands behind '?', undecoded.
using ServedRoute =
    std::function<Result<std::variant<ServedBody, ServedLater>>(std::string_view query)>;

class HttpServer {
 public:
  static constexpr std::size_t kMostConnections = 16;  // more wait to be accepted
  static constexpr std::size_t kMostLater = 4;
  static constexpr double kBrief = 0.5;  // seconds; shorter ones do not count among those

  HttpServer() = default;
  ~HttpServer() { Stop(); }
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Before Start. An exact path.
  void Add(std::string path, ServedRoute route) { routes_[std::move(path)] = std::move(route); }
  // kUnavailable when the address is taken. Port 0: any.
  [[nodiscard]] Result<> Start(const std::string& host, int port);
  // Does not wait for requests in progress: whoever waits for a profile gets what there is of it.
  void Stop();
  [[nodiscard]] int port() const { return port_; }
  // In a forked child: the port and the connections stay the parent's.
  void AfterFork();

  // The whole answer to a request's head, without the empty line that ends it, or what gives it
  // later (exposed for tests).
  struct Reply {
    std::string bytes;
    std::optional<ServedLater> later;
    bool head_only = false;
  };
  [[nodiscard]] Reply Answer(const std::string& head) const;

  // The value of `name` in a query as a number; `otherwise` when it is not there, kInvalid when it
  // is none.
  [[nodiscard]] static Result<double> QueryNumber(std::string_view query, std::string_view name,
                                                  double otherwise);

 private:
  enum class State : std::uint8_t { kReading, kWaiting, kWriting };
  // All but `socket` is the thread's own.
  struct Connection {
    OwnSocket socket;  // none: free
    State state = State::kReading;
    std::int64_t deadline_ns = 0;  // of this state
    std::string bytes;             // read so far, or still to be written from `written` on
    std::size_t written = 0;
    Reply reply;
    std::uint64_t begun = 0;  // what reply.later gave
  };

  void Serve();
  // Waits until there is something to do for one of them.
  void Poll();
  void Accept();
  void Step(Connection& connection, short events);
  void Read(Connection& connection);
  void Begin(Connection& connection);
  void End(Connection& connection);
  void Write(Connection& connection, std::string bytes);
  void Close(Connection& connection);
  // Empty when there is room for one more that takes so long.
  [[nodiscard]] std::string WhyNotLater(double seconds) const;

  std::map<std::string, ServedRoute, std::less<>> routes_;
  BackgroundThread thread_;
  std::array<Connection, kMostConnections> connections_;
  std::int64_t accept_from_ns_ = 0;  // not before: the system had no descriptor left
  std::atomic<bool> stop_{false};
  OwnSocket listener_;
  int port_ = 0;
  bool loopback_ = true;
};

}  // namespace wherefore::sdk
