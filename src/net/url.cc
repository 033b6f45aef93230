#include "net/url.h"

#include <fmt/format.h>

#include "base/text.h"

namespace wherefore::net {
namespace {

bool IsUnreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Error BadUrl(std::string_view text, std::string_view why) {
  return {Code::kInvalid,
          fmt::format("\"{}\" is not a URL we can use: {}; write it like http://127.0.0.1:4040",
                      UrlWithoutUser(text), why)};
}

}  // namespace

std::string PercentEncode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (IsUnreserved(c)) {
      out += c;
    } else {
      fmt::format_to(std::back_inserter(out), "%{:02X}", static_cast<std::uint8_t>(c));
    }
  }
  return out;
}

std::optional<std::string> PercentDecode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = HexDigit(text[i + 1]);
      const int low = HexDigit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

Result<Url> ParseUrl(std::string_view text) {
  Url url;
  std::string_view rest = text;
  if (rest.starts_with("https://")) {
    url.tls = true;
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else {
    return BadUrl(text, "it does not begin with http:// or https://");
  }
  const std::size_t path = std::min(rest.find_first_of("/?#"), rest.size());
  url.authority = rest.substr(0, path);
  url.target = rest.substr(path, rest.find('#', path) - path);
  if (!url.target.starts_with('/')) url.target.insert(0, "/");
  // A line break here would let a caller's text become a header.
  for (const char c : text) {
    if (static_cast<std::uint8_t>(c) <= ' ' || c == '\x7f')
      return BadUrl(text, "it contains a blank");
  }
  if (url.authority.find('@') != std::string::npos)
    return BadUrl(text, "a user name is not supported");

  std::string_view host = url.authority;
  std::string_view port;
  const std::size_t bracket = host.starts_with('[') ? host.find(']') : 0;
  if (bracket == std::string_view::npos) return BadUrl(text, "the address lacks its ]");
  if (const std::size_t colon = host.find(':', bracket); colon != std::string_view::npos) {
    port = host.substr(colon + 1);
    host = host.substr(0, colon);
  }
  url.host = bracket > 0 ? host.substr(1, bracket - 1) : host;
  if (url.host.empty()) return BadUrl(text, "the host is missing");
  const auto number =
      port.empty() ? std::optional<std::uint64_t>(url.tls ? 443 : 80) : ParseUint(port);
  if (!number || *number == 0 || *number > 65535)
    return BadUrl(text, "the port is not a number up to 65535");
  url.port = static_cast<std::uint16_t>(*number);
  return url;
}

}  // namespace wherefore::net
