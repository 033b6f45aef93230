// The addresses of a host, without waiting for the system's resolver longer than one wants to.
//
// getaddrinfo cannot be stopped, so a thread asks it, and is left behind when nobody waits for it
// any more; when kMostLeftBehind of them still do, further names are refused at once. An address
// that is written as a number needs no thread. Any thread.
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

inline constexpr int kMostLeftBehind = 16;

// Runs body(argument) on a thread that nobody joins. False: the system gave none; the resolver is
// then asked on the caller's.
using StartThread = bool (*)(void (*body)(void*), void* argument);

// `keep_waiting` is asked several times a second. kUnavailable: no such name, or not in time.
[[nodiscard]] Result<std::vector<SocketAddress>> LookUpName(
    const std::string& host, std::uint16_t port, const std::function<bool()>& keep_waiting,
    StartThread start);

}  // namespace wherefore
