// What the system knows of a TCP connection. Internal to src/net; any thread.
#pragma once

#include <cstdint>
#include <optional>

namespace wherefore::net {

// Bytes the peer's system has taken since the connection began; none where this one does not count.
[[nodiscard]] std::optional<std::uint64_t> TakenBytes(int fd);

// How long ago the peer sent something, or connected. What we send does not count: a greeting says
// nothing of who was greeted.
struct Silence {
  std::uint32_t milliseconds = 0;  // 0 when that cannot be said; in steps of some milliseconds
  std::uint64_t received = 0;      // bytes in all

  // Who has been silent for longer, or as long and has said less.
  [[nodiscard]] bool LongerThan(const Silence& other) const {
    return milliseconds != other.milliseconds ? milliseconds > other.milliseconds
                                              : received < other.received;
  }
};
[[nodiscard]] Silence SilenceOf(int fd);

}  // namespace wherefore::net
