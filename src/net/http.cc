#include "net/http.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "net/url.h"

namespace wherefore::net {
namespace {

char Lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

std::string_view Trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// The segments between slashes; "/" has none, "/a/" has "a" and "".
std::vector<std::string_view> Split(std::string_view path) {
  std::vector<std::string_view> segments;
  if (path.starts_with('/')) path.remove_prefix(1);
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    segments.push_back(path.substr(0, slash));
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
    if (path.empty()) segments.emplace_back();
  }
  return segments;
}

bool IsParameter(std::string_view segment) {
  return segment.size() > 2 && segment.starts_with('{') && segment.ends_with('}');
}

// Decoded one by one, so that a segment may contain a slash ("app.kubernetes.io%2Fname").
std::vector<std::string> Segments(const HttpRequest& request) {
  const bool sent = !request.encoded_path.empty();
  std::vector<std::string> segments;
  for (const std::string_view segment : Split(sent ? request.encoded_path : request.path)) {
    segments.push_back(sent ? PercentDecode(segment, false).value_or("") : std::string(segment));
  }
  return segments;
}

bool Matches(const std::vector<std::string>& pattern, const std::vector<std::string>& path) {
  return std::ranges::equal(pattern, path, [](const std::string& want, const std::string& have) {
    return IsParameter(want) ? !have.empty() : want == have;
  });
}

}  // namespace

bool HeaderLess::operator()(std::string_view a, std::string_view b) const {
  return std::ranges::lexicographical_compare(a, b, {}, Lower, Lower);
}

std::string_view HttpRequest::Header(std::string_view name) const {
  const auto it = headers.find(name);
  return it == headers.end() ? std::string_view() : std::string_view(it->second);
}

std::string HttpRequest::ContentType() const {
  const std::string_view value = Header("Content-Type");
  std::string type(Trim(value.substr(0, value.find(';'))));
  std::ranges::transform(type, type.begin(), Lower);
  return type;
}

std::vector<std::pair<std::string, std::string>> HttpRequest::QueryParameters() const {
  std::vector<std::pair<std::string, std::string>> parameters;
  // A broken escape is kept as it is: the handler then refuses the value by name.
  const auto decode = [](std::string_view text) {
    return PercentDecode(text, true).value_or(std::string(text));
  };
  std::string_view rest = query;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    parameters.emplace_back(decode(part.substr(0, equals)), equals == std::string_view::npos
                                                                ? ""
                                                                : decode(part.substr(equals + 1)));
  }
  return parameters;
}

int HttpStatus(Code code) {
  switch (code) {
    case Code::kInvalid:
    case Code::kCorrupt:
      return 400;
    case Code::kNotFound:
      return 404;
    case Code::kLimit:
      return 429;
    case Code::kCancelled:
      return 499;
    case Code::kUnsupported:
      return 501;
    case Code::kIo:
    case Code::kUnavailable:
      return 503;
    case Code::kUnauthenticated:
      return 401;
    case Code::kInternal:
      return 500;
  }
  return 500;
}

HttpResponse JsonError(const Error& error) {
  HttpResponse response;
  response.status = HttpStatus(error.code());
  JsonWriter json(response.body);
  json.BeginObject().Key("error").BeginObject();
  json.Field("code", CodeName(error.code())).Field("message", error.message());
  json.EndObject().EndObject();
  if (response.status == 429) response.headers["Retry-After"] = "1";
  if (response.status == 503) response.headers["Retry-After"] = "5";
  return response;
}

void Router::Add(std::string method, std::string_view pattern, HttpHandler handler) {
  Route route{std::move(method), {}, std::move(handler)};
  for (const std::string_view segment : Split(pattern)) route.segments.emplace_back(segment);
  routes_.push_back(std::move(route));
}

HttpResponse Router::Refuse(const HttpRequest& request, int status, const Error& error) const {
  const auto format = refusals_.find(request.path);
  HttpResponse response =
      format != refusals_.end() ? format->second(request, status, error) : JsonError(error);
  response.status = status;
  if (status != 429 && status != 503) response.headers.erase("Retry-After");
  return response;
}

void Router::Handle(HttpRequest request, Respond respond) const {
  const std::vector<std::string> path = Segments(request);
  const std::string_view method =
      request.method == "HEAD" ? "GET" : std::string_view(request.method);
  std::string allow;
  for (const Route& route : routes_) {
    if (!Matches(route.segments, path)) continue;
    if (route.method != method) {
      if (!allow.empty()) allow += ", ";
      allow += route.method == "GET" ? "GET, HEAD" : route.method;
      continue;
    }
    for (std::size_t i = 0; i < path.size(); ++i) {
      const std::string_view name = route.segments[i];
      if (IsParameter(name)) {
        request.headers[fmt::format(":{}", name.substr(1, name.size() - 2))] = path[i];
      }
    }
    route.handler(std::move(request), std::move(respond));
    return;
  }
  if (!allow.empty()) {
    HttpResponse response =
        Refuse(request, 405,
               Error(Code::kUnsupported, fmt::format("{} does not take {}; it takes {}",
                                                     request.path, request.method, allow)));
    response.headers["Allow"] = allow;
    respond(std::move(response));
  } else if (fallback_) {
    fallback_(std::move(request), std::move(respond));
  } else {
    respond(Refuse(request, 404,
                   Error(Code::kNotFound, fmt::format("there is nothing at {}", request.path))));
  }
}

std::vector<std::string> Router::Routes() const {
  std::vector<std::string> routes;
  for (const Route& route : routes_) {
    std::string text = route.method + " ";
    for (const std::string& segment : route.segments) text += "/" + segment;
    if (route.segments.empty()) text += "/";
    routes.push_back(std::move(text));
  }
  return routes;
}

}  // namespace wherefore::net
