#include "net/http_request_reader.h"

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <fmt/format.h>

#include "base/ascii.h"
#include "net/compression.h"
#include "net/url.h"

namespace wherefore::net {

namespace http = boost::beast::http;

namespace {

// The length of a body must be unambiguous. If it can be read in two ways, a proxy before us may
// choose the other one, and the rest would become a request nobody checked (request smuggling).
Result<> CheckFraming(const http::fields& fields, unsigned version) {
  const std::size_t lengths = fields.count(http::field::content_length);
  if (lengths > 1) {
    return Error(Code::kInvalid, "the request has more than one Content-Length header");
  }
  const std::string_view length = fields[http::field::content_length];
  if (lengths == 1 && length.find_first_not_of("0123456789") != std::string_view::npos) {
    return Error(Code::kInvalid,
                 fmt::format("Content-Length \"{}\" is not one decimal number", length));
  }
  const std::size_t codings = fields.count(http::field::transfer_encoding);
  if (codings == 0) return {};
  if (version < 11) return Error(Code::kInvalid, "HTTP/1.0 has no Transfer-Encoding");
  if (lengths > 0) {
    return Error(Code::kInvalid, "the request has both Content-Length and Transfer-Encoding");
  }
  const std::string_view coding = fields[http::field::transfer_encoding];
  if (codings > 1 || Lower(coding) != "chunked") {
    return Error(Code::kInvalid,
                 fmt::format("Transfer-Encoding must be \"chunked\" alone and once, not \"{}\"{}",
                             coding, codings > 1 ? " and more" : ""));
  }
  return {};
}

// A line that begins with a blank used to continue the previous field; today parsers disagree.
bool HasFoldedLine(std::string_view head) {
  return head.find("\r\n ") != std::string_view::npos ||
         head.find("\r\n\t") != std::string_view::npos;
}

}  // namespace

struct RequestReader::Impl {
  std::optional<http::request_parser<http::string_body>> parser;
};

RequestReader::RequestReader(std::size_t max_body_bytes)
    : max_body_bytes_(max_body_bytes), impl_(std::make_unique<Impl>()) {
  Begin({});
}
RequestReader::~RequestReader() = default;

void RequestReader::Begin(std::string peer) {
  impl_->parser.emplace();
  impl_->parser->header_limit(kMaxHeaderBytes);
  impl_->parser->body_limit(max_body_bytes_);
  request_ = {};
  request_.peer = std::move(peer);
  refusal_.reset();
  head_done_ = false;
  is_head_ = false;
}

bool RequestReader::done() const {
  return !refusal_ && impl_->parser->is_done();
}
bool RequestReader::keep_alive() const {
  return impl_->parser->keep_alive();
}
bool RequestReader::http11() const {
  return impl_->parser->get().version() >= 11;
}
bool RequestReader::expects_continue() const {
  return impl_->parser->get()[http::field::expect] == "100-continue";
}
std::size_t RequestReader::announced_bytes() const {
  return static_cast<std::size_t>(impl_->parser->content_length().value_or(0));
}
std::size_t RequestReader::body_bytes() const {
  return impl_->parser->get().body().size();
}

RequestReader::Step RequestReader::Refuse(int status, Error error) {
  refusal_.emplace(Refusal{status, std::move(error)});
  return Step::kRefused;
}

RequestReader::Step RequestReader::Feed(std::string_view bytes, std::size_t& used) {
  // A request without a body is complete with its header, which was reported in the previous step.
  used = 0;
  if (done()) return Step::kDone;
  boost::system::error_code error;
  used = impl_->parser->put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
  if (error == http::error::need_more) return Step::kNeedMore;
  if (error == http::error::body_limit) {
    // Beast may fail before the header counts as read; its path decides the format of the refusal.
    if (!head_done_) static_cast<void>(ReadHead());
    return Refuse(
        413, Error(Code::kLimit, fmt::format("the body is larger than {} bytes", max_body_bytes_)));
  }
  if (error == http::error::header_limit) {
    return Refuse(
        431, Error(Code::kLimit,
                   fmt::format("the request's header is larger than {} bytes", kMaxHeaderBytes)));
  }
  if (error) {
    return Refuse(400,
                  Error(Code::kInvalid, fmt::format("this is not HTTP/1.1: {}", error.message())));
  }
  if (!head_done_ && HasFoldedLine(bytes.substr(0, used))) {
    return Refuse(400, Error(Code::kInvalid, "a header field spans several lines"));
  }
  if (!head_done_ && impl_->parser->is_header_done()) return OnHead();
  return done() ? Step::kDone : Step::kBody;
}

RequestReader::Step RequestReader::OnHead() {
  head_done_ = true;
  impl_->parser->eager(true);  // from here on parse as much as there is
  if (auto head = ReadHead(); !head) return Refuse(400, std::move(head).error());
  const auto& message = impl_->parser->get();
  if (auto framing = CheckFraming(message, message.version()); !framing) {
    return Refuse(400, std::move(framing).error());
  }
  const auto supported = Decompress(request_.Header("Content-Encoding"), {}, 0);
  if (!supported && supported.error().code() == Code::kUnsupported)
    return Refuse(415, supported.error());
  return Step::kHead;
}

// Copies the request line and header fields into request_.
Result<> RequestReader::ReadHead() {
  const auto& message = impl_->parser->get();
  request_.method = std::string(message.method_string());
  is_head_ = request_.method == "HEAD";
  if (message.count(http::field::host) > 1) {
    return Error(Code::kInvalid, "the request has more than one Host header");
  }
  for (const auto& field : message) {
    std::string& value = request_.headers[std::string(field.name_string())];
    if (!value.empty()) value += ", ";
    value += std::string_view(field.value());
  }
  std::string_view target = message.target();
  if (target.starts_with("http://") || target.starts_with("https://")) {
    const std::size_t slash = target.find('/', target.find("//") + 2);
    target = slash == std::string_view::npos ? "/" : target.substr(slash);
  }
  const std::size_t question = target.find('?');
  if (question != std::string_view::npos) request_.query = target.substr(question + 1);
  request_.encoded_path = target.substr(0, question);
  auto path = PercentDecode(request_.encoded_path, false);
  if (!path) return Error(Code::kInvalid, "the path has a '%' without two hex digits after it");
  request_.path = std::move(*path);
  if (message.version() >= 11 && request_.Header("Host").empty()) {
    return Error(Code::kInvalid, "the request has no Host header");
  }
  return {};
}

std::string RequestReader::TakeBody() {
  return std::move(impl_->parser->get().body());
}

std::optional<Refusal> Unpack(std::string body, std::size_t max_bytes, HttpRequest& request) {
  const std::string_view encoding = request.Header("Content-Encoding");
  if (!body.empty() && !encoding.empty() && encoding != "identity") {
    auto plain = Decompress(encoding, body, max_bytes);
    if (!plain) {
      return Refusal{plain.error().code() == Code::kLimit ? 413 : 400, std::move(plain).error()};
    }
    body = *std::move(plain);
  }
  request.body = std::make_shared<const std::string>(std::move(body));
  return std::nullopt;
}

}  // namespace wherefore::net
