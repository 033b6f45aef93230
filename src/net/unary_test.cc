#include "net/unary.h"

#include <gtest/gtest.h>

namespace wherefore::net {
namespace {

constexpr const char* kMethod = "/test.v1.EchoService/Echo";

// Echoes the message; refuses "bad".
void Echo(const UnaryRequest& request, const UnaryRespond& respond) {
  if (*request.body == "bad") return respond(Error(Code::kInvalid, "body: is bad"));
  respond((request.json ? "json " : "proto ") + *request.body);
}

struct Fixture {
  Fixture() { AddUnary(http, *grpc, kMethod, Echo); }
  HttpResponse Post(const std::string& type, const std::string& body) const {
    HttpRequest request;
    request.method = "POST";
    request.path = kMethod;
    request.headers["Content-Type"] = type;
    request.body = std::make_shared<const std::string>(body);
    HttpResponse answer;
    http.Handle(std::move(request), [&](HttpResponse r) { answer = std::move(r); });
    return answer;
  }
  GrpcResponse Call(const std::string& method, const std::string& body) const {
    GrpcRequest request;
    request.method = method;
    request.body = std::make_shared<const std::string>(body);
    GrpcResponse answer;
    Routed(grpc, [](const GrpcRequest& asked, const auto& respond) {
      respond({12, "no " + asked.method, {}, {}});
    })(std::move(request), [&](GrpcResponse r) { answer = std::move(r); });
    return answer;
  }
  Router http;
  std::shared_ptr<GrpcRouter> grpc = std::make_shared<GrpcRouter>();
};

TEST(Unary, AnswersInTheEncodingOfTheRequest) {
  const Fixture f;
  const HttpResponse proto = f.Post("application/proto", "x");
  EXPECT_EQ(proto.status, 200);
  EXPECT_EQ(proto.content_type, "application/proto");
  EXPECT_EQ(proto.body, "proto x");
  const HttpResponse json = f.Post("application/json; charset=utf-8", "x");
  EXPECT_EQ(json.content_type, "application/json");
  EXPECT_EQ(json.body, "json x");
}

TEST(Unary, ErrorsHaveTheFormOfTheirProtocol) {
  const Fixture f;
  const HttpResponse http = f.Post("application/proto", "bad");
  EXPECT_EQ(http.status, 400);
  EXPECT_EQ(http.content_type, "application/json");
  EXPECT_EQ(http.body, R"({"code":"invalid_argument","message":"body: is bad"})");
  const GrpcResponse grpc = f.Call(kMethod, "bad");
  EXPECT_EQ(grpc.status, 3);
  EXPECT_EQ(grpc.message, "body: is bad");
}

TEST(Unary, OtherContentTypesAre415) {
  const HttpResponse response = Fixture().Post("text/plain", "x");
  EXPECT_EQ(response.status, 415);
  EXPECT_NE(response.body.find("application/proto"), std::string::npos);
}

TEST(Unary, GrpcReachesTheSameHandlerAndTheFallbackTheRest) {
  const Fixture f;
  EXPECT_EQ(f.Call(kMethod, "x").body, "proto x");
  EXPECT_EQ(f.Call("/other", "x").status, 12);
}

TEST(Unary, RefusalsOfTheServerSpeakConnect) {
  const Fixture f;
  HttpRequest request;
  request.path = kMethod;
  const HttpResponse response = f.http.Refuse(request, 413, Error(Code::kLimit, "too large"));
  EXPECT_EQ(response.status, 413);
  EXPECT_EQ(response.body, R"({"code":"resource_exhausted","message":"too large"})");
}

}  // namespace
}  // namespace wherefore::net
