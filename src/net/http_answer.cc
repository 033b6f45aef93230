// One HTTP/1.1 connection: request -> handler -> answer; http_session.cc has what comes before.
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include "base/memory_budget.h"
#include "net/http_session_impl.h"

namespace wherefore::net {
namespace {

constexpr int kLingerSeconds = 2;
// Larger bodies are handled by workers, as are compressed ones, which may expand a thousandfold.
constexpr std::size_t kLarge = 256u << 10;
constexpr std::size_t kLargePacked = 16u << 10;

// Reserves the memory for the body and its handling, or says why it cannot.
std::optional<Refusal> HoldToHandle(HttpRequest& request, const std::shared_ptr<ByteHold>& bytes) {
  if (!bytes || !request.body) return std::nullopt;
  if (!ByteHold::CanBeHandled(request.body->size())) {
    return TooLargeForMemory(request.body->size());
  }
  if (!bytes->ReachToHandle(request.body->size())) return Overloaded();
  request.body = HoldWhileUsed(std::move(request.body), bytes);
  return std::nullopt;
}

}  // namespace

void HttpSession::BeginAnswerWindow() {
  // Small answers are only checked from their second window on.
  const bool large = body_.size() > UnreadAnswers::kSmall;
  window_taken_ = large ? stream_->TakenBytes().value_or(0) : 0;
  SetDeadline(std::min(answer_deadline_,
                       Clock::now() + std::chrono::seconds(state_->options.answer_window_seconds)));
}

// A client that does not read holds memory for nothing. Progress is read from the kernel, because a
// write completes only when everything is sent, and room in the socket changes in large steps.
void HttpSession::OnWriteTimer() {
  const HttpServerOptions& o = state_->options;
  const auto taken = stream_->TakenBytes();
  const std::size_t least =
      o.least_answer_bytes_per_second * static_cast<std::size_t>(o.answer_window_seconds);
  if (Clock::now() >= answer_deadline_ || (taken && *taken - window_taken_ < least)) {
    stream_->DropUnsent();
    return Close();
  }
  BeginAnswerWindow();
}

// A small body is handled right here. A large one would delay everybody's I/O, so a worker unpacks
// and handles it.
void HttpSession::Dispatch() {
  WorkerPool* const workers = state_->options.large_bodies;
  const bool packed = !reader_.request().Header("Content-Encoding").empty();
  const bool large = workers != nullptr && reader_.body_bytes() > (packed ? kLargePacked : kLarge);
  if (!large) {
    if (auto refusal = reader_.FinishBody()) return Refuse(*refusal);
    if (auto refusal = HoldToHandle(reader_.request(), bytes_)) return Refuse(*refusal);
  }
  phase_ = Phase::kHandling;
  SetDeadline(kNever);
  state_->connections->MarkBusy(this);
  inline_response_.reset();
  link_ = std::make_shared<RequestLink>();
  auto responder = std::make_shared<Responder>(
      state_, link_,
      ResponseTraits{reader_.is_head(), AcceptsGzip(reader_.request().Header("Accept-Encoding"))},
      reader_.request());
  if (large) {
    if (!HandleOnWorker(*workers, std::move(responder))) return Refuse(Overloaded());
  } else {
    HandleHere(std::move(responder));
    if (inline_response_) return Write(*std::exchange(inline_response_, std::nullopt));
  }
  own_hold_ = Self();
  Read();  // notices if the client goes away
}

void HttpSession::HandleHere(std::shared_ptr<Responder> responder) {
  const std::shared_ptr<RequestLink> link = link_;
  {
    MutexLock lock(link->mutex);
    link->connection = this;
    link->inline_thread = std::this_thread::get_id();
  }
  CallHandler(*state_->router, std::move(reader_.request()), responder);
  responder.reset();  // answers 500 if the handler did not
  MutexLock lock(link->mutex);
  link->inline_thread = {};
}

// False if too many are waiting already.
bool HttpSession::HandleOnWorker(WorkerPool& workers, std::shared_ptr<Responder> responder) {
  struct Work {
    std::shared_ptr<HttpServerState> state;
    std::shared_ptr<ByteHold> bytes;
    std::string body;
    HttpRequest request;
    std::shared_ptr<Responder> responder;

    void Run() {
      try {
        Handle();
      } catch (const std::bad_alloc&) {
        responder->Refuse({503, ShortOfMemory()});
      }
    }
    void Handle() {
      std::optional<Refusal> refusal =
          Unpack(std::move(body), state->options.max_body_bytes, request);
      if (!refusal) refusal = HoldToHandle(request, bytes);
      if (refusal) return responder->Deliver(RefusalResponse(*state->router, request, *refusal));
      CallHandler(*state->router, std::move(request), responder);
    }
  };
  auto work = std::make_shared<Work>(Work{state_, bytes_, reader_.TakeBody(), {}, responder});
  work->request = std::move(reader_.request());
  {
    MutexLock lock(link_->mutex);
    link_->connection = this;
  }
  if (workers.Submit([work] { work->Run(); })) return true;
  reader_.request() = std::move(work->request);
  MutexLock lock(link_->mutex);
  link_->connection = nullptr;
  return false;
}

void HttpSession::TakePosted(PreparedResponse response) {
  if (phase_ == Phase::kHandling) Write(std::move(response));
}

void HttpSession::Refuse(const Refusal& refusal) {
  Write(PrepareResponse(RefusalResponse(*state_->router, reader_.request(), refusal),
                        {reader_.is_head(), false}));
}

void HttpSession::Write(PreparedResponse response) {
  phase_ = Phase::kWriting;
  // A small answer is sent at once, and its client may have it before we hear of it. So idle time
  // starts now.
  idle_since_answer_ = response.body.size() <= UnreadAnswers::kSmall;
  if (idle_since_answer_) {
    state_->connections->MarkIdle(this, false);
  } else {
    state_->connections->MarkBusy(this);
  }
  EndRequest();
  const std::shared_ptr<HttpSession> self = Self();
  own_hold_.reset();
  close_after_write_ =
      !reader_.done() || !reader_.keep_alive() || peer_ended_ || leaving_ || state_->draining;
  status_ = response.status;
  body_ = std::move(response.body);
  body_hold_ = std::move(response.hold);
  cancel_ = CancelToken();  // releases what the query held
  head_ = ResponseHead(response, close_after_write_, reader_.http11());
  // A client slower than 64 kB/s counts as not reading.
  answer_deadline_ = Clock::now() + std::chrono::seconds(state_->options.read_timeout_seconds +
                                                         static_cast<int>(body_.size() >> 16));
  BeginAnswerWindow();
  stream_->Write(head_, body_, [self](std::error_code error, std::size_t bytes) {
    self->OnWritten(error, bytes);
  });
}

void HttpSession::OnWritten(std::error_code error, std::size_t bytes) {
  state_->CountBytes(0, bytes);
  state_->CountAnswer(error ? 499 : status_);
  if (phase_ == Phase::kClosed) return;
  head_.clear();
  body_ = {};
  body_hold_.reset();
  if (error) return Close();
  if (close_after_write_ || leaving_) return Linger();
  BeginRequest();
  Process();
}

// Closing a socket with unread bytes resets the connection, and the peer may never see our answer.
void HttpSession::Linger() {
  phase_ = Phase::kLingering;
  SetDeadline(kLingerSeconds);
  const bool whole = reader_.done();
  stream_->ShutdownSend([self = Self(), whole](std::error_code error, std::size_t) {
    if (whole || error) self->Close();
  });
  if (whole || phase_ == Phase::kClosed) return;
  begin_ = end_ = 0;
  Read();
}

void HttpSession::Close() {
  if (phase_ == Phase::kClosed) return;
  if (phase_ == Phase::kHandling) state_->CountAnswer(499);
  phase_ = Phase::kClosed;
  cancel_.Cancel();
  EndRequest();
  stream_->Close();
  own_hold_.reset();
}

}  // namespace wherefore::net
