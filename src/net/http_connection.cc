// One private io_context per connection, which runs one operation at a time until it is done or the
// deadline has come.
#include "net/http_connection.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>
#include <thread>
#include <tuple>
#include <vector>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <fmt/format.h>

#include "base/name_lookup.h"
#include "net/cancel_scope.h"
#include "net/compression.h"
#include "net/tls_client_impl.h"

namespace wherefore::net {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using BoostError = boost::system::error_code;
using Parser = http::response_parser<http::string_body>;

constexpr std::size_t kChunk = 64u << 10;

std::string Lowered(std::string text) {
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] = static_cast<char>(text[0] + 32);
  return text;
}

// "60", "2.5": without the zeros nobody needs.
std::string Seconds(std::int64_t ns) {
  return fmt::format("{:g}", static_cast<double>(ns) / 1e9);
}

}  // namespace

class HttpConnection::Impl {
 public:
  Impl(Url url, std::shared_ptr<TlsClientContext> tls)
      : url_(std::move(url)), tls_(std::move(tls)), socket_(context_) {}

  Result<> Connect(const ExchangeLimits& limits) {
    BoostError error;
    std::vector<tcp::endpoint> endpoints;
    if (const auto address = asio::ip::make_address(url_.host, error); !error) {
      endpoints.emplace_back(address, url_.port);
    } else {
      WHEREFORE_ASSIGN_OR_RETURN(endpoints, LookUp(limits));
    }
    error = Wait(limits, [&](auto done) { asio::async_connect(socket_, endpoints, done); });
    if (error) return Failed(limits, "cannot connect to", error);
    std::ignore = socket_.set_option(tcp::no_delay(true), error);  // failure only makes it slower
    return url_.tls ? Handshake(limits) : Result<>();
  }

  Result<ClientResponse> Exchange(std::string_view head, std::string_view body, bool is_head,
                                  const ExchangeLimits& limits) {
    usable_ = false;
    return stream_ ? Talk(*stream_, head, body, is_head, limits)
                   : Talk(socket_, head, body, is_head, limits);
  }

  [[nodiscard]] bool IsUsable() {
    if (!usable_ || !socket_.is_open()) return false;
    // Whatever can be read now is the end of the connection or something nobody asked for.
    char byte = 0;
    const ssize_t got = recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  }

 private:
  // Runs one asynchronous operation, at most until the deadline.
  template <typename Start>
  BoostError Wait(const ExchangeLimits& limits, Start start) {
    std::optional<BoostError> outcome;
    start([&](const BoostError& error, auto&&...) { outcome = error; });
    context_.restart();
    {
      const CancelScope stop(limits.cancel, [this] { context_.stop(); });
      if (!limits.cancel.cancelled()) context_.run_until(limits.deadline);
    }
    if (outcome) return *outcome;
    BoostError ignored;
    std::ignore = socket_.close(ignored);
    context_.restart();
    context_.run();  // the operation ends because its socket is closed
    return asio::error::timed_out;
  }

  [[nodiscard]] Error Failed(const ExchangeLimits& limits, std::string_view what,
                             const BoostError& error) const {
    return Failed(limits, what,
                  error == asio::error::timed_out
                      ? fmt::format("no answer within {} s", Seconds(limits.timeout_ns))
                      : Lowered(error.message()));
  }
  [[nodiscard]] Error Failed(const ExchangeLimits& limits, std::string_view what,
                             const std::string& why) const {
    if (limits.cancel.cancelled()) return {Code::kCancelled, "stopped"};
    return {Code::kIo,
            fmt::format("{} {}://{}: {}", what, url_.tls ? "https" : "http", url_.authority, why)};
  }

  // Not Asio's resolver, whose destructor waits for the lookup.
  [[nodiscard]] Result<std::vector<tcp::endpoint>> LookUp(const ExchangeLimits& limits) const {
    const auto start = [](void (*body)(void*), void* argument) {
      try {
        std::thread(body, argument).detach();
        return true;
      } catch (const std::system_error&) {
        return false;
      }
    };
    const auto is_over = [&] {
      return limits.cancel.cancelled() || std::chrono::steady_clock::now() >= limits.deadline;
    };
    const auto found = LookUpName(url_.host, url_.port, [&] { return !is_over(); }, start);
    if (!found) {
      return is_over() ? Failed(limits, "cannot find the host of", asio::error::timed_out)
                       : Failed(limits, "cannot find the host of", found.error().message());
    }
    std::vector<tcp::endpoint> endpoints;
    for (const SocketAddress& address : *found) {
      tcp::endpoint& endpoint = endpoints.emplace_back();
      endpoint.resize(address.size);
      std::memcpy(endpoint.data(), address.get(), address.size);
    }
    return endpoints;
  }

  Result<> Handshake(const ExchangeLimits& limits) {
    const TlsClientOptions& options = tls_->options();
    const std::string& name = options.server_name.empty() ? url_.host : options.server_name;
    stream_.emplace(socket_, tls_->impl().context);
    SSL_set_tlsext_host_name(stream_->native_handle(), name.c_str());
    if (options.verify) stream_->set_verify_callback(asio::ssl::host_name_verification(name));
    if (const BoostError error = Wait(limits, [&](auto done) {
          stream_->async_handshake(asio::ssl::stream_base::client, done);
        })) {
      return Failed(limits, "TLS failed with", error);
    }
    return {};
  }

  template <typename S>
  Result<ClientResponse> Talk(S& stream, std::string_view head, std::string_view body, bool is_head,
                              const ExchangeLimits& limits) {
    const std::array buffers = {asio::buffer(head), asio::buffer(body)};
    const BoostError sent =
        Wait(limits, [&](auto done) { asio::async_write(stream, buffers, done); });
    // A server may refuse and close before it has read everything. Then its answer counts, if there
    // is one.
    auto response = Receive(stream, is_head, limits);
    if (!response && sent && sent != asio::error::timed_out)
      return Failed(limits, "cannot send to", sent);
    if (sent) usable_ = false;
    return response;
  }

  template <typename S>
  Result<ClientResponse> Receive(S& stream, bool is_head, const ExchangeLimits& limits) {
    std::string buffer;
    while (true) {
      Parser parser;
      parser.eager(true);
      parser.skip(is_head);
      parser.body_limit(limits.max_response_bytes);
      WHEREFORE_RETURN_IF_ERROR(Parse(stream, parser, buffer, limits));
      // 1xx comes before the real answer.
      if (parser.get().result_int() < 200) continue;
      usable_ = parser.is_done() && parser.keep_alive() && buffer.empty();
      return Finish(parser.get(), limits);
    }
  }

  // Reads until one message is complete; bytes after it stay in `buffer`.
  template <typename S>
  Result<> Parse(S& stream, Parser& parser, std::string& buffer, const ExchangeLimits& limits) {
    BoostError error;
    while (!parser.is_done()) {
      error = {};
      const std::size_t used = buffer.empty() ? 0 : parser.put(asio::buffer(buffer), error);
      buffer.erase(0, used);
      if (parser.is_done()) break;
      if (error == http::error::body_limit && limits.cut_long_bodies) return {};
      if (error && error != http::error::need_more)
        return Failed(limits, "no HTTP answer from", error);
      BoostError read;
      if (!ReadSome(stream, buffer, limits, read)) continue;
      const bool ended = read == asio::error::eof || read == asio::ssl::error::stream_truncated;
      if (!ended) return Failed(limits, "lost the connection to", read);
      // Without a length, the end of the connection ends the body.
      if (parser.got_some()) parser.put_eof(error);
      if (!parser.is_done()) return Failed(limits, "lost the connection to", read);
    }
    return {};
  }

  // Appends what has arrived; true if `error` says why nothing more comes.
  template <typename S>
  bool ReadSome(S& stream, std::string& buffer, const ExchangeLimits& limits, BoostError& error) {
    const std::size_t before = buffer.size();
    buffer.resize(before + kChunk);
    std::size_t got = 0;
    error = Wait(limits, [&](auto done) {
      stream.async_read_some(asio::buffer(buffer.data() + before, kChunk),
                             [&got, done](const BoostError& e, std::size_t n) {
                               got = n;
                               done(e);
                             });
    });
    buffer.resize(before + got);
    return static_cast<bool>(error);
  }

  [[nodiscard]] Result<ClientResponse> Finish(http::response<http::string_body>& message,
                                              const ExchangeLimits& limits) const {
    ClientResponse response;
    response.status = static_cast<int>(message.result_int());
    for (const auto& field : message) {
      response.headers[std::string(field.name_string())] = std::string(field.value());
    }
    response.body = std::move(message.body());
    const auto encoding = response.headers.find("Content-Encoding");
    if (encoding != response.headers.end() && !response.body.empty()) {
      auto plain = Decompress(encoding->second, response.body, limits.max_response_bytes);
      if (!plain && limits.cut_long_bodies) plain = std::string();
      if (!plain) {
        return std::move(plain).error().Within(
            fmt::format("answer of {}{}", url_.authority, url_.target));
      }
      response.body = *std::move(plain);
    }
    return response;
  }

  const Url url_;
  const std::shared_ptr<TlsClientContext> tls_;
  asio::io_context context_;
  tcp::socket socket_;
  std::optional<asio::ssl::stream<tcp::socket&>> stream_;
  bool usable_ = false;
};

HttpConnection::HttpConnection(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpConnection::~HttpConnection() = default;

Result<std::unique_ptr<HttpConnection>> HttpConnection::Open(const Url& url,
                                                             std::shared_ptr<TlsClientContext> tls,
                                                             const ExchangeLimits& limits) {
  auto impl = std::make_unique<Impl>(url, std::move(tls));
  WHEREFORE_RETURN_IF_ERROR(impl->Connect(limits));
  return std::unique_ptr<HttpConnection>(new HttpConnection(std::move(impl)));
}

Result<ClientResponse> HttpConnection::Exchange(std::string_view head, std::string_view body,
                                                bool is_head, const ExchangeLimits& limits) {
  return impl_->Exchange(head, body, is_head, limits);
}

bool HttpConnection::IsUsable() const {
  return impl_->IsUsable();
}

}  // namespace wherefore::net
