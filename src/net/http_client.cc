// One request, one connection, one private io_context that runs until the answer or the deadline.
#include "net/http_client.h"

#include <cstring>
#include <optional>
#include <system_error>
#include <thread>
#include <tuple>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <fmt/format.h>

#include "base/name_lookup.h"
#include "net/compression.h"

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

class Exchange {
 public:
  Exchange(std::string_view url_text, Url url, const ClientOptions& options)
      : url_text_(url_text),
        url_(std::move(url)),
        options_(options),
        deadline_(std::chrono::steady_clock::now() + std::chrono::seconds(options.timeout_seconds)),
        socket_(context_) {}

  Result<ClientResponse> Run(std::string_view method, std::string_view body,
                             std::string_view content_type) {
    WHEREFORE_RETURN_IF_ERROR(Connect());
    const std::string head = Head(method, body, content_type);
    if (!url_.tls) return Talk(socket_, head, body, method == "HEAD");
    asio::ssl::context tls(asio::ssl::context::tls_client);
    WHEREFORE_RETURN_IF_ERROR(Trust(tls));
    asio::ssl::stream<tcp::socket&> stream(socket_, tls);
    SSL_set_tlsext_host_name(stream.native_handle(), url_.host.c_str());
    if (options_.tls_verify)
      stream.set_verify_callback(asio::ssl::host_name_verification(url_.host));
    if (const BoostError error = Wait(
            [&](auto done) { stream.async_handshake(asio::ssl::stream_base::client, done); })) {
      return Failed("TLS failed with", error);
    }
    return Talk(stream, head, body, method == "HEAD");
  }

 private:
  // Runs one asynchronous operation, at most until the deadline.
  template <typename Start>
  BoostError Wait(Start start) {
    std::optional<BoostError> outcome;
    start([&](const BoostError& error, auto&&...) { outcome = error; });
    context_.restart();
    {
      const auto stop = options_.cancel.OnCancel([this] { context_.stop(); });
      if (!options_.cancel.cancelled()) context_.run_until(deadline_);
    }
    if (outcome) return *outcome;
    BoostError ignored;
    std::ignore = socket_.close(ignored);
    context_.restart();
    context_.run();  // the operation ends because its socket is closed
    return asio::error::timed_out;
  }

  Error Failed(std::string_view what, const BoostError& error) const {
    return Failed(what, error == asio::error::timed_out
                            ? fmt::format("no answer within {} s", options_.timeout_seconds)
                            : Lowered(error.message()));
  }
  Error Failed(std::string_view what, const std::string& why) const {
    if (options_.cancel.cancelled()) return {Code::kCancelled, "stopped"};
    const std::string where = url_text_.substr(0, url_text_.find('/', url_text_.find("//") + 2));
    return {Code::kIo, fmt::format("{} {}: {}", what, where, why)};
  }

  Result<> Connect() {
    BoostError error;
    std::vector<tcp::endpoint> endpoints;
    if (const auto address = asio::ip::make_address(url_.host, error); !error) {
      endpoints.emplace_back(address, url_.port);
    } else {
      WHEREFORE_ASSIGN_OR_RETURN(endpoints, LookUp());
    }
    error = Wait([&](auto done) { asio::async_connect(socket_, endpoints, done); });
    if (error) return Failed("cannot connect to", error);
    std::ignore = socket_.set_option(tcp::no_delay(true), error);  // failure only makes it slower
    return {};
  }

  // Not Asio's resolver, whose destructor waits for the lookup.
  [[nodiscard]] Result<std::vector<tcp::endpoint>> LookUp() const {
    const auto start = [](void (*body)(void*), void* argument) {
      try {
        std::thread(body, argument).detach();
        return true;
      } catch (const std::system_error&) {
        return false;
      }
    };
    const auto found = LookUpName(url_.host, url_.port, [this] { return !IsOver(); }, start);
    if (!found) {
      return IsOver() ? Failed("cannot find the host of", asio::error::timed_out)
                      : Failed("cannot find the host of", found.error().message());
    }
    std::vector<tcp::endpoint> endpoints;
    for (const SocketAddress& address : *found) {
      tcp::endpoint& endpoint = endpoints.emplace_back();
      endpoint.resize(address.size);
      std::memcpy(endpoint.data(), address.get(), address.size);
    }
    return endpoints;
  }

  [[nodiscard]] bool IsOver() const {
    return options_.cancel.cancelled() || std::chrono::steady_clock::now() >= deadline_;
  }

  Result<> Trust(asio::ssl::context& tls) const {
    BoostError error;
    tls.set_verify_mode(options_.tls_verify ? asio::ssl::verify_peer : asio::ssl::verify_none);
    if (options_.tls_ca_file.empty()) {
      std::ignore = tls.set_default_verify_paths(error);
    } else {
      std::ignore = tls.load_verify_file(options_.tls_ca_file, error);
    }
    if (error) {
      return Error(Code::kInvalid,
                   fmt::format("certificate file {}: {}", options_.tls_ca_file, error.message()));
    }
    return {};
  }

  std::string Head(std::string_view method, std::string_view body,
                   std::string_view content_type) const {
    std::string head = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", method,
                                   url_.target, url_.authority);
    const auto add = [&](std::string_view name, std::string_view value) {
      if (value.empty() || options_.headers.contains(name)) return;
      head += fmt::format("{}: {}\r\n", name, value);
    };
    add("User-Agent", "wherefore");
    add("Accept-Encoding", "gzip");
    add("Content-Type", content_type);
    if (!body.empty() || method == "POST" || method == "PUT") {
      add("Content-Length", std::to_string(body.size()));
    }
    for (const auto& [name, value] : options_.headers)
      head += fmt::format("{}: {}\r\n", name, value);
    head += "\r\n";
    return head;
  }

  template <typename S>
  Result<ClientResponse> Talk(S& stream, const std::string& head, std::string_view body,
                              bool is_head) {
    const std::array buffers = {asio::buffer(head), asio::buffer(body)};
    const BoostError sent = Wait([&](auto done) { asio::async_write(stream, buffers, done); });
    // A server may refuse and close before it has read everything. Then its answer counts, if there
    // is one.
    auto response = Receive(stream, is_head);
    if (!response && sent && sent != asio::error::timed_out) return Failed("cannot send to", sent);
    return response;
  }

  template <typename S>
  Result<ClientResponse> Receive(S& stream, bool is_head) {
    std::string buffer;
    while (true) {
      Parser parser;
      parser.eager(true);
      parser.skip(is_head);
      parser.body_limit(options_.max_response_bytes);
      WHEREFORE_RETURN_IF_ERROR(Parse(stream, parser, buffer));
      // 1xx comes before the real answer.
      if (parser.get().result_int() >= 200) return Finish(parser.get());
    }
  }

  // Reads until one message is complete; bytes after it stay in `buffer`.
  template <typename S>
  Result<> Parse(S& stream, Parser& parser, std::string& buffer) {
    BoostError error;
    while (!parser.is_done()) {
      error = {};
      const std::size_t used = buffer.empty() ? 0 : parser.put(asio::buffer(buffer), error);
      buffer.erase(0, used);
      if (parser.is_done()) break;
      if (error && error != http::error::need_more) return Failed("no HTTP answer from", error);
      const std::size_t before = buffer.size();
      buffer.resize(before + kChunk);
      std::size_t got = 0;
      const BoostError read = Wait([&](auto done) {
        stream.async_read_some(asio::buffer(buffer.data() + before, kChunk),
                               [&got, done](const BoostError& e, std::size_t n) {
                                 got = n;
                                 done(e);
                               });
      });
      buffer.resize(before + got);
      if (!read) continue;
      const bool ended = read == asio::error::eof || read == asio::ssl::error::stream_truncated;
      if (!ended) return Failed("lost the connection to", read);
      // Without a length, the end of the connection ends the body.
      if (parser.got_some()) parser.put_eof(error);
      if (!parser.is_done()) return Failed("lost the connection to", read);
    }
    return {};
  }

  Result<ClientResponse> Finish(http::response<http::string_body>& message) const {
    ClientResponse response;
    response.status = static_cast<int>(message.result_int());
    for (const auto& field : message) {
      response.headers[std::string(field.name_string())] = std::string(field.value());
    }
    response.body = std::move(message.body());
    const auto encoding = response.headers.find("Content-Encoding");
    if (encoding != response.headers.end() && !response.body.empty()) {
      auto plain = Decompress(encoding->second, response.body, options_.max_response_bytes);
      if (!plain) return std::move(plain).error().Within(fmt::format("answer of {}", url_text_));
      response.body = *std::move(plain);
    }
    return response;
  }

  const std::string url_text_;
  const Url url_;
  const ClientOptions& options_;
  const std::chrono::steady_clock::time_point deadline_;
  asio::io_context context_;
  tcp::socket socket_;
};

}  // namespace

Result<ClientResponse> Fetch(std::string_view method, std::string_view url, std::string_view body,
                             std::string_view content_type, const ClientOptions& options) {
  WHEREFORE_ASSIGN_OR_RETURN(Url parsed, ParseUrl(url));
  for (const auto& [name, value] : options.headers) {
    if ((name + value).find_first_of("\r\n") != std::string::npos) {
      return Error(Code::kInvalid, fmt::format("header {} contains a line break", name));
    }
  }
  return Exchange(url, std::move(parsed), options).Run(method, body, content_type);
}

}  // namespace wherefore::net
