// SelfProfile: libwherefore inside the server itself (`serve --profile-self`), so that the flame
// graph of the server is one click away in its own page, as service `wherefore`.
//
// The library is opened at run time and sees CPU time and waiting; locks and allocations it sees
// only when it is preloaded (`wherefore run -- wherefore serve`). It sends one request in ten
// seconds, which is all the server sees of itself: there is no feedback.
//
// Threads: the one that starts and stops the server. Stop() sends the last samples, so the server
// must still be receiving then. Failure to start is an error with the reason; nothing else happens.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace wherefore::cli {

class SelfProfile {
 public:
  SelfProfile() = default;
  SelfProfile(const SelfProfile&) = delete;
  SelfProfile& operator=(const SelfProfile&) = delete;
  ~SelfProfile() { Stop(); }

  // `port`: of our own OTLP/HTTP on 127.0.0.1, in plain text. `token` may be empty.
  [[nodiscard]] Result<> Start(std::uint16_t port, const std::string& token);
  void Stop();

 private:
  int (*stop_)() = nullptr;  // null: not running
};

}  // namespace wherefore::cli
