// TLS by the system's libssl, loaded only when somebody exports to https.
//
// dlopen with RTLD_LOCAL: the host program may have another TLS library, or none. The session never
// touches the socket: bytes go through two memory buffers and the caller moves them, with its own
// deadlines and without SIGPIPE. One thread at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace wherefore::sdk {

// What a step of the session needs before it can go on.
enum class TlsNeed : std::uint8_t { kNothing, kMoreInput, kClosed };

class TlsSession {
 public:
  // Loads libssl and sees to it that `before_the_end` runs at exit before OpenSSL takes itself
  // down: afterwards nothing can be sent, and a session that is still in use reads freed memory.
  // Once per process; later calls do nothing.
  static void Prepare(void (*before_the_end)());

  // Verifies the server's certificate for `host` (a name or an address) against `ca_file`, or the
  // system's certificates when that is empty. kUnsupported when there is no libssl.
  [[nodiscard]] static Result<std::unique_ptr<TlsSession>> Open(const std::string& host,
                                                                const std::string& ca_file);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  [[nodiscard]] Result<TlsNeed> Handshake();
  // All of `plain` or an error; what comes out waits in TakeOutput.
  [[nodiscard]] Result<> Write(std::string_view plain);
  // Appends what can be decrypted so far.
  [[nodiscard]] Result<TlsNeed> Read(std::string& plain);

  void AddInput(std::string_view from_socket);
  [[nodiscard]] std::string TakeOutput();  // for the socket

 private:
  struct State;
  explicit TlsSession(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace wherefore::sdk
