// The parts of HTTP that need no socket: requests, errors, routes, URLs.
#include "net/http.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "net/url.h"

namespace wherefore::net {
namespace {

HttpHandler Answer(const std::string& text) {
  return [text](const HttpRequest& request, const Respond& respond) {
    HttpResponse response;
    response.body = text + std::string(request.Header(":id"));
    respond(std::move(response));
  };
}

HttpResponse Ask(const Router& router, std::string method, std::string path) {
  HttpRequest request;
  request.method = std::move(method);
  request.path = std::move(path);
  HttpResponse answer;
  router.Handle(std::move(request), [&](HttpResponse response) { answer = std::move(response); });
  return answer;
}

TEST(Router, ASegmentMayContainAnEncodedSlash) {
  Router router;
  std::string name;
  router.Add("GET", "/labels/{name}/values",
             [&](const HttpRequest& request, const Respond& respond) {
               name = request.Header(":name");
               respond({});
             });
  HttpRequest request;
  request.method = "GET";
  request.path = "/labels/app.kubernetes.io/name/values";
  request.encoded_path = "/labels/app.kubernetes.io%2Fname/values";
  int status = 0;
  router.Handle(std::move(request),
                [&](const HttpResponse& response) { status = response.status; });
  EXPECT_EQ(status, 200);
  EXPECT_EQ(name, "app.kubernetes.io/name");
}

TEST(Router, FindsTheHandlerByMethodAndPath) {
  Router router;
  router.Add("GET", "/", Answer("root"));
  router.Add("GET", "/a/b", Answer("get"));
  router.Add("POST", "/a/b", Answer("post"));
  router.Add("GET", "/trace/{id}/flame", Answer("trace "));
  EXPECT_EQ(Ask(router, "GET", "/").body, "root");
  EXPECT_EQ(Ask(router, "GET", "/a/b").body, "get");
  EXPECT_EQ(Ask(router, "POST", "/a/b").body, "post");
  EXPECT_EQ(Ask(router, "HEAD", "/a/b").body, "get");
  EXPECT_EQ(Ask(router, "GET", "/trace/4f x/flame").body, "trace 4f x");
  EXPECT_EQ(Ask(router, "GET", "/a/b/").status, 404);
  EXPECT_EQ(Ask(router, "GET", "/trace//flame").status, 404);
  EXPECT_EQ(router.Routes().at(3), "GET /trace/{id}/flame");
}

TEST(Router, TellsAWrongMethodFromAnUnknownPath) {
  Router router;
  router.Add("POST", "/v1/profiles", Answer(""));
  EXPECT_EQ(Ask(router, "GET", "/nowhere").status, 404);
  const HttpResponse response = Ask(router, "GET", "/v1/profiles");
  EXPECT_EQ(response.status, 405);
  EXPECT_EQ(response.headers.at("allow"), "POST");
  router.SetFallback(Answer("fallback"));
  EXPECT_EQ(Ask(router, "GET", "/nowhere").body, "fallback");
  EXPECT_EQ(Ask(router, "GET", "/v1/profiles").status, 405);
}

TEST(Router, ARouteCanGiveRefusalsItsOwnForm) {
  Router router;
  router.Add("POST", "/v1/profiles", Answer(""));
  router.SetRefusalFormat("/v1/profiles", [](const HttpRequest&, int status, const Error& error) {
    HttpResponse response;
    response.body = fmt::format("{}: {}", status, error.message());
    return response;
  });
  EXPECT_EQ(Ask(router, "GET", "/v1/profiles").status, 405);
  EXPECT_EQ(Ask(router, "GET", "/v1/profiles").body.substr(0, 4), "405:");
  EXPECT_EQ(Ask(router, "GET", "/other").body.substr(0, 2), "{\"");
}

TEST(HttpRequest, ReadsHeadersTypesAndParameters) {
  HttpRequest request;
  request.headers["content-TYPE"] = "Application/JSON ; charset=utf-8";
  request.query = "q=a%20b+c&flag&q=%zz&empty=&&x=%26";
  EXPECT_EQ(request.Header("Content-Type").size(), 32u);
  EXPECT_EQ(request.Header("Absent"), "");
  EXPECT_EQ(request.ContentType(), "application/json");
  const std::vector<std::pair<std::string, std::string>> want = {
      {"q", "a b c"}, {"flag", ""}, {"q", "%zz"}, {"empty", ""}, {"x", "&"}};
  EXPECT_EQ(request.QueryParameters(), want);
}

TEST(JsonError, SaysCodeAndMessage) {
  const HttpResponse response = JsonError(Error(Code::kInvalid, "bad \"x\""));
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(response.body, R"({"error":{"code":"invalid","message":"bad \"x\""}})");
  EXPECT_EQ(JsonError(Error(Code::kLimit, "")).headers.count("Retry-After"), 1u);
}

TEST(Url, TakesApartWhatPeopleWrite) {
  const Url url = ParseUrl("https://[::1]:4040/a?b=c#d").value();
  EXPECT_TRUE(url.tls);
  EXPECT_EQ(url.host, "::1");
  EXPECT_EQ(url.port, 4040);
  EXPECT_EQ(url.authority, "[::1]:4040");
  EXPECT_EQ(url.target, "/a?b=c");
  EXPECT_EQ(ParseUrl("http://host").value().port, 80);
  EXPECT_EQ(ParseUrl("http://host?x").value().target, "/?x");
  for (const char* bad :
       {"host:1", "ftp://x", "http://", "http://h:0", "http://h:70000", "http://h:x", "http://[::1",
        "http://u@h/", "http://h/a b", "http://h/\r\nX: y"}) {
    EXPECT_FALSE(ParseUrl(bad)) << bad;
  }
}

TEST(Percent, EncodesAndDecodes) {
  EXPECT_EQ(PercentEncode("a b/ä~"), "a%20b%2F%C3%A4~");
  EXPECT_EQ(PercentDecode("a%20b%2F%C3%A4~+", false), "a b/ä~+");
  EXPECT_EQ(PercentDecode("%4", false), std::nullopt);
  EXPECT_EQ(PercentDecode("%g0", false), std::nullopt);
}

}  // namespace
}  // namespace wherefore::net
