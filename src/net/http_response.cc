#include "net/http_response.h"

#include <ctime>

#include <fmt/format.h>

#include "base/gzip.h"

namespace wherefore::net {
namespace {

constexpr std::size_t kWorthCompressing = 1024;

bool IsCompressible(std::string_view type) {
  if (type.starts_with("image/")) return type.starts_with("image/svg");
  return !type.starts_with("font/") && !type.starts_with("application/gzip") &&
         !type.starts_with("application/zip") && !type.starts_with("application/zstd");
}

void AppendField(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  // A value comes from a handler and may contain a client's text: it must not start a new line.
  for (const char c : value) out += c == '\r' || c == '\n' || c == '\0' ? ' ' : c;
  out += "\r\n";
}

// "Sun, 15 Nov 2026 06:04:00 GMT"; formatted once per second and thread.
std::string_view DateNow() {
  thread_local std::time_t last = 0;
  thread_local std::array<char, 40> text{};
  const std::time_t now = std::time(nullptr);
  if (now != last) {
    std::tm utc{};
    gmtime_r(&now, &utc);
    std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &utc);
    last = now;
  }
  return text.data();
}

}  // namespace

bool AcceptsGzip(std::string_view accept_encoding) {
  while (!accept_encoding.empty()) {
    std::string_view item = accept_encoding.substr(0, accept_encoding.find(','));
    accept_encoding.remove_prefix(std::min(item.size() + 1, accept_encoding.size()));
    const std::size_t semicolon = item.find(';');
    std::string_view name = item.substr(0, semicolon);
    name.remove_prefix(std::min(name.find_first_not_of(" \t"), name.size()));
    name = name.substr(0, name.find_last_not_of(" \t") + 1);
    if (name != "gzip" && name != "x-gzip" && name != "*") continue;
    if (semicolon == std::string_view::npos) return true;
    const std::size_t q = item.find("q=", semicolon);
    // "q=0", "q=0.0": not acceptable.
    return q == std::string_view::npos ||
           item.find_first_of("123456789", q) != std::string_view::npos;
  }
  return false;
}

PreparedResponse PrepareResponse(HttpResponse response, ResponseTraits traits) {
  PreparedResponse out;
  out.status = response.status;
  const bool bodyless = response.status == 204 || response.status == 304;
  if (bodyless) response.body.clear();
  const bool could_compress = response.body.size() > kWorthCompressing &&
                              IsCompressible(response.content_type) &&
                              !response.headers.contains("Content-Encoding");
  if (could_compress) AppendField(out.fields, "Vary", "Accept-Encoding");
  if (could_compress && traits.gzip) {
    // Level 1: most clients are on the same machine and wait.
    std::string packed = Gzip(response.body, 1);
    if (packed.size() < response.body.size()) {
      response.body = std::move(packed);
      AppendField(out.fields, "Content-Encoding", "gzip");
    }
  }
  if (!bodyless) {
    if (!response.content_type.empty())
      AppendField(out.fields, "Content-Type", response.content_type);
    fmt::format_to(std::back_inserter(out.fields), "Content-Length: {}\r\n", response.body.size());
  }
  // No page of another site may use our answers in any way (and there are never CORS headers).
  out.fields += "X-Content-Type-Options: nosniff\r\nCross-Origin-Resource-Policy: same-origin\r\n";
  for (const auto& [name, value] : response.headers) AppendField(out.fields, name, value);
  if (!traits.head) out.body = std::move(response.body);
  return out;
}

std::string ResponseHead(const PreparedResponse& response, bool close, bool http11) {
  std::string_view connection;
  if (close) {
    connection = "Connection: close\r\n";
  } else if (!http11) {
    connection = "Connection: keep-alive\r\n";
  }
  return fmt::format("HTTP/1.1 {} {}\r\nDate: {}\r\n{}{}\r\n", response.status,
                     ReasonPhrase(response.status), DateNow(), connection, response.fields);
}

std::string_view ReasonPhrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 301:
      return "Moved Permanently";
    case 302:
      return "Found";
    case 304:
      return "Not Modified";
    case 307:
      return "Temporary Redirect";
    case 308:
      return "Permanent Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 499:
      return "Client Closed Request";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "Status";
  }
}

}  // namespace wherefore::net
