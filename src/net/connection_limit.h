// How many connections the process holds, all servers together, and who goes when a new one comes.
// Descriptors that connections do not get are the log's and the engine's.
//
// Threads: any. Connections are asked to go by a message to their own strand.
// Always:  who is being answered stays; the one that has been quiet the longest goes first.
// Failure: Enter says when nobody can go; the new one is then told so, or closed without a word.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"

namespace wherefore::net {

class HttpConnection;

// Raises the limit on open files as far as this process may, and returns it.
[[nodiscard]] std::size_t RaiseOpenFileLimit();
// How many connections leave enough of `open_files` for everything else.
[[nodiscard]] std::size_t MostConnections(std::size_t open_files);

class ConnectionLimit {
 public:
  explicit ConnectionLimit(std::size_t most) : most_(most) {}
  ConnectionLimit(const ConnectionLimit&) = delete;
  ConnectionLimit& operator=(const ConnectionLimit&) = delete;

  enum class Admission : std::uint8_t {
    kIn,
    kRefused,    // may say so, and leaves
    kTurnedAway  // not even that; it does not count
  };
  // Of HTTP. Who has entered leaves before it is destroyed.
  [[nodiscard]] Admission Enter(HttpConnection* connection);
  void Leave(HttpConnection* connection);
  // It waits for its client from now on; again at every sign of life.
  void Quiet(HttpConnection* connection, bool holds_body);
  // Its client waits for us.
  void Busy(HttpConnection* connection);
  // Has all who hold part of a body and got no byte of it for `so_long` give it up.
  void DropStalledBodies(std::chrono::milliseconds so_long);

  // Of gRPC, which says neither when a connection ends nor when it is used: the system is asked
  // instead. At most half of all connections are gRPC's. False: full; the descriptor stays the
  // caller's.
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
    std::list<Waiting>::iterator at;  // in waiting_, or its end
    bool leaving = false;             // does not count any more
  };
  struct Socket {
    int fd;
    std::size_t inode;
  };

  [[nodiscard]] bool HasRoom() const REQUIRES(mutex_);
  bool MakeRoom(Owners& going) REQUIRES(mutex_);
  void ForgetClosedSockets() REQUIRES(mutex_);
  void CloseQuietSockets() REQUIRES(mutex_);

  const std::size_t most_;
  Mutex mutex_;
  std::unordered_map<HttpConnection*, Entry> entries_ GUARDED_BY(mutex_);
  std::list<Waiting> waiting_ GUARDED_BY(mutex_);  // the longest first
  std::size_t leaving_ GUARDED_BY(mutex_) = 0;
  std::vector<Socket> sockets_ GUARDED_BY(mutex_);
  Clock::time_point looked_ GUARDED_BY(mutex_);
};

}  // namespace wherefore::net
