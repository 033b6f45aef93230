// One accepted connection and the sockets it comes from, without a word of Asio: what
// http_session.cc needs of TCP and TLS. Internal to src/net.
//
// Threads: everything of a Stream runs on its strand (callbacks included), except Post, which any
// thread
//          may call. A callback keeps its owner alive by what it captures.
// Failure: by error_code; after Close() outstanding callbacks come with one.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/result.h"
#include "net/http.h"

namespace wherefore::net {

class Stream {
 public:
  using Done = std::function<void(std::error_code, std::size_t)>;
  using TimePoint = std::chrono::steady_clock::time_point;

  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;

  // TLS; plain streams answer at once.
  virtual void Handshake(Done done) = 0;
  // At least one byte, or an error (end of file is one). One read and one write at a time.
  virtual void Read(std::span<char> into, Done done) = 0;
  // Both texts whole; they stay where they are until `done`.
  virtual void Write(std::string_view head, std::string_view body, Done done) = 0;
  // Tells the peer that nothing more comes; reading goes on.
  virtual void ShutdownSend(Done done) = 0;
  virtual void Close() = 0;
  // Before Close: what the peer has not taken by then is not kept for it.
  virtual void DropUnsent() = 0;

  virtual void Post(std::function<void()> work) = 0;
  // One timer; setting it anew or closing drops the callback before.
  virtual void SetTimer(TimePoint when, std::function<void()> expired) = 0;

  // Bytes the peer's system has taken so far, of whatever was written; none where nobody counts.
  [[nodiscard]] virtual std::optional<std::uint64_t> TakenBytes() = 0;
  [[nodiscard]] virtual std::string Peer() const = 0;
  // The local end: 127.0.0.0/8 or ::1.
  [[nodiscard]] virtual bool OnLoopback() const = 0;
};

struct ListenOptions {
  std::vector<std::string> addresses;
  std::uint16_t port = 0;
  std::string tls_certificate_file;
  std::string tls_key_file;
};

// The listening sockets of one server, all on one port.
class Listener {
 public:
  using Accept = std::function<void(std::unique_ptr<Stream>)>;

  // Binds. The error names the port and how to find who holds it.
  static Result<std::unique_ptr<Listener>> Open(IoThreads& io, const ListenOptions& options);
  virtual ~Listener() = default;
  // Calls `accept` on the new stream's strand for every connection.
  virtual void Start(Accept accept) = 0;
  // The same for who does its own reading and writing: it gets the socket itself, which does not
  // block.
  virtual void StartDescriptors(std::function<void(int fd)> accept) = 0;
  [[nodiscard]] virtual std::uint16_t port() const = 0;
  // Not from an I/O thread: when it returns the sockets are closed and `accept` is not called any
  // more.
  virtual void Close() = 0;
};

}  // namespace wherefore::net
