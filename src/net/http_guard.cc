#include "net/http_guard.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace wherefore::net {
namespace {

std::string Lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return out;
}

// "localhost:4040" -> "localhost", "[::1]:4040" -> "[::1]".
std::string_view WithoutPort(std::string_view host) {
  const std::size_t from = host.starts_with('[') ? host.find(']') : 0;
  if (from == std::string_view::npos) return host;
  return host.substr(0, host.find(':', from));
}

// A name in Host may be anybody's domain that resolves to 127.0.0.1; an address cannot lie.
bool IsLoopbackName(std::string_view host) {
  if (host == "localhost" || host.ends_with(".localhost") || host == "[::1]") return true;
  return host.starts_with("127.") &&
         host.find_first_not_of("0123456789.") == std::string_view::npos;
}

Refusal Forbidden(std::string message) {
  return {403, Error(Code::kInvalid, std::move(message))};
}

}  // namespace

std::string MachineName() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return {};
  return Lowered(name.data());
}

std::optional<Refusal> CheckOrigin(const HttpRequest& request, bool on_loopback,
                                   const std::vector<std::string>& allowed_hosts) {
  const std::string host = Lowered(request.Header("Host"));
  if (on_loopback && !host.empty()) {
    const std::string_view name = WithoutPort(host);
    if (!IsLoopbackName(name) && std::ranges::find(allowed_hosts, name) == allowed_hosts.end()) {
      return Forbidden(
          fmt::format("this server listens on loopback and does not answer to the name \"{}\"; use "
                      "127.0.0.1, or allow the name (serve --allow-host)",
                      name));
    }
  }
  const auto origin_header = request.headers.find("Origin");
  if (origin_header != request.headers.end()) {
    const std::string origin = Lowered(origin_header->second);
    if (origin != "http://" + host && origin != "https://" + host) {
      return Forbidden(fmt::format("requests from pages of {} are refused", origin_header->second));
    }
  }
  // Browsers omit Origin for simple reads (<img>, <script>) but send Sec-Fetch-Site. Following a
  // link to our pages is allowed.
  const std::string_view site = request.Header("Sec-Fetch-Site");
  if ((site == "cross-site" || site == "same-site") &&
      request.Header("Sec-Fetch-Mode") != "navigate") {
    return Forbidden("requests from pages of another site are refused");
  }
  return std::nullopt;
}

std::optional<Refusal> CheckHead(const HttpRequest& request, const HttpServerOptions& options,
                                 bool on_loopback) {
  if (auto refusal = CheckOrigin(request, on_loopback, options.allowed_hosts)) return refusal;
  const bool open =
      request.path == "/ready" && (request.method == "GET" || request.method == "HEAD");
  if (!options.bearer_token.empty() && !open &&
      !TokenMatches(request.Header("Authorization"), options.bearer_token)) {
    return Refusal{401, Error(Code::kInvalid, "the bearer token is missing or wrong")};
  }
  return std::nullopt;
}

bool TokenMatches(std::string_view authorization, std::string_view token) {
  if (token.empty()) return false;
  constexpr std::string_view kScheme = "bearer ";
  if (Lowered(authorization.substr(0, kScheme.size())) != kScheme) return false;
  const std::string_view given = authorization.substr(kScheme.size());
  std::size_t difference = given.size() ^ token.size();
  for (std::size_t i = 0; i < given.size(); ++i) {
    difference |= static_cast<std::uint8_t>(given[i] ^ token[i % token.size()]);
  }
  return difference == 0;
}

}  // namespace wherefore::net
