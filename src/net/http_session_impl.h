// One HTTP/1.1 connection, for the files that implement it: http_session.cc (from its start to a
// whole request) and http_answer.cc (from the handler to the last byte of the answer).
//
// Everything runs on the stream's strand. Exactly one of these is in progress at a time: reading a
// request, waiting for the handler, writing the answer, closing. While the handler works, the next
// read is already outstanding, because that is how we notice that a client went away; what it reads
// belongs to the next request.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "net/http_request_reader.h"
#include "net/http_responder.h"
#include "net/http_response.h"
#include "net/http_session.h"
#include "net/worker_pool.h"

namespace wherefore::net {

// Refusals that both files give.
[[nodiscard]] Refusal Overloaded();
[[nodiscard]] Refusal TooLargeForMemory(std::size_t bytes);

class HttpSession final : public HttpConnection {
 public:
  HttpSession(std::shared_ptr<HttpServerState> state, std::unique_ptr<Stream> stream)
      : state_(std::move(state)),
        stream_(std::move(stream)),
        reader_(state_->options.max_body_bytes),
        buffer_(std::make_unique_for_overwrite<char[]>(kBufferBytes)),
        may_be_grpc_(state_->options.grpc != nullptr) {
    state_->Register(this);
  }
  ~HttpSession() override {
    EndRequest();
    state_->connections->Leave(this);
    state_->Unregister(this);
  }

  void Start();
  void Post(std::function<void()> work) override { stream_->Post(std::move(work)); }
  void Drain() override {
    if (phase_ == Phase::kReading && !request_begun_) Close();
    if (phase_ == Phase::kHandshake) Close();
  }
  void Abort() override { Close(); }
  void MakeRoom() override {
    leaving_ = true;
    if (phase_ != Phase::kHandling && phase_ != Phase::kWriting) Close();
  }
  void GiveUpBody() override {
    if (phase_ == Phase::kReading && bytes_) Refuse(Overloaded());
  }

  void TakeInline(PreparedResponse response) override { inline_response_ = std::move(response); }
  void TakePosted(PreparedResponse response) override;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::time_point kNever = Clock::time_point::max();
  static constexpr std::size_t kBufferBytes = 64u << 10;

  enum class Phase : std::uint8_t {
    kHandshake,
    kReading,
    kContinuing,  // writing "100 Continue"
    kHandling,
    kWriting,
    kLingering,  // the last answer is sent; unread bytes are discarded so that it arrives
    kClosed
  };

  std::shared_ptr<HttpSession> Self() {
    return std::static_pointer_cast<HttpSession>(shared_from_this());
  }
  void SetDeadline(Clock::time_point deadline);
  void SetDeadline(int seconds) { SetDeadline(Clock::now() + std::chrono::seconds(seconds)); }
  void OnTimer();
  void OnReadTimer();
  void OnWriteTimer();
  void BeginAnswerWindow();
  void BeginBodyWindow();
  [[nodiscard]] bool BodyArrives() const;

  void BeginRequest();
  void EndRequest();
  void Read();
  void ReadMore();
  void OnRead(std::error_code error, std::size_t bytes);
  void Process();
  void ProcessBuffered();
  bool PassToGrpc();
  void OnShortOfMemory();
  bool OnHead();
  bool ReserveBody(std::size_t bytes);
  void Dispatch();
  void HandleHere(std::shared_ptr<Responder> responder);
  bool HandleOnWorker(WorkerPool& workers, std::shared_ptr<Responder> responder);

  void Refuse(const Refusal& refusal);
  void Write(PreparedResponse response);
  void OnWritten(std::error_code error, std::size_t bytes);
  void Linger();
  void Close();

  const std::shared_ptr<HttpServerState> state_;
  const std::unique_ptr<Stream> stream_;
  RequestReader reader_;
  Phase phase_ = Phase::kHandshake;

  std::unique_ptr<char[]> buffer_;
  std::size_t begin_ = 0;  // bytes [begin_, end_) are read but not parsed yet
  std::size_t end_ = 0;
  bool read_pending_ = false;
  bool peer_ended_ = false;

  bool request_begun_ = false;  // its first byte has arrived
  bool head_read_ = false;
  bool may_be_grpc_ = false;  // nothing speaks against it so far
  Clock::time_point request_deadline_ = kNever;
  std::size_t window_bytes_ = 0;     // of the body, at the start of the window
  std::shared_ptr<ByteHold> bytes_;  // of the body; null before its first byte
  std::shared_ptr<RequestLink> link_;
  std::shared_ptr<HttpSession> own_hold_;  // set while only the handler will wake us
  CancelToken cancel_;
  std::optional<PreparedResponse> inline_response_;

  std::string head_;
  std::string body_;
  std::shared_ptr<const void> body_hold_;
  Clock::time_point answer_deadline_ = kNever;
  std::uint64_t window_taken_ = 0;  // read by the peer, at the start of the window
  int status_ = 0;
  bool close_after_write_ = false;
  bool leaving_ = false;  // close after the next answer
  bool idle_since_answer_ = false;

  Clock::time_point deadline_ = kNever;
  Clock::time_point timer_at_ = kNever;
};

}  // namespace wherefore::net
