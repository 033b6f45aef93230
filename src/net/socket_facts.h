// What the kernel knows about a TCP connection. Internal to src/net; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace wherefore::net {

// Bytes the peer has acknowledged since the connection began; none if the kernel does not count
// them.
[[nodiscard]] std::optional<std::uint64_t> TakenBytes(int fd);

// A socket that somebody else closes: its number may belong to another file by then, which has
// another inode.
class LentSocket {
 public:
  explicit LentSocket(int fd);
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool IsOpen() const;

 private:
  int fd_;
  std::size_t inode_;
};

// How long ago the peer sent something, or connected. What we send does not count, because it says
// nothing about the peer.
struct Silence {
  std::uint32_t milliseconds = 0;  // 0: not known; in steps of some milliseconds
  std::uint64_t received = 0;      // total bytes

  // Whether this peer has been silent longer, or equally long and sent less.
  [[nodiscard]] bool LongerThan(const Silence& other) const {
    return milliseconds != other.milliseconds ? milliseconds > other.milliseconds
                                              : received < other.received;
  }
};
[[nodiscard]] Silence SilenceOf(int fd);

}  // namespace wherefore::net
