// What the connections of one HTTP server share, and how to start one. Internal to src/net.
//
// Threads: HttpServerState is used by all I/O threads and by those on which handlers answer.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_set>

#include "base/metrics.h"
#include "base/mutex.h"
#include "net/connection_limit.h"
#include "net/http.h"
#include "net/http_response.h"
#include "net/inflight_bytes.h"
#include "net/stream.h"
#include "net/unread_answers.h"

namespace wherefore::net {

// A running connection as others see it. Everything except Post runs on its strand.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection() = default;
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;
  virtual ~HttpConnection() = default;
  virtual void Post(std::function<void()> work) = 0;
  virtual void Drain() = 0;       // close after the running request, or now if there is none
  virtual void Abort() = 0;       // close now; the running request is cancelled
  virtual void MakeRoom() = 0;    // close now, or after the answer if a handler is running
  virtual void GiveUpBody() = 0;  // drop the partial body, to free its memory
  // An answer: given while the handler is being called, or posted later.
  virtual void TakeInline(PreparedResponse response) = 0;
  virtual void TakePosted(PreparedResponse response) = 0;
};

class HttpServerState {
 public:
  HttpServerState(HttpServerOptions server_options, std::shared_ptr<const Router> server_router);

  HttpServerOptions options;
  const std::shared_ptr<const Router> router;
  const std::shared_ptr<ConnectionLimit> connections;  // never null
  const std::shared_ptr<InflightBytes> inflight;
  const std::shared_ptr<UnreadAnswers> unread_answers;  // never null
  std::atomic<bool> draining{false};

  void SetPort(std::uint16_t port);
  void CountAnswer(int status);
  void CountBytes(std::size_t received, std::size_t sent);

  void Register(HttpConnection* connection);
  void Unregister(HttpConnection* connection);
  // Posts `work` to every connection.
  void ForEach(void (HttpConnection::*work)());
  // True if all connections ended before `deadline`.
  bool WaitForEnd(std::chrono::steady_clock::time_point deadline);

 private:
  std::string port_label_;
  std::array<std::atomic<Counter*>, 600> answers_{};  // by status; each looked up once
  Counter* received_ = nullptr;
  Counter* sent_ = nullptr;
  Mutex mutex_;
  CondVar changed_;
  std::unordered_set<HttpConnection*> connections_ GUARDED_BY(mutex_);
};

// Serves the connection until it ends; it keeps itself alive. Call on the stream's strand.
void StartHttpSession(std::shared_ptr<HttpServerState> state, std::unique_ptr<Stream> stream);

}  // namespace wherefore::net
