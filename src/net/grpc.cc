// A generic service of gRPC's callback API: every call is a reactor that reads one message, calls
// the handler, writes one message and is deleted by OnDone.
//
// OnDone comes only after Finish, and Finish must be called exactly once. So whoever takes the
// reactor out of its CallLink first (the answer, the cancellation, a failed read) finishes it; all
// others find null.
#include "net/grpc.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>

#include "base/log.h"
#include "base/metrics.h"
#include "base/mutex.h"
#include "net/compression.h"
#include "net/connection_limit.h"
#include "net/grpc_calls.h"
#include "net/grpc_sockets.h"
#include "net/http_guard.h"
#include "net/inflight_bytes.h"
#include "net/stream.h"
#include "net/unread_answers.h"
#include "net/worker_pool.h"

namespace wherefore::net {
namespace {

struct Shared {
  GrpcServerOptions options;
  GrpcHandler handler;
  std::shared_ptr<InflightBytes> inflight;
  std::unique_ptr<GrpcCalls> calls;
  GrpcSockets sockets;
  std::array<Counter*, 17> answers{};  // by gRPC status
  Counter* received = nullptr;

  void SetPort(std::uint16_t port) {
    const std::string label = std::to_string(port);
    for (std::size_t code = 0; code < answers.size(); ++code) {
      answers[code] =
          &Metrics::Global().GetCounter("wherefore_grpc_requests_total", "gRPC calls answered.",
                                        {{"port", label}, {"code", std::to_string(code)}});
    }
    received =
        &Metrics::Global().GetCounter("wherefore_grpc_received_bytes_total",
                                      "Bytes of gRPC messages, decompressed.", {{"port", label}});
  }
};

// Larger messages are unpacked and handled by a worker, if there are workers.
constexpr std::size_t kLarge = 16u << 10;

GrpcResponse Refused(grpc::StatusCode code, std::string message) {
  return {static_cast<int>(code), std::move(message), {}, {}};
}

GrpcResponse Overloaded() {
  return Refused(grpc::StatusCode::UNAVAILABLE,
                 "too many bytes of requests are being handled; try again");
}

GrpcResponse Short() {
  return Refused(grpc::StatusCode::UNAVAILABLE, ShortOfMemory().message());
}

// A slice that owns the text and keeps its bytes counted until gRPC has sent it.
grpc::Slice OwnedSlice(std::string text, std::shared_ptr<const void> hold) {
  using Owned = std::pair<std::string, std::shared_ptr<const void>>;
  auto* const owned = new Owned(std::move(text), std::move(hold));
  return {owned->first.data(), owned->first.size(), [](void* p) { delete static_cast<Owned*>(p); },
          owned};
}

std::string_view View(const grpc::string_ref& text) {
  return {text.data(), text.size()};
}

std::string TakeBytes(grpc::ByteBuffer& buffer) {
  std::string bytes;
  bytes.reserve(buffer.Length());
  std::vector<grpc::Slice> slices;
  if (buffer.Dump(&slices).ok()) {
    for (const grpc::Slice& slice : slices) {
      bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    }
  }
  buffer.Clear();
  return bytes;
}

// gRPC's own decompression has no limit (a few MB of zeros would exhaust memory), so it is off and
// we do it. gzip is the only encoding we announce, and no protobuf message begins with its magic
// number: 0x1f would be a field of wire type 7, which does not exist.
Result<std::string> TakeMessage(grpc::ByteBuffer& buffer, std::size_t limit) {
  std::string bytes = TakeBytes(buffer);
  if (!bytes.starts_with("\x1f\x8b")) return bytes;
  return Decompress("gzip", bytes, limit);
}

class Call;

struct CallLink {
  Mutex mutex;
  Call* call GUARDED_BY(mutex) = nullptr;

  Call* Take() {
    MutexLock lock(mutex);
    return std::exchange(call, nullptr);
  }
};

class Call final : public grpc::ServerGenericBidiReactor {
 public:
  Call(std::shared_ptr<Shared> shared, const grpc::GenericCallbackServerContext& context)
      : shared_(std::move(shared)), context_(context), link_(std::make_shared<CallLink>()) {
    {
      MutexLock lock(link_->mutex);
      link_->call = this;
    }
    Begin();
  }

  // Called by whoever took the call out of its link; `this` may be gone when it returns.
  void Answer(GrpcResponse response);

  void OnReadDone(bool ok) override;
  void OnCancel() override {
    cancel_.Cancel();
    if (Call* const call = link_->Take()) {
      call->Answer(Refused(grpc::StatusCode::CANCELLED, "the call was cancelled"));
    }
  }
  void OnDone() override {
    if (entered_) shared_->calls->Leave(place_);
    delete this;
  }

 private:
  struct Work;
  static void GiveUp(CallLink& link) {
    if (Call* const call = link.Take()) {
      call->Answer(Refused(grpc::StatusCode::DEADLINE_EXCEEDED,
                           "no complete message arrived in time; try again"));
    }
  }
  void RefuseNow(GrpcResponse response) {
    if (Call* const call = link_->Take()) call->Answer(std::move(response));
  }
  [[nodiscard]] bool HasToken() const {
    if (shared_->options.bearer_token.empty()) return true;
    const auto& metadata = context_.client_metadata();
    const auto it = metadata.find("authorization");
    return it != metadata.end() && TokenMatches(View(it->second), shared_->options.bearer_token);
  }
  GrpcRequest MakeRequest() const;  // without its body
  void Begin();
  void Handle();

  const std::shared_ptr<Shared> shared_;
  const grpc::GenericCallbackServerContext& context_;  // lives until OnDone
  const std::shared_ptr<CallLink> link_;
  const CancelToken cancel_;
  GrpcCalls::Place place_;
  bool entered_ = false;  // it has a place in shared_->calls
  grpc::ByteBuffer message_;
};

void Call::Begin() {
  if (!HasToken()) {
    return RefuseNow(
        Refused(grpc::StatusCode::UNAUTHENTICATED, "the bearer token is missing or wrong"));
  }
  entered_ = shared_->calls->Enter([link = link_] { GiveUp(*link); }, place_);
  if (!entered_) {
    return RefuseNow(Refused(grpc::StatusCode::UNAVAILABLE, "too many calls are open; try again"));
  }
  StartRead(&message_);
}

void Call::Answer(GrpcResponse response) {
  std::shared_ptr<const void> hold;
  if (response.status == 0) {
    hold = shared_->options.unread_answers->Hold(response.body.size());
    if (!hold) {
      response = Refused(grpc::StatusCode::UNAVAILABLE, UnreadAnswers::TooMany().message());
    }
  }
  const auto code = std::clamp(response.status, 0, static_cast<int>(shared_->answers.size()) - 1);
  shared_->answers[static_cast<std::size_t>(code)]->Add();
  if (code != 0) {
    return Finish(
        grpc::Status(static_cast<grpc::StatusCode>(code), response.message, response.details));
  }
  const std::size_t size = response.body.size();
  if (entered_ && size > UnreadAnswers::kSmall) {
    // As over HTTP: a client slower than 64 kB/s counts as not reading.
    const auto until = GrpcCalls::Clock::now() +
                       std::chrono::seconds(shared_->options.message_timeout_seconds) +
                       std::chrono::seconds(size >> 16);
    shared_->calls->Answering(
        place_, until, [this, peer = context_.peer()] { return shared_->sockets.TakenBytes(peer); },
        [this] { context_.TryCancel(); });
  }
  const grpc::Slice slice = OwnedSlice(std::move(response.body), std::move(hold));
  message_ = grpc::ByteBuffer(&slice, 1);
  StartWriteAndFinish(&message_, {}, grpc::Status::OK);
}

// The handler's end: one answer, or INTERNAL when the last copy is destroyed without one.
class GrpcResponder {
 public:
  explicit GrpcResponder(std::shared_ptr<CallLink> link) : link_(std::move(link)) {}
  GrpcResponder(const GrpcResponder&) = delete;
  GrpcResponder& operator=(const GrpcResponder&) = delete;
  ~GrpcResponder() { Deliver(Refused(grpc::StatusCode::INTERNAL, "the call got no answer")); }
  void Deliver(GrpcResponse response) {
    if (Call* const call = link_->Take()) call->Answer(std::move(response));
  }

 private:
  const std::shared_ptr<CallLink> link_;
};

struct Call::Work {
  std::shared_ptr<Shared> shared;
  grpc::ByteBuffer message;
  GrpcRequest request;
  std::shared_ptr<GrpcResponder> responder;
  void Run();
  void Handle();
};

GrpcRequest Call::MakeRequest() const {
  GrpcRequest request;
  request.method = context_.method();
  for (const auto& [name, value] : context_.client_metadata()) {
    std::string& text = request.metadata[std::string(View(name))];
    if (!text.empty()) text += ",";
    text += View(value);
  }
  request.peer = context_.peer();
  request.cancel = cancel_;
  return request;
}

void Call::OnReadDone(bool ok) {
  if (!ok) {
    return RefuseNow(Refused(grpc::StatusCode::INVALID_ARGUMENT, "the call had no message"));
  }
  shared_->calls->Arrived(place_);
  try {
    Handle();
  } catch (const std::bad_alloc&) {
    RefuseNow(Short());
  }
}

void Call::Handle() {
  auto work = std::make_shared<Work>(
      Work{shared_, message_, MakeRequest(), std::make_shared<GrpcResponder>(link_)});
  message_.Clear();
  WorkerPool* const workers = shared_->options.large_bodies;
  if (workers == nullptr || work->message.Length() <= kLarge) return work->Run();
  if (!workers->Submit([work] { work->Run(); })) work->responder->Deliver(Overloaded());
}

// Unpacks and handles one message. Uses nothing of the call, which may be over.
void Call::Work::Run() {
  const std::shared_ptr<GrpcResponder> own = responder;
  try {
    Handle();
  } catch (const std::bad_alloc&) {
    own->Deliver(Short());
  } catch (const std::exception& e) {
    Log(LogLevel::kError, "a gRPC handler failed", {{"error", e.what()}});
  }
}

void Call::Work::Handle() {
  const auto bytes = std::make_shared<ByteHold>(shared->inflight);
  if (!bytes->Reach(message.Length())) return responder->Deliver(Overloaded());
  auto body = TakeMessage(message, shared->options.max_message_bytes);
  if (!body)
    return responder->Deliver({GrpcStatus(body.error().code()), body.error().message(), {}, {}});
  shared->received->Add(body->size());
  if (!ByteHold::CanBeHandled(body->size())) {
    return responder->Deliver(
        Refused(grpc::StatusCode::RESOURCE_EXHAUSTED,
                fmt::format("a message of {} bytes needs more memory than this server has for "
                            "requests (serve --memory); send less at once",
                            body->size())));
  }
  if (!bytes->ReachToHandle(body->size())) return responder->Deliver(Overloaded());
  request.body = HoldWhileUsed(std::make_shared<const std::string>(*std::move(body)), bytes);
  shared->handler(std::move(request), [bytes, r = std::move(responder)](GrpcResponse response) {
    r->Deliver(std::move(response));
  });
}

class Service final : public grpc::CallbackGenericService {
 public:
  explicit Service(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    return new Call(shared_, *context);  // deletes itself in OnDone
  }

 private:
  const std::shared_ptr<Shared> shared_;
};

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || text.str().empty())
    return Error(Code::kInvalid, fmt::format("cannot read {}", path));
  return text.str();
}

Result<std::shared_ptr<grpc::ServerCredentials>> Credentials(const GrpcServerOptions& options) {
  if (options.tls_key_file.empty()) return grpc::InsecureServerCredentials();
  WHEREFORE_ASSIGN_OR_RETURN(std::string certificate, ReadFile(options.tls_certificate_file));
  WHEREFORE_ASSIGN_OR_RETURN(std::string key, ReadFile(options.tls_key_file));
  const bool ask = !options.tls_client_ca_file.empty();
  grpc::SslServerCredentialsOptions tls(
      ask ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
          : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  if (ask) {
    WHEREFORE_ASSIGN_OR_RETURN(tls.pem_root_certs, ReadFile(options.tls_client_ca_file));
  }
  tls.pem_key_cert_pairs.push_back({std::move(key), std::move(certificate)});
  return grpc::SslServerCredentials(tls);
}

}  // namespace

int GrpcStatus(Code code) {
  switch (code) {
    case Code::kCancelled:
      return grpc::StatusCode::CANCELLED;
    case Code::kInvalid:
    case Code::kCorrupt:
      return grpc::StatusCode::INVALID_ARGUMENT;
    case Code::kNotFound:
      return grpc::StatusCode::NOT_FOUND;
    case Code::kLimit:
      return grpc::StatusCode::RESOURCE_EXHAUSTED;
    case Code::kUnsupported:
      return grpc::StatusCode::UNIMPLEMENTED;
    case Code::kIo:
    case Code::kUnavailable:
      return grpc::StatusCode::UNAVAILABLE;
    case Code::kUnauthenticated:
      return grpc::StatusCode::UNAUTHENTICATED;
    case Code::kInternal:
      return grpc::StatusCode::INTERNAL;
  }
  return grpc::StatusCode::INTERNAL;
}

class GrpcServer::Impl {
 public:
  Impl(IoThreads& io, GrpcServerOptions options, GrpcHandler handler)
      : io_(io), shared_(std::make_shared<Shared>()), service_(shared_) {
    shared_->options = std::move(options);
    shared_->inflight = std::make_shared<InflightBytes>(shared_->options.max_inflight_bytes);
    shared_->handler = std::move(handler);
    if (!shared_->options.unread_answers) {
      shared_->options.unread_answers = std::make_shared<UnreadAnswers>(1u << 30);
    }
    const GrpcServerOptions& o = shared_->options;
    shared_->calls = std::make_unique<GrpcCalls>(GrpcCalls::Limits{
        .calls = o.max_calls,
        .for_message = std::chrono::seconds(o.message_timeout_seconds),
        .window = std::chrono::seconds(o.answer_window_seconds),
        .least_bytes =
            o.least_answer_bytes_per_second * static_cast<std::uint64_t>(o.answer_window_seconds)});
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() { Stop(0); }

  Result<> Start() {
    const GrpcServerOptions& options = shared_->options;
    // gRPC does not report which address failed or why, nor a bad certificate, cannot use one free
    // port for two addresses, and accepts connections without limit. So we listen ourselves.
    WHEREFORE_ASSIGN_OR_RETURN(
        listener_,
        Listener::Open(io_, {options.addresses, options.port, options.tls_certificate_file,
                             options.tls_key_file, options.tls_client_ca_file}));
    WHEREFORE_ASSIGN_OR_RETURN(const auto credentials, Credentials(options));
    WHEREFORE_RETURN_IF_ERROR(Build(listener_->port(), credentials));
    listener_->StartDescriptors([this](int fd) { Take(fd, {}); });
    return {};
  }

  Result<> StartBehind(std::uint16_t port) {
    return Build(port, grpc::InsecureServerCredentials());
  }

  void Take(int fd, std::string_view read) {
    const auto& connections = shared_->options.connections;
    if (connections && !connections->EnterDescriptor(fd)) {
      close(fd);
      return;
    }
    shared_->sockets.Add(fd);
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.fd = fd;
    const grpc::Slice slice(read.data(), read.size());
    if (!read.empty()) connection.read_buffer = grpc::ByteBuffer(&slice, 1);
    acceptor_->HandleNewConnection(&connection);
  }

  [[nodiscard]] std::uint16_t port() const { return port_; }

  void Stop(int grace_seconds) {
    listener_.reset();
    if (!server_) return;
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(grace_seconds));
    server_->Wait();
    server_.reset();
  }

 private:
  Result<> Build(std::uint16_t port, const std::shared_ptr<grpc::ServerCredentials>& credentials) {
    port_ = port;
    shared_->SetPort(port);
    const GrpcServerOptions& options = shared_->options;
    grpc::ServerBuilder builder;
    using External = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
    acceptor_ =
        builder.experimental().AddExternalConnectionAcceptor(External::FROM_FD, credentials);
    // See TakeMessage.
    builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
    builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS,
                               options.idle_timeout_seconds * 1000);
    // Agents that ping often are not disconnected for it.
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options.max_calls_per_connection);
    builder.SetMaxReceiveMessageSize(static_cast<int>(options.max_message_bytes));
    builder.SetMaxSendMessageSize(-1);
    // Limits what gRPC holds of messages that have not reached us.
    grpc::ResourceQuota quota("wherefore");
    constexpr std::size_t kMinQuota = 16u << 20;
    quota.Resize(std::clamp(MemoryBudget::Process().shares().work / 4, kMinQuota,
                            options.max_inflight_bytes + 2 * options.max_message_bytes));
    builder.SetResourceQuota(quota);
    builder.RegisterCallbackGenericService(&service_);
    server_ = builder.BuildAndStart();
    if (server_) return {};
    return Error(Code::kUnavailable, fmt::format("cannot start gRPC on port {}", port));
  }

  IoThreads& io_;
  std::shared_ptr<Shared> shared_;
  Service service_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
  std::uint16_t port_ = 0;
};

GrpcServer::GrpcServer(IoThreads& io, GrpcServerOptions options, GrpcHandler handler)
    : impl_(std::make_unique<Impl>(io, std::move(options), std::move(handler))) {}
GrpcServer::~GrpcServer() = default;
Result<> GrpcServer::Start() {
  return impl_->Start();
}
Result<> GrpcServer::StartBehind(std::uint16_t port) {
  return impl_->StartBehind(port);
}
void GrpcServer::Take(int fd, std::string_view read) {
  impl_->Take(fd, read);
}
std::uint16_t GrpcServer::port() const {
  return impl_->port();
}
void GrpcServer::Stop(int grace_seconds) {
  impl_->Stop(grace_seconds);
}

}  // namespace wherefore::net
