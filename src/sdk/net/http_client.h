// HttpClient: HTTP/1.1 requests to one place, one at a time, over a connection that is kept.
//
// Blocking, but never beyond the deadline, which another thread may bring forward; the system's
// resolver is asked by a thread of its own, which is left behind then. Never raises SIGPIPE, never
// leaves a descriptor open over exec. Belongs to one thread; SetDeadline from any, CloseInChild
// after a fork. When the host closes our connection, the next request opens another.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sdk/config/endpoint.h"
#include "sdk/config/options.h"
#include "sdk/net/own_socket.h"
#include "sdk/net/tls.h"

namespace wherefore::sdk {

struct HttpAnswer {
  int status = 0;
  TextPairs headers;  // names in lower case
  std::string body;

  // Empty when there is none.
  [[nodiscard]] std::string_view Header(std::string_view name) const;
};

class HttpClient {
 public:
  HttpClient(Url url, std::string ca_file) : url_(std::move(url)), ca_file_(std::move(ca_file)) {}
  ~HttpClient() { Close(); }
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  [[nodiscard]] bool tls() const { return url_.tls; }
  // Monotonic. Holds for the request in progress too, within a tenth of a second.
  void SetDeadline(std::int64_t deadline_ns) { deadline_ns_.store(deadline_ns); }
  // kIo or kUnavailable when there was no answer; any status is an answer. A connection the server
  // has closed meanwhile is opened again, once.
  [[nodiscard]] Result<HttpAnswer> Post(const TextPairs& headers, std::string_view body);
  // The last Post was answered, but not in HTTP/1.
  [[nodiscard]] bool other_protocol() const { return other_protocol_; }
  void Close();
  // A forked child closes its copy of the socket; the rest is in no known state.
  void CloseInChild() { socket_.Close(); }

 private:
  [[nodiscard]] Result<HttpAnswer> Try(std::string_view head, std::string_view body,
                                       bool& answered);
  [[nodiscard]] Result<> Connect();
  [[nodiscard]] Result<> StartTls();
  [[nodiscard]] Result<> WriteAll(std::string_view plain);
  [[nodiscard]] Result<> SendRaw(std::string_view bytes);
  // Appends some bytes to `to`; false at the end of the stream.
  [[nodiscard]] Result<bool> ReadSome(std::string& to);
  [[nodiscard]] Result<bool> ReceiveRaw(std::string& to);

  const Url url_;
  const std::string ca_file_;
  OwnSocket socket_;
  std::atomic<std::int64_t> deadline_ns_{0};
  std::unique_ptr<TlsSession> tls_;
  bool other_protocol_ = false;
};

// Decodes an answer piece by piece (exposed for tests).
class AnswerReader {
 public:
  // True when the answer is complete. kCorrupt for what is no HTTP; kLimit above 4 MiB.
  [[nodiscard]] Result<bool> Add(std::string_view bytes);
  // The server closed the connection: the answer is complete only if it did not state its length.
  [[nodiscard]] Result<bool> End();
  [[nodiscard]] HttpAnswer& answer() { return answer_; }
  [[nodiscard]] bool started() const { return started_; }
  // It failed because this is not HTTP/1 at all.
  [[nodiscard]] bool other_protocol() const { return other_protocol_; }
  [[nodiscard]] bool keep_alive() const { return keep_alive_; }

 private:
  [[nodiscard]] Error OtherProtocol(std::string text);
  [[nodiscard]] Result<bool> Step();
  [[nodiscard]] Result<bool> ReadHead();
  [[nodiscard]] Result<bool> ReadChunks();

  enum class Body : std::uint8_t { kHead, kLength, kChunks, kUntilClose };
  HttpAnswer answer_;
  std::string buffer_;
  Body body_ = Body::kHead;
  std::size_t length_ = 0;
  bool started_ = false;
  bool other_protocol_ = false;
  bool keep_alive_ = true;
};

}  // namespace wherefore::sdk
