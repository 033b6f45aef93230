// What the system knows of a TCP connection. Internal to src/net; any thread.
#pragma once

#include <cstdint>
#include <optional>

namespace wherefore::net {

// Bytes the peer's system has taken since the connection began; none where this one does not count.
[[nodiscard]] std::optional<std::uint64_t> TakenBytes(int fd);

// For how long no byte came or went, in milliseconds; 0 when that cannot be said.
[[nodiscard]] std::uint32_t QuietMilliseconds(int fd);

}  // namespace wherefore::net
