#include <limits>

#include <fmt/format.h>

#include "base/log.h"
#include "net/grpc.h"
#include "net/http.h"
#include "net/http_guard.h"
#include "net/http_session.h"
#include "net/stream.h"

namespace wherefore::net {

HttpServerState::HttpServerState(HttpServerOptions server_options,
                                 std::shared_ptr<const Router> server_router)
    : options(std::move(server_options)),
      router(std::move(server_router)),
      connections(options.connections
                      ? options.connections
                      : std::make_shared<ConnectionLimit>(std::numeric_limits<int>::max())),
      inflight(std::make_shared<InflightBytes>(options.max_inflight_bytes)),
      unread_answers(options.unread_answers ? options.unread_answers
                                            : std::make_shared<UnreadAnswers>(1u << 30)) {
  for (std::string& host : options.allowed_hosts) {
    for (char& c : host) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  }
  options.allowed_hosts.push_back(MachineName());
  if (!options.tls_key_file.empty()) options.grpc.reset();
}

void HttpServerState::SetPort(std::uint16_t port) {
  port_label_ = std::to_string(port);
  const MetricLabels labels = {{"port", port_label_}};
  received_ =
      &Metrics::Global().GetCounter("wherefore_http_received_bytes_total",
                                    "Bytes read from HTTP clients, as on the wire.", labels);
  sent_ = &Metrics::Global().GetCounter("wherefore_http_sent_bytes_total",
                                        "Bytes written to HTTP clients, as on the wire.", labels);
}

void HttpServerState::CountAnswer(int status) {
  if (status < 0 || status >= static_cast<int>(answers_.size())) status = 500;
  std::atomic<Counter*>& slot = answers_[static_cast<std::size_t>(status)];
  Counter* counter = slot.load(std::memory_order_acquire);
  if (counter == nullptr) {
    counter = &Metrics::Global().GetCounter(
        "wherefore_http_requests_total", "HTTP requests answered; 499: the client was gone.",
        {{"port", port_label_}, {"code", std::to_string(status)}});
    slot.store(counter, std::memory_order_release);
  }
  counter->Add();
}

void HttpServerState::CountBytes(std::size_t received, std::size_t sent) {
  if (received > 0) received_->Add(received);
  if (sent > 0) sent_->Add(sent);
}

void HttpServerState::Register(HttpConnection* connection) {
  MutexLock lock(mutex_);
  connections_.insert(connection);
}

void HttpServerState::Unregister(HttpConnection* connection) {
  {
    MutexLock lock(mutex_);
    connections_.erase(connection);
  }
  changed_.NotifyAll();
}

void HttpServerState::ForEach(void (HttpConnection::*work)()) {
  std::vector<std::shared_ptr<HttpConnection>> alive;
  {
    MutexLock lock(mutex_);
    for (HttpConnection* connection : connections_) {
      // A connection whose destructor waits for this lock has no owner any more.
      if (auto owner = connection->weak_from_this().lock()) alive.push_back(std::move(owner));
    }
  }
  for (const auto& connection : alive) {
    connection->Post([connection, work] { (connection.get()->*work)(); });
  }
}

bool HttpServerState::WaitForEnd(std::chrono::steady_clock::time_point deadline) {
  MutexLock lock(mutex_);
  while (!connections_.empty()) {
    if (!changed_.WaitUntil(mutex_, deadline)) return connections_.empty();
  }
  return true;
}

class HttpServer::Impl {
 public:
  Impl(IoThreads& io, HttpServerOptions options, std::shared_ptr<const Router> router)
      : io_(io), state_(std::make_shared<HttpServerState>(std::move(options), std::move(router))) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() { Stop(0); }

  Result<> Start() {
    const HttpServerOptions& o = state_->options;
    WHEREFORE_ASSIGN_OR_RETURN(
        listener_, Listener::Open(io_, {o.addresses, o.port, o.tls_certificate_file, o.tls_key_file,
                                        o.tls_client_ca_file}));
    port_ = listener_->port();
    state_->SetPort(port_);
    if (o.grpc) WHEREFORE_RETURN_IF_ERROR(o.grpc->StartBehind(port_));
    listener_->Start([state = state_](std::unique_ptr<Stream> stream) {
      StartHttpSession(state, std::move(stream));
    });
    return {};
  }

  [[nodiscard]] std::uint16_t port() const { return port_; }

  void Stop(int grace_seconds) {
    if (!listener_) return;
    listener_->Close();
    listener_.reset();
    StopHttp(grace_seconds);
    if (state_->options.grpc) state_->options.grpc->Stop(grace_seconds);
  }

 private:
  void StopHttp(int grace_seconds) {
    state_->draining = true;
    state_->ForEach(&HttpConnection::Drain);
    using Clock = std::chrono::steady_clock;
    if (state_->WaitForEnd(Clock::now() + std::chrono::seconds(grace_seconds))) return;
    // A connection accepted at the last moment may not be registered yet, so try in rounds.
    for (int round = 0; round < 50; ++round) {
      state_->ForEach(&HttpConnection::Abort);
      if (state_->WaitForEnd(Clock::now() + std::chrono::milliseconds(100))) return;
    }
    Log(LogLevel::kWarn, "HTTP connections did not end in time", {{"port", port_}});
  }

  IoThreads& io_;
  std::shared_ptr<HttpServerState> state_;
  std::unique_ptr<Listener> listener_;
  std::uint16_t port_ = 0;
};

HttpServer::HttpServer(IoThreads& io, HttpServerOptions options,
                       std::shared_ptr<const Router> router)
    : impl_(std::make_shared<Impl>(io, std::move(options), std::move(router))) {}
HttpServer::~HttpServer() = default;
Result<> HttpServer::Start() {
  return impl_->Start();
}
std::uint16_t HttpServer::port() const {
  return impl_->port();
}
void HttpServer::Stop(int grace_seconds) {
  impl_->Stop(grace_seconds);
}

}  // namespace wherefore::net
