#include "sdk/config/endpoint.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"

namespace wherefore::sdk {
namespace {

constexpr std::uint16_t kGrpcPort = 4317;
constexpr std::uint16_t kHttpPort = 4318;

void WarnOnce(std::vector<std::string>& warnings, std::string text) {
  if (std::find(warnings.begin(), warnings.end(), text) == warnings.end()) {
    warnings.push_back(std::move(text));
  }
}

bool IsHost(std::string_view host) {
  return !host.empty() && std::none_of(host.begin(), host.end(), [](char c) {
    return c <= ' ' || c == '/' || c == '@' || c == '\x7f';
  });
}

// Splits "host:port", "[v6]:port"; `port` stays as it is when none is named.
bool SplitAuthority(std::string_view authority, std::string& host, std::uint16_t& port) {
  std::string_view rest;
  if (authority.starts_with('[')) {
    const std::size_t end = authority.find(']');
    if (end == std::string_view::npos) return false;
    host = authority.substr(1, end - 1);
    rest = authority.substr(end + 1);
  } else {
    const std::size_t colon = std::min(authority.find(':'), authority.size());
    host = authority.substr(0, colon);
    rest = authority.substr(colon);
  }
  if (rest.empty()) return IsHost(host);
  if (rest.front() != ':') return false;
  const auto number = ParseUint(rest.substr(1));
  if (!number || *number == 0 || *number > 65535) return false;
  port = static_cast<std::uint16_t>(*number);
  return IsHost(host);
}

}  // namespace

std::string Url::Authority() const {
  const bool v6 = host.find(':') != std::string::npos;
  const std::string name = v6 ? "[" + host + "]" : host;
  return port == (tls ? 443 : 80) ? name : fmt::format("{}:{}", name, port);
}

std::string Url::Text() const {
  return fmt::format("{}://{}{}", tls ? "https" : "http", Authority(), path);
}

std::optional<Url> ParseUrl(std::string_view text) {
  Url url;
  url.port = kHttpPort;
  if (text.starts_with("https://")) {
    url.tls = true;
    url.port = 443;
    text.remove_prefix(8);
  } else if (text.starts_with("http://")) {
    url.port = 80;
    text.remove_prefix(7);
  } else if (text.find("://") != std::string_view::npos) {
    return std::nullopt;
  }
  const std::size_t slash = std::min(text.find_first_of("/?"), text.size());
  if (!SplitAuthority(text.substr(0, slash), url.host, url.port)) return std::nullopt;
  const std::string_view path = text.substr(slash);
  // A space or line break inside would end the request line early.
  if (std::any_of(path.begin(), path.end(), [](char c) { return c <= ' ' || c == '\x7f'; })) {
    return std::nullopt;
  }
  url.path = path.starts_with('/') ? std::string(path) : "/" + std::string(path);
  return url;
}

std::string ResolveEndpoint(const EndpointChoice& choice, std::string_view fallback,
                            std::vector<std::string>& warnings) {
  const std::string_view given = choice.own.empty() ? choice.base : choice.own;
  std::optional<Url> url = ParseUrl(given);
  if (!url) {
    WarnOnce(warnings, fmt::format("'{}' is no http or https address; using {}",
                                   UrlWithoutUser(given), fallback));
    url = ParseUrl(fallback);
  }
  if (url->port == kGrpcPort || (choice.protocol == "grpc" && url->port != kHttpPort)) {
    url->port = kHttpPort;
    WarnOnce(warnings, fmt::format("'{}' is a gRPC address; sending OTLP over HTTP to {} instead",
                                   UrlWithoutUser(given), url->Authority()));
  } else if (choice.protocol == "http/json") {
    WarnOnce(warnings, "protocol http/json is not spoken; sending http/protobuf");
  }
  // No receiver takes a signal at "/": an own address without a path gets one too.
  const bool bare = url->path == "/";
  if (choice.own.empty() || bare) {
    while (url->path.ends_with('/')) url->path.pop_back();
    url->path += choice.path;
  }
  return url->Text();
}

std::string OpampBeside(std::string_view profiles_url) {
  std::optional<Url> url = ParseUrl(profiles_url);
  if (!url) return {};
  std::string& path = url->path;
  path.resize(std::min(path.find('?'), path.size()));
  // Behind a prefix of the host's, both are; an address of another form says nothing about that.
  path.resize(path.ends_with(kProfilesPath) ? path.size() - kProfilesPath.size() : 0);
  path += kOpampPath;
  return url->Text();
}

}  // namespace wherefore::sdk
