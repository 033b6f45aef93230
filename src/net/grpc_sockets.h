// The sockets of one gRPC server by their peers: gRPC tells whose a call is, not over which socket
// it came, and nothing of how far an answer has been read. Internal to src/net; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/mutex.h"
#include "net/socket_facts.h"

namespace wherefore::net {

class GrpcSockets {
 public:
  // A connected socket, which gRPC will close.
  void Add(int fd) EXCLUDES(mutex_);
  // Bytes that the peer of a call ("ipv4:127.0.0.1:4711") has acknowledged since it connected; none
  // where that is not known.
  [[nodiscard]] std::optional<std::uint64_t> TakenBytes(std::string_view peer) EXCLUDES(mutex_);

 private:
  using Peer = std::pair<std::string, std::uint16_t>;  // address as bytes, port
  [[nodiscard]] static std::optional<Peer> PeerOf(int fd);
  [[nodiscard]] static std::optional<Peer> Parse(std::string_view peer);

  Mutex mutex_;
  std::map<Peer, LentSocket> sockets_ GUARDED_BY(mutex_);
  std::size_t forget_at_ GUARDED_BY(mutex_) = 64;  // so many: some may be closed by now
};

}  // namespace wherefore::net
