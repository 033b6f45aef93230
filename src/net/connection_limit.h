// Limits the connections of the process, all servers together, and decides which one is closed for
// a new one. The remaining file descriptors are for the log and the engine.
//
// Threads: any. A connection is asked to close by a message to its own strand.
// Always:  a connection with a running request stays; the one idle for longest goes first.
// Failure: Enter() tells if nothing can be closed; the new connection is then refused.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "net/socket_facts.h"

namespace wherefore::net {

class HttpConnection;

// Raises the limit on open files as far as allowed, and returns it.
[[nodiscard]] std::size_t RaiseOpenFileLimit();
// How many connections leave enough of `open_files` for everything else.
[[nodiscard]] std::size_t MaxConnections(std::size_t open_files);

class ConnectionLimit {
 public:
  explicit ConnectionLimit(std::size_t most) : most_(most) {}
  ConnectionLimit(const ConnectionLimit&) = delete;
  ConnectionLimit& operator=(const ConnectionLimit&) = delete;

  enum class Admission : std::uint8_t {
    kIn,
    kRefused,  // gets an answer that says so, then leaves
    kRejected  // closed without an answer; does not count
  };
  // For HTTP. A connection that entered must Leave() before it is destroyed.
  [[nodiscard]] Admission Enter(HttpConnection* connection);
  void Leave(HttpConnection* connection);
  // It waits for its client. Called again whenever bytes arrive.
  void MarkIdle(HttpConnection* connection, bool holds_body);
  // Its client waits for us.
  void MarkBusy(HttpConnection* connection);
  // Drops the partial body of every connection that received no byte of it for `idle_for`.
  void DropStalledBodies(std::chrono::milliseconds idle_for);

  // For gRPC, which reports neither the end nor the use of a connection; the kernel is asked
  // instead. At most half of all connections are gRPC's. False if full: the caller keeps the
  // descriptor.
  [[nodiscard]] bool EnterDescriptor(int fd);

 private:
  using Clock = std::chrono::steady_clock;
  using Owners = std::vector<std::shared_ptr<HttpConnection>>;
  struct Waiting {
    HttpConnection* connection = nullptr;
    Clock::time_point since;
    bool holds_body = false;
  };
  struct Entry {
    std::list<Waiting>::iterator at;  // in waiting_, or its end()
    bool leaving = false;             // does not count any more
  };

  [[nodiscard]] bool HasRoom() const REQUIRES(mutex_);
  bool MakeRoom(Owners& going) REQUIRES(mutex_);
  void ForgetClosedSockets() REQUIRES(mutex_);
  void CloseIdleSockets() REQUIRES(mutex_);

  const std::size_t most_;
  Mutex mutex_;
  std::unordered_map<HttpConnection*, Entry> entries_ GUARDED_BY(mutex_);
  std::list<Waiting> waiting_ GUARDED_BY(mutex_);  // longest waiting first
  std::size_t leaving_ GUARDED_BY(mutex_) = 0;
  std::vector<LentSocket> sockets_ GUARDED_BY(mutex_);
  Clock::time_point checked_ GUARDED_BY(mutex_);
};

}  // namespace wherefore::net
