// One accepted connection and the listening sockets, without Asio types: what http_session.cc and
// grpc.cc need of TCP and TLS. Internal to src/net.
//
// Threads: all functions of a Stream except Post run on its strand, callbacks included; Post may be
//          called from any thread. A callback keeps its owner alive by what it captures.
// Failure: by error_code. After Close() outstanding callbacks run with an error.
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

  // The TLS handshake; plain streams complete immediately.
  virtual void Handshake(Done done) = 0;
  // Reads at least one byte, or fails (end of file is an error). One read and one write at a time.
  virtual void Read(std::span<char> into, Done done) = 0;
  // Writes both texts completely; they must stay valid until `done`.
  virtual void Write(std::string_view head, std::string_view body, Done done) = 0;
  // Tells the peer that nothing more comes; reading goes on.
  virtual void ShutdownSend(Done done) = 0;
  virtual void Close() = 0;
  // Call before Close: discards what the peer has not received yet.
  virtual void DropUnsent() = 0;
  // Gives the socket away, non-blocking; instead of Close, while nothing is being read or written.
  // -1: not possible (TLS).
  virtual int Release() = 0;

  virtual void Post(std::function<void()> work) = 0;
  // There is one timer; setting it again or closing drops the previous callback.
  virtual void SetTimer(TimePoint when, std::function<void()> expired) = 0;

  // Bytes the peer has acknowledged so far; none if the kernel does not count them.
  [[nodiscard]] virtual std::optional<std::uint64_t> TakenBytes() = 0;
  [[nodiscard]] virtual std::string Peer() const = 0;
  // Whether the local address is 127.0.0.0/8 or ::1.
  [[nodiscard]] virtual bool OnLoopback() const = 0;
};

struct ListenOptions {
  std::vector<std::string> addresses;
  std::uint16_t port = 0;
  std::string tls_certificate_file;
  std::string tls_key_file;
  std::string tls_client_ca_file;  // set: clients must show a certificate of one of these
};

// The listening sockets of one server, all on one port.
class Listener {
 public:
  using Accept = std::function<void(std::unique_ptr<Stream>)>;

  // Binds. The error names the port and how to find the program that uses it.
  static Result<std::unique_ptr<Listener>> Open(IoThreads& io, const ListenOptions& options);
  virtual ~Listener() = default;
  // Calls `accept` on the new stream's strand for every connection.
  virtual void Start(Accept accept) = 0;
  // The same for a caller that does its own I/O (gRPC): it gets the non-blocking socket.
  virtual void StartDescriptors(std::function<void(int fd)> accept) = 0;
  [[nodiscard]] virtual std::uint16_t port() const = 0;
  // Not from an I/O thread. When it returns, the sockets are closed and `accept` is not called any
  // more.
  virtual void Close() = 0;
};

}  // namespace wherefore::net
