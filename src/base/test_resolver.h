// For tests: names that end in ".slow" are not answered until they may be. Included by one file of
// a test program, whose getaddrinfo then is this one.
#pragma once

#include <dlfcn.h>
#include <netdb.h>

#include <chrono>
#include <cstring>
#include <mutex>
#include <string_view>

namespace wherefore {

// While locked, names that end in ".slow" wait; for as long as no test has to.
inline std::timed_mutex slow_names;

}  // namespace wherefore

extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* hints,
                           addrinfo** found) {
  const bool numeric = hints != nullptr && (hints->ai_flags & AI_NUMERICHOST) != 0;
  if (!numeric && name != nullptr && std::string_view(name).ends_with(".slow")) {
    const std::unique_lock wait(wherefore::slow_names, std::chrono::seconds(15));
    name = "127.0.0.1";
  }
  static auto* const real =
      reinterpret_cast<decltype(&getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));
  return real(name, service, hints, found);
}
