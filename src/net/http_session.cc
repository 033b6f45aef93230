// One HTTP/1.1 connection: bytes -> request -> handler -> response, again and again.
//
// Everything runs on the stream's strand. Exactly one of these is in progress at a time: reading a
// request, waiting for the handler, writing the answer, closing. While the handler works, the next
// read is already outstanding, because that is how we notice that a client went away; what it reads
// belongs to the next request.
#include "net/http_session.h"

#include <cstring>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/memory_budget.h"
#include "base/text.h"
#include "net/http_guard.h"
#include "net/http_request_reader.h"
#include "net/http_responder.h"
#include "net/http_response.h"
#include "net/worker_pool.h"

namespace wherefore::net {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kBufferBytes = 64u << 10;
constexpr int kLingerSeconds = 2;
constexpr Clock::time_point kNever = Clock::time_point::max();
// When memory is short, bodies without progress for this long are dropped first.
constexpr std::chrono::seconds kStalled{2};
// Larger bodies are handled by workers, as are compressed ones, which may expand a thousandfold.
constexpr std::size_t kLarge = 256u << 10;
constexpr std::size_t kLargePacked = 16u << 10;

Refusal Overloaded() {
  return {429, Error(Code::kLimit, "too many bytes of requests are being handled; try again")};
}

Refusal TooLargeForMemory(std::size_t bytes) {
  return {413,
          Error(Code::kLimit,
                fmt::format("a body of {} bytes needs about {} of memory, more than this "
                            "server has for requests (serve --memory); send less at once",
                            bytes,
                            FormatBytes(static_cast<std::int64_t>(bytes * kMemoryPerBodyByte))))};
}

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

class Session final : public HttpConnection {
 public:
  Session(std::shared_ptr<HttpServerState> state, std::unique_ptr<Stream> stream)
      : state_(std::move(state)),
        stream_(std::move(stream)),
        reader_(state_->options.max_body_bytes),
        buffer_(std::make_unique_for_overwrite<char[]>(kBufferBytes)) {
    state_->Register(this);
  }
  ~Session() override {
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
  enum class Phase : std::uint8_t {
    kHandshake,
    kReading,
    kContinuing,  // writing "100 Continue"
    kHandling,
    kWriting,
    kLingering,  // the last answer is sent; unread bytes are discarded so that it arrives
    kClosed
  };

  std::shared_ptr<Session> Self() { return std::static_pointer_cast<Session>(shared_from_this()); }
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
  Clock::time_point request_deadline_ = kNever;
  std::size_t window_bytes_ = 0;     // of the body, at the start of the window
  std::shared_ptr<ByteHold> bytes_;  // of the body; null before its first byte
  std::shared_ptr<RequestLink> link_;
  std::shared_ptr<Session> own_hold_;  // set while only the handler will wake us
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

void Session::Start() {
  if (state_->draining) return Close();  // accepted while the server stops
  const auto admission = state_->connections->Enter(this);
  if (admission == ConnectionLimit::Admission::kRejected) return Close();
  const bool in = admission == ConnectionLimit::Admission::kIn;
  SetDeadline(state_->options.read_timeout_seconds);
  state_->connections->MarkIdle(this, false);
  stream_->Handshake([self = Self(), in](std::error_code error, std::size_t) {
    if (self->phase_ != Phase::kHandshake) return;
    if (error) return self->Close();
    self->BeginRequest();
    if (in) return self->Process();
    self->Refuse({503, Error(Code::kUnavailable,
                             "all connections are in use; try again (serve --max-connections)")});
  });
}

// Resets the timer only if a deadline moves closer: most requests never need that.
void Session::SetDeadline(Clock::time_point deadline) {
  deadline_ = deadline;
  if (deadline >= timer_at_) return;
  timer_at_ = deadline;
  stream_->SetTimer(deadline, [weak = weak_from_this()] {
    if (auto self = std::static_pointer_cast<Session>(weak.lock())) self->OnTimer();
  });
}

void Session::OnTimer() {
  timer_at_ = kNever;
  if (Clock::now() < deadline_) {
    if (deadline_ != kNever) SetDeadline(deadline_);
    return;
  }
  if (phase_ == Phase::kReading && request_begun_) {
    OnReadTimer();
  } else if (phase_ == Phase::kWriting) {
    OnWriteTimer();
  } else if (phase_ != Phase::kClosed) {
    Close();
  }
}

void Session::OnReadTimer() {
  const HttpServerOptions& o = state_->options;
  if (Clock::now() >= request_deadline_) {
    return Refuse({408, Error(Code::kUnavailable, fmt::format("the request did not arrive within "
                                                              "{} s",
                                                              o.read_timeout_seconds))});
  }
  if (BodyArrives()) return BeginBodyWindow();
  Refuse({408, Error(Code::kUnavailable,
                     fmt::format("the body arrives too slowly: {} bytes within {} s",
                                 reader_.body_bytes() - window_bytes_, o.body_window_seconds))});
}

void Session::BeginBodyWindow() {
  window_bytes_ = reader_.body_bytes();
  SetDeadline(std::min(request_deadline_,
                       Clock::now() + std::chrono::seconds(state_->options.body_window_seconds)));
}

// A steady sender that will finish in time always passes; a stalled one holds memory for nothing.
bool Session::BodyArrives() const {
  if (!head_read_) return true;
  const HttpServerOptions& o = state_->options;
  const auto window = static_cast<std::size_t>(o.body_window_seconds);
  const auto whole = static_cast<std::size_t>(o.read_timeout_seconds);
  return reader_.body_bytes() - window_bytes_ >=
         std::max(o.least_body_bytes_per_second * window, window_bytes_ / whole * window);
}

void Session::BeginAnswerWindow() {
  // Small answers are only checked from their second window on.
  const bool large = body_.size() > UnreadAnswers::kSmall;
  window_taken_ = large ? stream_->TakenBytes().value_or(0) : 0;
  SetDeadline(std::min(answer_deadline_,
                       Clock::now() + std::chrono::seconds(state_->options.answer_window_seconds)));
}

// A client that does not read holds memory for nothing. Progress is read from the kernel, because a
// write completes only when everything is sent, and room in the socket changes in large steps.
void Session::OnWriteTimer() {
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

void Session::BeginRequest() {
  phase_ = Phase::kReading;
  reader_.Begin(stream_->Peer());
  request_begun_ = false;
  head_read_ = false;
  request_deadline_ = kNever;
  cancel_ = reader_.request().cancel;
  SetDeadline(state_->options.idle_timeout_seconds);
}

void Session::EndRequest() {
  if (link_) {
    MutexLock lock(link_->mutex);
    link_->connection = nullptr;
  }
  link_.reset();
  bytes_.reset();
}

void Session::Read() {
  if (read_pending_ || peer_ended_ || phase_ == Phase::kClosed) return;
  if (end_ - begin_ == kBufferBytes) return;
  // A header is parsed in one piece, so move the rest of it to the front.
  if (begin_ > 0) std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  read_pending_ = true;
  stream_->Read(
      {buffer_.get() + end_, kBufferBytes - end_},
      [self = Self()](std::error_code error, std::size_t bytes) { self->OnRead(error, bytes); });
}

void Session::OnRead(std::error_code error, std::size_t bytes) {
  read_pending_ = false;
  if (phase_ == Phase::kClosed) return;
  state_->CountBytes(bytes, 0);
  if (phase_ == Phase::kLingering) {
    if (error) return Close();
    end_ = begin_ = 0;  // not parsed any more
    return Read();
  }
  if (error) {
    peer_ended_ = true;
    // A client may close its sending side and still wait; it gets its answer if the handler gives
    // one.
    if (phase_ == Phase::kHandling) cancel_.Cancel();
    if (phase_ == Phase::kReading) Close();
    return;
  }
  end_ += bytes;
  if (phase_ == Phase::kReading) Process();
}

// Reads the rest of a request whose first bytes have arrived.
void Session::ReadMore() {
  if (peer_ended_) return Close();
  if (request_begun_ && request_deadline_ == kNever) {
    request_deadline_ = Clock::now() + std::chrono::seconds(state_->options.read_timeout_seconds);
    BeginBodyWindow();
  }
  if (request_begun_ || !idle_since_answer_) state_->connections->MarkIdle(this, bytes_ != nullptr);
  Read();
}

void Session::Process() {
  try {
    ProcessBuffered();
  } catch (const std::bad_alloc&) {
    OnShortOfMemory();
  }
}

// A body that does not fit costs its request, and the connection if the rest of it is still coming.
void Session::OnShortOfMemory() {
  if (phase_ != Phase::kReading && phase_ != Phase::kHandling) return Close();
  reader_.DropBody();
  Refuse({503, ShortOfMemory()});
}

// Parses buffered bytes until the request is complete, refused, or needs more bytes.
void Session::ProcessBuffered() {
  using Step = RequestReader::Step;
  while (phase_ == Phase::kReading) {
    if (begin_ == end_ && !reader_.done()) return ReadMore();
    request_begun_ = true;
    std::size_t used = 0;
    const Step step = reader_.Feed({buffer_.get() + begin_, end_ - begin_}, used);
    begin_ += used;
    switch (step) {
      case Step::kNeedMore:
        if (begin_ == 0 && end_ == kBufferBytes) {
          return Refuse({400, Error(Code::kInvalid, "a chunk header is too long")});
        }
        return ReadMore();
      case Step::kRefused:
        return Refuse(reader_.refusal());
      case Step::kHead:
        if (!OnHead()) return;
        break;
      case Step::kBody:
        if (!ReserveBody(reader_.body_bytes())) return;
        break;
      case Step::kDone:
        if (ReserveBody(reader_.body_bytes())) Dispatch();
        return;
    }
  }
}

// Decides before the body is read whether we want it. False: refused, or "100 Continue" is being
// written.
bool Session::OnHead() {
  head_read_ = true;
  if (auto refusal = CheckHead(reader_.request(), state_->options, stream_->OnLoopback())) {
    Refuse(*refusal);
    return false;
  }
  if (!ByteHold::CanBeHandled(reader_.announced_bytes())) {
    Refuse(TooLargeForMemory(reader_.announced_bytes()));
    return false;
  }
  // Only bytes that have arrived are counted: a sender that announces much and sends nothing blocks
  // nobody.
  if (!state_->inflight->HasRoom(reader_.announced_bytes())) {
    state_->connections->DropStalledBodies(kStalled);
    Refuse(Overloaded());
    return false;
  }
  if (reader_.done() || !reader_.expects_continue() || begin_ != end_) return true;
  static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  phase_ = Phase::kContinuing;
  stream_->Write(kContinue, {}, [self = Self()](std::error_code error, std::size_t) {
    if (self->phase_ != Phase::kContinuing) return;
    if (error) return self->Close();
    self->phase_ = Phase::kReading;
    self->Process();
  });
  return false;
}

// Counts `bytes` for this request.
bool Session::ReserveBody(std::size_t bytes) {
  if (bytes == 0) return true;
  if (!bytes_) bytes_ = std::make_shared<ByteHold>(state_->inflight);
  if (bytes_->Reach(bytes)) return true;
  state_->connections->DropStalledBodies(kStalled);
  Refuse(Overloaded());
  return false;
}

// A small body is handled right here. A large one would delay everybody's I/O, so a worker unpacks
// and handles it.
void Session::Dispatch() {
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

void Session::HandleHere(std::shared_ptr<Responder> responder) {
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
bool Session::HandleOnWorker(WorkerPool& workers, std::shared_ptr<Responder> responder) {
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

void Session::TakePosted(PreparedResponse response) {
  if (phase_ == Phase::kHandling) Write(std::move(response));
}

void Session::Refuse(const Refusal& refusal) {
  Write(PrepareResponse(RefusalResponse(*state_->router, reader_.request(), refusal),
                        {reader_.is_head(), false}));
}

void Session::Write(PreparedResponse response) {
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
  const std::shared_ptr<Session> self = Self();
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

void Session::OnWritten(std::error_code error, std::size_t bytes) {
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
void Session::Linger() {
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

void Session::Close() {
  if (phase_ == Phase::kClosed) return;
  if (phase_ == Phase::kHandling) state_->CountAnswer(499);
  phase_ = Phase::kClosed;
  cancel_.Cancel();
  EndRequest();
  stream_->Close();
  own_hold_.reset();
}

}  // namespace

void StartHttpSession(std::shared_ptr<HttpServerState> state, std::unique_ptr<Stream> stream) {
  std::make_shared<Session>(std::move(state), std::move(stream))->Start();
}

}  // namespace wherefore::net
