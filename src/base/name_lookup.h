// Host name lookup with a timeout.
//
// getaddrinfo cannot be interrupted, so it runs on a thread of its own, which is abandoned when the
// caller stops waiting. While kMaxAbandonedLookups of them are still running, further lookups fail
// immediately. Numeric addresses need no thread. May be called from any thread.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <netinet/in.h>

#include "base/result.h"

namespace wherefore {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

inline constexpr int kMaxAbandonedLookups = 16;

// Runs body(argument) on a detached thread. False if the system has no thread to give; then
// getaddrinfo runs on the caller's thread.
using StartThread = bool (*)(void (*body)(void*), void* argument);

// `keep_waiting` is polled several times a second. kUnavailable: no such name, or no answer in
// time.
[[nodiscard]] Result<std::vector<SocketAddress>> LookUpName(
    const std::string& host, std::uint16_t port, const std::function<bool()>& keep_waiting,
    StartThread start);

}  // namespace wherefore
