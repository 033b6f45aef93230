// One HTTP/1.1 connection: bytes -> request; http_answer.cc has what follows.
#include "net/http_session.h"

#include <cstring>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "base/memory_budget.h"
#include "base/text.h"
#include "net/grpc.h"
#include "net/http_guard.h"
#include "net/http_session_impl.h"

namespace wherefore::net {
namespace {

// When memory is short, bodies without progress for this long are dropped first.
constexpr std::chrono::seconds kStalled{2};

}  // namespace

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

void HttpSession::Start() {
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
void HttpSession::SetDeadline(Clock::time_point deadline) {
  deadline_ = deadline;
  if (deadline >= timer_at_) return;
  timer_at_ = deadline;
  stream_->SetTimer(deadline, [weak = weak_from_this()] {
    if (auto self = std::static_pointer_cast<HttpSession>(weak.lock())) self->OnTimer();
  });
}

void HttpSession::OnTimer() {
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

void HttpSession::OnReadTimer() {
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

void HttpSession::BeginBodyWindow() {
  window_bytes_ = reader_.body_bytes();
  SetDeadline(std::min(request_deadline_,
                       Clock::now() + std::chrono::seconds(state_->options.body_window_seconds)));
}

// A steady sender that will finish in time always passes; a stalled one holds memory for nothing.
bool HttpSession::BodyArrives() const {
  if (!head_read_) return true;
  const HttpServerOptions& o = state_->options;
  const auto window = static_cast<std::size_t>(o.body_window_seconds);
  const auto whole = static_cast<std::size_t>(o.read_timeout_seconds);
  return reader_.body_bytes() - window_bytes_ >=
         std::max(o.least_body_bytes_per_second * window, window_bytes_ / whole * window);
}

void HttpSession::BeginRequest() {
  phase_ = Phase::kReading;
  reader_.Begin(stream_->Peer());
  request_begun_ = false;
  head_read_ = false;
  request_deadline_ = kNever;
  cancel_ = reader_.request().cancel;
  SetDeadline(state_->options.idle_timeout_seconds);
}

void HttpSession::EndRequest() {
  if (link_) {
    MutexLock lock(link_->mutex);
    link_->connection = nullptr;
  }
  link_.reset();
  bytes_.reset();
}

void HttpSession::Read() {
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

void HttpSession::OnRead(std::error_code error, std::size_t bytes) {
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
void HttpSession::ReadMore() {
  if (peer_ended_) return Close();
  if (request_begun_ && request_deadline_ == kNever) {
    request_deadline_ = Clock::now() + std::chrono::seconds(state_->options.read_timeout_seconds);
    BeginBodyWindow();
  }
  if (request_begun_ || !idle_since_answer_) state_->connections->MarkIdle(this, bytes_ != nullptr);
  Read();
}

void HttpSession::Process() {
  try {
    ProcessBuffered();
  } catch (const std::bad_alloc&) {
    OnShortOfMemory();
  }
}

// A body that does not fit costs its request, and the connection if the rest of it is still coming.
void HttpSession::OnShortOfMemory() {
  if (phase_ != Phase::kReading && phase_ != Phase::kHandling) return Close();
  reader_.DropBody();
  Refuse({503, ShortOfMemory()});
}

// Parses buffered bytes until the request is complete, refused, or needs more bytes.
void HttpSession::ProcessBuffered() {
  using Step = RequestReader::Step;
  while (phase_ == Phase::kReading) {
    if (begin_ == end_ && !reader_.done()) return ReadMore();
    request_begun_ = true;
    if (may_be_grpc_ && PassToGrpc()) return;
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

// HTTP/2 begins with words that no request of HTTP/1.1 begins with. True: the connection is gRPC's
// from now on, or its first bytes do not tell yet.
bool HttpSession::PassToGrpc() {
  const std::string_view read(buffer_.get() + begin_, end_ - begin_);
  const std::string_view first = read.substr(0, kHttp2Preface.size());
  may_be_grpc_ = kHttp2Preface.starts_with(first);
  if (!may_be_grpc_) return false;
  if (first.size() < kHttp2Preface.size()) {
    ReadMore();
    return true;
  }
  const int fd = stream_->Release();
  state_->connections->Leave(this);  // it counts as gRPC's now
  if (fd >= 0) state_->options.grpc->Take(fd, read);
  Close();
  return true;
}

// Decides before the body is read whether we want it. False: refused, or "100 Continue" is being
// written.
bool HttpSession::OnHead() {
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
bool HttpSession::ReserveBody(std::size_t bytes) {
  if (bytes == 0) return true;
  if (!bytes_) bytes_ = std::make_shared<ByteHold>(state_->inflight);
  if (bytes_->Reach(bytes)) return true;
  state_->connections->DropStalledBodies(kStalled);
  Refuse(Overloaded());
  return false;
}

void StartHttpSession(std::shared_ptr<HttpServerState> state, std::unique_ptr<Stream> stream) {
  std::make_shared<HttpSession>(std::move(state), std::move(stream))->Start();
}

}  // namespace wherefore::net
