#include <array>
#include <string>

#include <fmt/format.h>

#include "api/assets.h"
#include "net/compression.h"

namespace wherefore::api {
namespace {

using net::HttpRequest;
using net::HttpResponse;

constexpr std::size_t kMostUnpackedBytes = 16u << 20;

// Addresses of the page; the script shows what belongs there.
constexpr std::array<std::string_view, 11> kPages = {
    "/",         "/s/{service}", "/diff",   "/traces", "/traces/{trace}", "/slow",
    "/insights", "/regressions", "/alerts", "/adhoc",  "/status"};

// Nothing from elsewhere, ever: the page works offline and cannot leak.
void AddPageHeaders(HttpResponse& response, bool forever) {
  response.headers["Content-Security-Policy"] =
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
      "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors "
      "'none'";
  response.headers["Referrer-Policy"] = "no-referrer";
  response.headers["Cache-Control"] = forever ? "public, max-age=31536000, immutable" : "no-cache";
}

HttpResponse Serve(const Asset& asset, const HttpRequest& request) {
  HttpResponse response{.content_type = std::string(asset.content_type)};
  AddPageHeaders(response, asset.path.starts_with("/assets/"));
  if (!asset.gzip) {
    response.body = asset.bytes;
  } else if (net::AcceptsGzip(request.Header("accept-encoding"))) {
    response.headers["Content-Encoding"] = "gzip";
    response.headers["Vary"] = "Accept-Encoding";
    response.body = asset.bytes;
  } else {
    auto plain = net::Decompress("gzip", asset.bytes, kMostUnpackedBytes);
    if (!plain) return net::JsonError(plain.error());
    response.body = std::move(*plain);
  }
  return response;
}

// A person who typed a wrong address, as opposed to a program that asks for data or sends some.
bool IsBrowsing(const HttpRequest& request) {
  return (request.method == "GET" || request.method == "HEAD") &&
         request.Header("accept").contains("text/html") &&
         !request.encoded_path.starts_with("/api/") &&
         !request.encoded_path.starts_with("/assets/");
}

}  // namespace

void AddPageRoutes(net::Router& router) {
  for (const Asset& asset : Assets()) {
    const auto serve = [&asset](const HttpRequest& request, const net::Respond& respond) {
      respond(Serve(asset, request));
    };
    if (asset.path != "/index.html") {
      router.Add("GET", std::string(asset.path), serve);
      continue;
    }
    for (const std::string_view page : kPages) router.Add("GET", std::string(page), serve);
    // A path that cannot be decoded: the page says what is wrong with it, and where to go on.
    router.SetRefusalFormat("", [&asset](const HttpRequest& request, int, const Error& error) {
      return IsBrowsing(request) ? Serve(asset, request) : net::JsonError(error);
    });
    router.SetFallback([&asset, &router](const HttpRequest& request, const net::Respond& respond) {
      const Error nothing(Code::kNotFound, fmt::format("there is nothing at {}", request.path));
      HttpResponse response =
          IsBrowsing(request) ? Serve(asset, request) : router.Refuse(request, 404, nothing);
      response.status = 404;
      respond(std::move(response));
    });
  }
}

}  // namespace wherefore::api
