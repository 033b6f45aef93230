// AnswerReader: untrusted bytes of a server -> HttpAnswer.
#include <algorithm>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/text.h"
#include "sdk/net/http_client.h"

namespace wherefore::sdk {
namespace {

constexpr std::size_t kMaxHead = 64 * 1024;
constexpr std::size_t kMaxBody = 4 * 1024 * 1024;  // as OTLP says

Error Corrupt(std::string text) {
  return {Code::kCorrupt, "answer: " + std::move(text)};
}

std::optional<std::size_t> ParseHexSize(std::string_view text) {
  text = Trim(text.substr(0, text.find(';')));
  if (text.empty() || text.size() > 8) return std::nullopt;
  std::size_t size = 0;
  for (const char c : text) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return std::nullopt;
    size = size * 16 + static_cast<std::size_t>(digit);
  }
  return size;
}

}  // namespace

std::string_view HttpAnswer::Header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

Result<bool> AnswerReader::Add(std::string_view bytes) {
  started_ = started_ || !bytes.empty();
  buffer_.append(bytes);
  return Step();
}

Error AnswerReader::OtherProtocol(std::string text) {
  other_protocol_ = true;
  return Corrupt(std::move(text));
}

Result<bool> AnswerReader::Step() {
  if (body_ == Body::kHead) {
    WHEREFORE_ASSIGN_OR_RETURN(const bool complete, ReadHead());
    if (!complete) return false;
  }
  switch (body_) {
    case Body::kLength:
      if (buffer_.size() < length_) return false;
      answer_.body = buffer_.substr(0, length_);
      return true;
    case Body::kChunks:
      return ReadChunks();
    default:
      if (buffer_.size() > kMaxBody) return Error(Code::kLimit, "answer: longer than 4 MiB");
      return false;
  }
}

Result<bool> AnswerReader::End() {
  if (body_ != Body::kUntilClose) return Corrupt("the connection ended in the middle");
  answer_.body = std::move(buffer_);
  return true;
}

Result<bool> AnswerReader::ReadHead() {
  const std::size_t end = buffer_.find("\r\n\r\n");
  if (end == std::string::npos) {
    if (buffer_.size() > kMaxHead) return Corrupt("headers longer than 64 KiB");
    if (buffer_.size() >= 5 && !buffer_.starts_with("HTTP/")) return OtherProtocol("not HTTP");
    return false;
  }
  const std::string head = buffer_.substr(0, end + 2);
  buffer_.erase(0, end + 4);
  const std::size_t first_end = head.find("\r\n");
  const std::string_view first = std::string_view(head).substr(0, first_end);
  if (!first.starts_with("HTTP/1.") || first.size() < 12) return OtherProtocol("not HTTP/1");
  const auto status = ParseUint(first.substr(9, 3));
  if (!status || *status < 100) return Corrupt("no status");
  answer_.status = static_cast<int>(*status);
  answer_.headers.clear();
  for (std::size_t at = first_end + 2; at < head.size();) {
    const std::size_t line_end = head.find("\r\n", at);
    const std::string_view line = std::string_view(head).substr(at, line_end - at);
    at = line_end + 2;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return Corrupt("a header without ':'");
    answer_.headers.emplace_back(Lower(Trim(line.substr(0, colon))), Trim(line.substr(colon + 1)));
  }
  if (answer_.status < 200) return ReadHead();  // 100 Continue and the like: the next one counts
  const std::string connection = Lower(answer_.Header("connection"));
  keep_alive_ = first.starts_with("HTTP/1.1") ? connection != "close" : connection == "keep-alive";
  if (Lower(answer_.Header("transfer-encoding")).ends_with("chunked")) {
    body_ = Body::kChunks;
  } else if (answer_.status == 204 || answer_.status == 304) {
    body_ = Body::kLength;
  } else if (const std::string_view text = answer_.Header("content-length"); !text.empty()) {
    const auto length = ParseUint(text);
    if (!length) return Corrupt("content-length is no number");
    if (*length > kMaxBody) return Error(Code::kLimit, "answer: longer than 4 MiB");
    length_ = *length;
    body_ = Body::kLength;
  } else {
    body_ = Body::kUntilClose;
    keep_alive_ = false;
  }
  return true;
}

Result<bool> AnswerReader::ReadChunks() {
  while (true) {
    const std::size_t line_end = buffer_.find("\r\n");
    if (line_end == std::string::npos) {
      if (buffer_.size() > kMaxHead) return Corrupt("a chunk without length");
      return false;
    }
    const auto size = ParseHexSize(std::string_view(buffer_).substr(0, line_end));
    if (!size) return Corrupt("a chunk's length is no number");
    if (answer_.body.size() + *size > kMaxBody)
      return Error(Code::kLimit, "answer: longer than 4 MiB");
    if (*size == 0) {
      // Trailers, if any, end with an empty line.
      const std::size_t end = buffer_.find("\r\n", line_end + 2);
      if (end == std::string::npos) return false;
      if (end == line_end + 2) return true;
      if (buffer_.find("\r\n\r\n", line_end) == std::string::npos) return false;
      return true;
    }
    if (buffer_.size() < line_end + 2 + *size + 2) return false;
    answer_.body.append(buffer_, line_end + 2, *size);
    buffer_.erase(0, line_end + 2 + *size + 2);
  }
}

}  // namespace wherefore::sdk
