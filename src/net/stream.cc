// Asio is used here (and in http_client.cc): I/O threads, listening sockets, plain and TLS streams.
#include "net/stream.h"

#include <future>
#include <optional>
#include <thread>
#include <tuple>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include "base/log.h"
#include "net/socket_facts.h"

namespace wherefore::net {

namespace asio = boost::asio;
using asio::ip::tcp;
using Strand = asio::strand<asio::io_context::executor_type>;
using Socket = asio::basic_stream_socket<tcp, Strand>;
using Acceptor = asio::basic_socket_acceptor<tcp, Strand>;
using BoostError = boost::system::error_code;

class IoThreads::Impl {
 public:
  explicit Impl(int count) : context(count), work_(context.get_executor()) {
    for (int i = 0; i < count; ++i) threads_.emplace_back([this] { Run(); });
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    context.stop();
    for (std::thread& thread : threads_) thread.join();
  }

  asio::io_context context;

 private:
  // An exception from a handler (mostly out of memory) costs its connection, not the server.
  void Run() {
    while (true) {
      try {
        context.run();
        return;
      } catch (const std::exception& e) {
        Log(LogLevel::kError, "a network handler failed", {{"error", e.what()}});
      }
    }
  }

  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::vector<std::thread> threads_;
};

IoThreads::IoThreads(int count) : impl_(std::make_unique<Impl>(count)) {}
IoThreads::~IoThreads() = default;

namespace {

std::string EndpointText(const tcp::endpoint& endpoint) {
  const bool v6 = endpoint.address().is_v6();
  return fmt::format("{}{}{}:{}", v6 ? "[" : "", endpoint.address().to_string(), v6 ? "]" : "",
                     endpoint.port());
}

// What plain and TLS streams share: the socket, its strand and the timer.
class SocketStream : public Stream {
 public:
  explicit SocketStream(Strand strand) : strand_(std::move(strand)), timer_(strand_) {}

  void ReadAddresses(const Socket& socket) {
    BoostError error;
    peer_ = EndpointText(socket.remote_endpoint(error));
    on_loopback_ = socket.local_endpoint(error).address().is_loopback();
  }
  void Post(std::function<void()> work) final { asio::post(strand_, std::move(work)); }
  void SetTimer(TimePoint when, std::function<void()> expired) final {
    timer_.expires_at(when);
    timer_.async_wait([run = std::move(expired)](const BoostError& error) {
      if (!error) run();
    });
  }
  [[nodiscard]] std::string Peer() const final { return peer_; }
  [[nodiscard]] bool OnLoopback() const final { return on_loopback_; }

 protected:
  void CancelTimer() { timer_.cancel(); }
  void CloseSocket(Socket& socket) {
    BoostError ignored;
    CancelTimer();
    std::ignore = socket.close(ignored);
  }
  static void SetReset(Socket& socket) {
    BoostError ignored;
    std::ignore = socket.set_option(asio::socket_base::linger(true, 0), ignored);
  }

 private:
  Strand strand_;
  asio::steady_timer timer_;
  std::string peer_;
  bool on_loopback_ = false;
};

class PlainStream final : public SocketStream {
 public:
  explicit PlainStream(Socket socket)
      : SocketStream(socket.get_executor()), socket_(std::move(socket)) {
    ReadAddresses(socket_);
  }
  void Handshake(Done done) override { done({}, 0); }
  void Read(std::span<char> into, Done done) override {
    socket_.async_read_some(asio::buffer(into.data(), into.size()), std::move(done));
  }
  void Write(std::string_view head, std::string_view body, Done done) override {
    const std::array buffers = {asio::buffer(head), asio::buffer(body)};
    asio::async_write(socket_, buffers, std::move(done));
  }
  void ShutdownSend(Done done) override {
    BoostError error;
    std::ignore = socket_.shutdown(tcp::socket::shutdown_send, error);
    done(error, 0);
  }
  void Close() override { CloseSocket(socket_); }
  void DropUnsent() override { SetReset(socket_); }
  int Release() override {
    CancelTimer();
    BoostError error;
    const int fd = socket_.release(error);
    return error ? -1 : fd;
  }
  std::optional<std::uint64_t> TakenBytes() override {
    return net::TakenBytes(socket_.native_handle());
  }

 private:
  Socket socket_;
};

class TlsStream final : public SocketStream {
 public:
  TlsStream(Socket socket, std::shared_ptr<asio::ssl::context> context)
      : SocketStream(socket.get_executor()),
        context_(std::move(context)),
        stream_(std::move(socket), *context_) {
    ReadAddresses(stream_.next_layer());
  }
  void Handshake(Done done) override {
    stream_.async_handshake(asio::ssl::stream_base::server,
                            [run = std::move(done)](const BoostError& error) { run(error, 0); });
  }
  void Read(std::span<char> into, Done done) override {
    stream_.async_read_some(asio::buffer(into.data(), into.size()), std::move(done));
  }
  void Write(std::string_view head, std::string_view body, Done done) override {
    const std::array buffers = {asio::buffer(head), asio::buffer(body)};
    asio::async_write(stream_, buffers, std::move(done));
  }
  void ShutdownSend(Done done) override {
    stream_.async_shutdown([run = std::move(done)](const BoostError& error) { run(error, 0); });
  }
  void Close() override { CloseSocket(stream_.next_layer()); }
  void DropUnsent() override { SetReset(stream_.next_layer()); }
  int Release() override { return -1; }
  std::optional<std::uint64_t> TakenBytes() override {
    return net::TakenBytes(stream_.next_layer().native_handle());
  }

 private:
  std::shared_ptr<asio::ssl::context> context_;
  asio::ssl::stream<Socket> stream_;
};

// Clients must show a certificate, and hear which authorities count.
Result<> AskClients(asio::ssl::context& context, const std::string& authorities) {
  BoostError error;
  std::ignore = context.load_verify_file(authorities, error);
  STACK_OF(X509_NAME)* const names = error ? nullptr : SSL_load_client_CA_file(authorities.c_str());
  if (names == nullptr) {
    return Error(Code::kInvalid, fmt::format("certificates of clients' authorities {}: {}",
                                             authorities, error ? error.message() : "has none"));
  }
  SSL_CTX_set_client_CA_list(context.native_handle(), names);  // which now owns them
  context.set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert);
  return {};
}

Result<std::shared_ptr<asio::ssl::context>> LoadTls(const ListenOptions& options) {
  if (options.tls_certificate_file.empty() != options.tls_key_file.empty()) {
    return Error(Code::kInvalid, "TLS needs both a certificate file and a key file");
  }
  if (options.tls_key_file.empty()) {
    if (options.tls_client_ca_file.empty()) return std::shared_ptr<asio::ssl::context>();
    return Error(Code::kInvalid, "certificates of clients need a certificate of the server");
  }
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  BoostError error;
  std::ignore = context->use_certificate_chain_file(options.tls_certificate_file, error);
  if (error) {
    return Error(Code::kInvalid, fmt::format("TLS certificate {}: {}", options.tls_certificate_file,
                                             error.message()));
  }
  std::ignore = context->use_private_key_file(options.tls_key_file, asio::ssl::context::pem, error);
  if (error) {
    return Error(Code::kInvalid,
                 fmt::format("TLS key {}: {}", options.tls_key_file, error.message()));
  }
  if (!options.tls_client_ca_file.empty()) {
    WHEREFORE_RETURN_IF_ERROR(AskClients(*context, options.tls_client_ca_file));
  }
  return context;
}

enum class Bind : std::uint8_t { kOk, kNoSuchAddress, kInUse };

Result<Bind> BindAcceptor(Acceptor& acceptor, const std::string& address, std::uint16_t port) {
  BoostError error;
  const auto ip = asio::ip::make_address(address, error);
  if (error) {
    return Error(Code::kInvalid,
                 fmt::format("cannot listen on \"{}\": it is not an IP address", address));
  }
  const tcp::endpoint endpoint(ip, port);
  std::ignore = acceptor.open(endpoint.protocol(), error);
  if (!error) error = acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error && ip.is_v6()) error = acceptor.set_option(asio::ip::v6_only(true), error);
  if (!error) error = acceptor.bind(endpoint, error);
  if (!error) error = acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (!error) return Bind::kOk;
  BoostError ignored;
  std::ignore = acceptor.close(ignored);
  if (error == asio::error::address_in_use) return Bind::kInUse;
  if (error == asio::error::address_family_not_supported || error.value() == EADDRNOTAVAIL) {
    return Bind::kNoSuchAddress;
  }
  return Error(Code::kIo,
               fmt::format("cannot listen on {} port {}: {}", address, port, error.message()));
}

Error PortInUse(std::string_view address, std::uint16_t port) {
  return {Code::kUnavailable,
          fmt::format(
              "port {} on {} is in use; `ss -ltnp 'sport = :{}'` shows by which program. Stop it, "
              "or choose another port (0 picks a free one)",
              port, address, port)};
}

// Binds every address to one port. With port 0 the first address picks it; if another address has
// that port in use, the search starts again.
Result<std::vector<Acceptor>> BindAll(const Strand& strand,
                                      const std::vector<std::string>& addresses,
                                      std::uint16_t wanted) {
  for (int attempt = 0;; ++attempt) {
    std::vector<Acceptor> acceptors;
    std::uint16_t port = wanted;
    bool taken = false;
    for (const std::string& address : addresses) {
      Acceptor acceptor(strand);
      WHEREFORE_ASSIGN_OR_RETURN(const Bind outcome, BindAcceptor(acceptor, address, port));
      if (outcome == Bind::kNoSuchAddress) continue;
      if (outcome == Bind::kInUse) {
        if (wanted != 0 || attempt == 20) return PortInUse(address, port);
        taken = true;
        break;
      }
      port = acceptor.local_endpoint().port();
      acceptors.push_back(std::move(acceptor));
    }
    if (taken) continue;
    if (acceptors.empty()) {
      return Error(Code::kInvalid, fmt::format("cannot listen: this machine has no address {}",
                                               fmt::join(addresses, " or ")));
    }
    return acceptors;
  }
}

class AsioListener final : public Listener {
 public:
  AsioListener(IoThreads& io, std::vector<Acceptor> acceptors, Strand strand,
               std::shared_ptr<asio::ssl::context> tls)
      : state_(std::make_shared<State>(State{io.impl().context,
                                             std::move(strand),
                                             std::move(acceptors),
                                             std::move(tls),
                                             {},
                                             false})) {}
  ~AsioListener() override { AsioListener::Close(); }

  void Start(Accept accept) override {
    Begin([tls = state_->tls, run = std::move(accept)](Socket socket) {
      Hand(std::move(socket), tls, run);
    });
  }
  void StartDescriptors(std::function<void(int fd)> accept) override {
    Begin([run = std::move(accept)](Socket socket) {
      BoostError error;
      std::ignore = socket.native_non_blocking(true, error);
      if (!error) run(socket.release());
    });
  }
  [[nodiscard]] std::uint16_t port() const override {
    return state_->acceptors.front().local_endpoint().port();
  }
  void Close() override {
    if (!state_) return;
    std::promise<void> closed;
    asio::post(state_->strand, [&] {
      state_->closed = true;
      state_->take = nullptr;
      BoostError ignored;
      for (Acceptor& acceptor : state_->acceptors) std::ignore = acceptor.close(ignored);
      closed.set_value();
    });
    closed.get_future().wait();
    state_.reset();
  }

 private:
  struct State {
    asio::io_context& context;
    Strand strand;
    std::vector<Acceptor> acceptors;
    std::shared_ptr<asio::ssl::context> tls;
    std::function<void(Socket)> take;
    bool closed;
  };

  void Begin(std::function<void(Socket)> take) {
    asio::post(state_->strand, [state = state_, run = std::move(take)]() mutable {
      state->take = std::move(run);
      for (Acceptor& acceptor : state->acceptors) AcceptNext(state, acceptor);
    });
  }

  static void AcceptNext(const std::shared_ptr<State>& state, Acceptor& acceptor) {
    acceptor.async_accept(asio::make_strand(state->context),
                          [state, &acceptor](const BoostError& error, Socket socket) {
                            if (state->closed) return;
                            if (error) return RetryLater(state, acceptor, error);
                            BoostError ignored;
                            std::ignore = socket.set_option(tcp::no_delay(true), ignored);
                            Take(*state, std::move(socket));
                            AcceptNext(state, acceptor);
                          });
  }
  // A failure with one connection must not keep others from being accepted.
  static void Take(const State& state, Socket socket) {
    try {
      state.take(std::move(socket));
    } catch (const std::exception& e) {
      static LogLimiter limiter(10);
      if (limiter.Allow()) {
        Log(LogLevel::kError, "a connection could not be accepted", {{"error", e.what()}});
      }
    }
  }
  static void Hand(Socket socket, const std::shared_ptr<asio::ssl::context>& tls,
                   const Accept& accept) {
    const Strand strand = socket.get_executor();
    std::unique_ptr<Stream> stream;
    if (tls) {
      stream = std::make_unique<TlsStream>(std::move(socket), tls);
    } else {
      stream = std::make_unique<PlainStream>(std::move(socket));
    }
    asio::post(strand, [accept, s = std::move(stream)]() mutable { accept(std::move(s)); });
  }
  // Most likely out of file descriptors; retrying immediately would spin.
  static void RetryLater(const std::shared_ptr<State>& state, Acceptor& acceptor,
                         const BoostError& error) {
    static LogLimiter limiter(10);
    if (limiter.Allow()) {
      Log(LogLevel::kError, "cannot accept connections; raise the open-file limit (ulimit -n)",
          {{"error", error.message()}});
    }
    auto timer =
        std::make_shared<asio::steady_timer>(state->strand, std::chrono::milliseconds(100));
    timer->async_wait([state, &acceptor, timer](const BoostError&) {
      if (!state->closed) AcceptNext(state, acceptor);
    });
  }

  std::shared_ptr<State> state_;
};

}  // namespace

Result<std::unique_ptr<Listener>> Listener::Open(IoThreads& io, const ListenOptions& options) {
  WHEREFORE_ASSIGN_OR_RETURN(auto tls, LoadTls(options));
  const Strand strand = asio::make_strand(io.impl().context);
  WHEREFORE_ASSIGN_OR_RETURN(auto acceptors, BindAll(strand, options.addresses, options.port));
  return std::make_unique<AsioListener>(io, std::move(acceptors), strand, std::move(tls));
}

}  // namespace wherefore::net
