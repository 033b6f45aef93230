// For tests: delays name lookups. Names that end in ".slow" resolve only when the test lets them.
// Include it in one file of a test program; it replaces getaddrinfo.
#pragma once

#include <dlfcn.h>
#include <netdb.h>

#include <atomic>
#include <chrono>
#include <string_view>
#include <thread>

namespace wherefore {

// While locked, lookups of ".slow" names block, up to a limit. Not a timed_mutex, because the
// thread sanitizer does not understand its waits.
class SlowNames {
 public:
  void lock() { held_.store(true); }
  void unlock() { held_.store(false); }
  void Wait(std::chrono::seconds most) const {
    const auto until = std::chrono::steady_clock::now() + most;
    while (held_.load() && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

 private:
  std::atomic<bool> held_{false};
};
inline SlowNames slow_names;

}  // namespace wherefore

extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* hints,
                           addrinfo** found) {
  const bool numeric = hints != nullptr && (hints->ai_flags & AI_NUMERICHOST) != 0;
  if (!numeric && name != nullptr && std::string_view(name).ends_with(".slow")) {
    wherefore::slow_names.Wait(std::chrono::seconds(15));
    name = "127.0.0.1";
  }
  static auto* const real =
      reinterpret_cast<decltype(&getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));
  return real(name, service, hints, found);
}
