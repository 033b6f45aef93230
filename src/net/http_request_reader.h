// Parses a stream of bytes into HTTP/1.1 requests. Internal to src/net; no sockets here, so tests
// and the fuzzer feed it directly.
//
// Threads: belongs to one connection.
// Always:  a header is at most kMaxHeaderBytes, a body at most max_body_bytes, compressed or not.
//          The end of a body is unambiguous.
// Failure: Step::kRefused with the status to answer. The rest of the bytes is then meaningless, and
//          the request never becomes kDone.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/http.h"
#include "net/http_guard.h"

namespace wherefore::net {

inline constexpr std::uint32_t kMaxHeaderBytes = 32u << 10;

// Decompresses a body and stores it in its request. Any thread.
[[nodiscard]] std::optional<Refusal> Unpack(std::string body, std::size_t max_bytes,
                                            HttpRequest& request);

class RequestReader {
 public:
  enum class Step : std::uint8_t {
    kNeedMore,  // feed the unused bytes again, with more after them
    kHead,      // everything but the body is in request()
    kBody,      // more of the body has arrived
    kDone,      // the request is complete
    kRefused
  };

  explicit RequestReader(std::size_t max_body_bytes);
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;
  ~RequestReader();

  // Starts a new request.
  void Begin(std::string peer);
  // Parses some of `bytes` and sets `used`. kHead comes before kDone.
  Step Feed(std::string_view bytes, std::size_t& used);
  // Call one of these once after kDone: the first moves the decompressed body into request(), the
  // other returns it as it arrived.
  [[nodiscard]] std::optional<Refusal> FinishBody() {
    return Unpack(TakeBody(), max_body_bytes_, request_);
  }
  [[nodiscard]] std::string TakeBody();
  // Frees what has arrived of the body.
  void DropBody() { static_cast<void>(TakeBody()); }

  [[nodiscard]] HttpRequest& request() { return request_; }
  [[nodiscard]] const Refusal& refusal() const { return *refusal_; }
  [[nodiscard]] bool is_head() const { return is_head_; }  // method is HEAD
  [[nodiscard]] bool done() const;
  [[nodiscard]] bool keep_alive() const;
  [[nodiscard]] bool http11() const;
  [[nodiscard]] bool expects_continue() const;
  [[nodiscard]] std::size_t announced_bytes() const;  // Content-Length; 0 if none
  [[nodiscard]] std::size_t body_bytes() const;       // arrived so far

 private:
  struct Impl;  // Beast's parser
  Step Refuse(int status, Error error);
  Step OnHead();
  Result<> ReadHead();

  const std::size_t max_body_bytes_;
  std::unique_ptr<Impl> impl_;
  HttpRequest request_;
  std::optional<Refusal> refusal_;
  bool head_done_ = false;
  bool is_head_ = false;
};

}  // namespace wherefore::net
