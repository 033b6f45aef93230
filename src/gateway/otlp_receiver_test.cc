// The receivers over real sockets, with a sink that records requests and gives prescribed answers.
#include "gateway/otlp_receiver.h"

#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/gzip.h"
#include "base/metrics.h"
#include "base/test_source.h"
#include "gateway/test_sink.h"
#include "net/http_client.h"
#include "net/test_grpc.h"

namespace wherefore::gateway {
namespace {

constexpr const char* kProfilesMethod =
    "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export";
constexpr const char* kTraceMethod = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";

// The 215 bytes of one conforming request: service "s", function "main", 3 samples of 50 ms.
std::string Vector() {
  std::ifstream in(TestSource("tests/golden/vector.otlp"), std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  EXPECT_EQ(bytes.size(), 215u);
  return bytes;
}

class OtlpReceiverTest : public testing::Test {
 protected:
  void Start(OtlpReceiver::Options options = {}, net::HttpServerOptions http_options = {}) {
    receiver_.emplace(Intake(sink_, metrics_), options);
    auto router = std::make_shared<net::Router>();
    receiver_->AddRoutes(*router);
    http_.emplace(io_, std::move(http_options), router);
    ASSERT_TRUE(http_->Start());
    grpc_.emplace(io_, net::GrpcServerOptions{}, receiver_->grpc_handler());
    ASSERT_TRUE(grpc_->Start());
  }
  [[nodiscard]] net::ClientResponse Post(std::string_view body,
                                         std::string_view type = "application/x-protobuf",
                                         const char* path = "/v1development/profiles",
                                         net::Headers headers = {},
                                         const char* method = "POST") const {
    net::ClientOptions options;
    options.headers = std::move(headers);
    auto response = net::Fetch(method, fmt::format("http://127.0.0.1:{}{}", http_->port(), path),
                               body, type, options);
    EXPECT_TRUE(response) << response.error().message();
    return response ? *std::move(response) : net::ClientResponse{};
  }
  [[nodiscard]] net::GrpcOutcome Call(std::string_view body,
                                      const std::string& method = kProfilesMethod,
                                      const net::Headers& metadata = {}) const {
    return net::CallGrpc(grpc_->port(), method, body, metadata);
  }
  static std::string Status(const formats::RpcStatus& status, bool json = false) {
    return formats::EncodeRpcStatus(status, json);
  }

  FakeSink sink_;
  net::IoThreads io_{2};
  std::shared_ptr<ReceiverMetrics> metrics_ = std::make_shared<ReceiverMetrics>();
  std::optional<OtlpReceiver> receiver_;
  std::optional<net::HttpServer> http_;
  std::optional<net::GrpcServer> grpc_;
};

TEST_F(OtlpReceiverTest, OneRequestIsTheSameByEveryRoad) {
  Start();
  const std::string vector = Vector();
  const std::int64_t before = NowUnixNs();
  EXPECT_EQ(Post(vector).status, 200);
  EXPECT_EQ(Post(vector, "application/protobuf", "/v1/profiles").headers.at("Content-Type"),
            "application/protobuf");
  EXPECT_EQ(Post(Gzip(vector), "application/x-protobuf", "/v1development/profiles",
                 {{"Content-Encoding", "gzip"}})
                .body,
            "");
  EXPECT_EQ(Call(vector).status, 0);
  EXPECT_EQ(
      Call(vector, "/opentelemetry.proto.collector.profiles.v1.ProfilesService/Export").status, 0);
  EXPECT_EQ(net::CallGrpc(grpc_->port(), kProfilesMethod, vector, {}, true).status, 0);
  const auto requests = sink_.Take();
  ASSERT_EQ(requests.size(), 6u);
  for (const auto& request : requests) {
    EXPECT_EQ(request.identity, requests[0].identity);
    EXPECT_EQ(request.body_bytes, 215u);
    EXPECT_EQ(request.tenant, 0u);
    EXPECT_GE(request.arrival_ns, before);
    const auto& batch = std::get<profile::Batch>(request.data);
    ASSERT_EQ(batch.profiles.size(), 1u);
    EXPECT_EQ(profile::ServiceName(batch, batch.resources[batch.profiles[0].resource]), "s");
    EXPECT_EQ(batch.samples.size(), 1u);
  }
}

TEST_F(OtlpReceiverTest, JsonIsAnsweredInJson) {
  Start();
  const auto decoded = formats::DecodeOtlpProfiles(std::make_shared<const std::string>(Vector()));
  const std::string json = formats::EncodeOtlpProfilesJson(decoded->data);
  const net::ClientResponse response = Post(json, "application/json; charset=utf-8");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.at("Content-Type"), "application/json");
  EXPECT_EQ(response.body, "{}");
  ASSERT_EQ(sink_.Take().size(), 1u);
  const net::ClientResponse bad = Post("{\"resourceProfiles\": 7", "application/json");
  EXPECT_EQ(bad.status, 400);
  EXPECT_EQ(bad.headers.at("Content-Type"), "application/json");
  EXPECT_EQ(bad.body.substr(0, 9), "{\"code\":3");
}

TEST_F(OtlpReceiverTest, TakesTraces) {
  Start();
  const std::string json = R"({"resourceSpans":[{"resource":{"attributes":[{"key":"service.name",
    "value":{"stringValue":"shop"}}]},"scopeSpans":[{"spans":[{"traceId":"5b8efff798038103d269b633813fc60c",
    "spanId":"eee19b7ec3c1b174","name":"GET /","startTimeUnixNano":"1700000000000000000",
    "endTimeUnixNano":"1700000000100000000"}]}]}]})";
  EXPECT_EQ(Post(json, "application/json", "/v1/traces").status, 200);
  const auto requests = sink_.Take();
  ASSERT_EQ(requests.size(), 1u);
  const auto& spans = std::get<profile::SpanBatch>(requests[0].data);
  ASSERT_EQ(spans.spans.size(), 1u);
  const std::string binary = formats::EncodeOtlpTraces(spans);
  EXPECT_EQ(Post(binary, "application/x-protobuf", "/v1/traces").status, 200);
  EXPECT_EQ(Call(binary, kTraceMethod).status, 0);
  const auto again = sink_.Take();
  ASSERT_EQ(again.size(), 2u);
  EXPECT_EQ(again[0].identity, again[1].identity);
  EXPECT_NE(again[0].identity, requests[0].identity) << "JSON is another body";
}

TEST_F(OtlpReceiverTest, AnEmptyRequestIsASuccessAndReachesNobody) {
  Start();
  EXPECT_EQ(Post("").status, 200);
  EXPECT_EQ(Post("{}", "application/json").body, "{}");
  EXPECT_EQ(Post("", "application/x-protobuf", "/v1/traces").status, 200);
  EXPECT_EQ(Call("").status, 0);
  EXPECT_TRUE(sink_.Take().empty());
}

TEST_F(OtlpReceiverTest, OnlyWhatIsWrongAtAPlaceNamesAField) {
  Start();
  const std::string placed =
      Post(R"({"resourceProfiles":[{"scopeProfiles":7}]})", "application/json").body;
  EXPECT_NE(placed.find(R"("field":"resourceProfiles[0].scopeProfiles")"), std::string::npos)
      << placed;
  // "JSON: ..." begins with a word and a colon, too, but is not a place.
  const std::string nowhere = Post("{", "application/json").body;
  EXPECT_NE(nowhere.find("JSON: "), std::string::npos) << nowhere;
  EXPECT_EQ(nowhere.find("BadRequest"), std::string::npos) << nowhere;
}

TEST_F(OtlpReceiverTest, MalformedBytesAreRefusedForGoodWithTheField) {
  Start();
  const std::string bad = Vector().substr(0, 100);
  const net::ClientResponse response = Post(bad);
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(response.headers.at("Content-Type"), "application/x-protobuf");
  EXPECT_NE(response.body.find("google.rpc.BadRequest"), std::string::npos);
  EXPECT_FALSE(response.headers.contains("Retry-After"));
  const net::GrpcOutcome outcome = Call(bad);
  EXPECT_EQ(outcome.status, 3);
  EXPECT_FALSE(outcome.message.empty());
  EXPECT_EQ(outcome.details, response.body) << "the same status by both roads";
  EXPECT_TRUE(sink_.Take().empty());
}

TEST_F(OtlpReceiverTest, PartialSuccessSaysHowManyAndWhy) {
  Start();
  sink_.AnswerNext(profile::WriteAnswer{2, "two are from the year 2200", false});
  const net::ClientResponse response = Post(Vector());
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, formats::EncodeExportResponse(formats::Signal::kProfiles, false, 2,
                                                         "two are from the year 2200"));
  sink_.AnswerNext(profile::WriteAnswer{2, "two are from the year 2200", false});
  EXPECT_EQ(Call(Vector()).body, response.body);
}

TEST_F(OtlpReceiverTest, MessagesAreAlwaysUtf8AndBounded) {
  Start();
  sink_.AnswerNext(profile::WriteAnswer{1, std::string(70'000, '\xc3'), false});
  EXPECT_EQ(Post(Vector()).body, formats::EncodeExportResponse(formats::Signal::kProfiles, false, 1,
                                                               std::string(65'536, '?')));
}

TEST_F(OtlpReceiverTest, TheSinksErrorsBecomeWhatASenderMustDo) {
  Start();
  struct Case {
    Code code;
    int http;
    int grpc;
    const char* retry_after;
    std::int64_t retry_ms;
  };
  for (const Case& c :
       {Case{Code::kUnavailable, 503, 14, "5", 5000}, Case{Code::kIo, 503, 14, "5", 5000},
        Case{Code::kLimit, 429, 8, "1", 1000}, Case{Code::kInvalid, 400, 3, "", -1},
        Case{Code::kInternal, 500, 13, "", -1}}) {
    sink_.AnswerNext(Error(c.code, "so it is"));
    const net::ClientResponse response = Post(Vector());
    EXPECT_EQ(response.status, c.http);
    EXPECT_EQ(response.body, Status({c.grpc, "so it is", {}, c.retry_ms}));
    const auto retry = response.headers.find("Retry-After");
    EXPECT_EQ(retry == response.headers.end() ? "" : retry->second, c.retry_after);
    sink_.AnswerNext(Error(c.code, "so it is"));
    const net::GrpcOutcome outcome = Call(Vector());
    EXPECT_EQ(outcome.status, c.grpc);
    EXPECT_EQ(outcome.message, "so it is");
    EXPECT_EQ(outcome.details, c.retry_ms < 0 ? "" : response.body);
  }
}

TEST_F(OtlpReceiverTest, OtherSignalsMethodsAndTypesAreRefusedClearly) {
  Start();
  for (const char* path : {"/v1/metrics", "/v1/logs"}) {
    const net::ClientResponse response = Post("{}", "application/json", path);
    EXPECT_EQ(response.status, 404);
    EXPECT_EQ(response.body,
              Status({12, "this server accepts only profiles and traces", {}, -1}, true));
  }
  const net::ClientResponse type = Post("x", "text/plain");
  EXPECT_EQ(type.status, 415);
  EXPECT_EQ(type.headers.at("Content-Type").substr(0, 10), "text/plain");
  EXPECT_EQ(Post("x", "").status, 415);
  const net::ClientResponse get = Post("", "", "/v1development/profiles", {}, "GET");
  EXPECT_EQ(get.status, 405);
  EXPECT_EQ(get.headers.at("Allow"), "POST");
  EXPECT_EQ(get.headers.at("Content-Type").substr(0, 10), "text/plain");
  EXPECT_EQ(Post("x", "application/json", "/v1/traces", {{"Content-Encoding", "br"}}).status, 415);

  const auto metrics = Call("", "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export");
  EXPECT_EQ(metrics.status, 12);
  EXPECT_EQ(metrics.message, "this server accepts only profiles and traces");
  const auto old =
      Call("", "/opentelemetry.proto.collector.profiles.v1experimental.ProfilesService/Export");
  EXPECT_EQ(old.status, 12);
  EXPECT_NE(old.message.find("v1experimental"), std::string::npos);
  EXPECT_EQ(Call("", "/some.Service/Method").status, 12);
}

TEST_F(OtlpReceiverTest, TheServersOwnRefusalsSpeakOtlpToo) {
  net::HttpServerOptions options;
  options.max_body_bytes = 1000;
  options.max_inflight_bytes = 500;
  Start({}, std::move(options));
  const net::ClientResponse large = Post(std::string(1001, 'x'));
  EXPECT_EQ(large.status, 413);
  EXPECT_EQ(large.headers.at("Content-Type"), "application/x-protobuf");
  EXPECT_EQ(large.body, Status({8, "the body is larger than 1000 bytes", {}, -1}))
      << "no RetryInfo: not retryable";
  const net::ClientResponse json = Post(std::string(1001, 'x'), "application/json");
  EXPECT_EQ(json.body.substr(0, 9), "{\"code\":8");
  EXPECT_EQ(Post(std::string(1001, 'x'), "application/x-protobuf", "/v1/metrics").body, large.body);
  const net::ClientResponse busy = Post(std::string(501, 'x'));
  EXPECT_EQ(busy.status, 429);
  EXPECT_EQ(busy.headers.at("Retry-After"), "1");
  EXPECT_NE(busy.body.find("google.rpc.RetryInfo"), std::string::npos);
  EXPECT_EQ(
      Post("x", "application/x-protobuf", "/v1/traces", {{"Content-Encoding", "gzip"}}).status,
      400);
}

TEST_F(OtlpReceiverTest, WhatIsRefusedForLackOfMemoryMayBeTriedAgain) {
  Start();
  net::Router router;
  receiver_->AddRoutes(router);
  for (const char* type : {"application/x-protobuf", "application/json"}) {
    const net::HttpResponse refused =
        router.Refuse({.path = "/v1/traces", .headers = {{"Content-Type", type}}}, 503,
                      Error(Code::kUnavailable, "not now"));
    EXPECT_EQ(refused.status, 503);
    EXPECT_EQ(refused.content_type, type);
    EXPECT_EQ(refused.headers.at("Retry-After"), "1");
    EXPECT_NE(refused.body.find("google.rpc.RetryInfo"), std::string::npos);
    EXPECT_TRUE(refused.body.starts_with("\x08\x0e") || refused.body.starts_with("{\"code\":14"));
  }
}

TEST_F(OtlpReceiverTest, ATenantCountsOnlyWhenAskedFor) {
  Start();
  static_cast<void>(
      Post(Vector(), "application/x-protobuf", "/v1/profiles", {{"X-Scope-OrgID", "team"}}));
  auto requests = sink_.Take();
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].tenant, 0u);
  const Hash128 without = requests[0].identity;

  Start({.tenants = true});
  static_cast<void>(Post(Vector()));
  static_cast<void>(
      Post(Vector(), "application/x-protobuf", "/v1/profiles", {{"X-Scope-OrgID", "team"}}));
  static_cast<void>(Call(Vector(), kProfilesMethod, {{"x-scope-orgid", "team"}}));
  requests = sink_.Take();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[0].tenant, 0u);
  EXPECT_EQ(requests[0].identity, without);
  EXPECT_EQ(requests[1].tenant, profile::TenantNumber("team"));
  EXPECT_EQ(requests[2].tenant, profile::TenantNumber("team"));
  EXPECT_NE(requests[1].identity, without);
  EXPECT_EQ(requests[1].identity, requests[2].identity);
}

TEST_F(OtlpReceiverTest, CountsAndReports) {
  Start();
  const auto value = [](std::string_view name, const MetricLabels& labels = {}) {
    return Metrics::Global().GetCounter(name, "", labels).value();
  };
  const MetricLabels grpc = {{"signal", "profiles"}, {"transport", "grpc"}};
  const MetricLabels malformed = {{"signal", "profiles"}, {"reason", "malformed"}};
  const auto requests = value("wherefore_received_requests_total", grpc);
  const auto bytes = value("wherefore_received_bytes_total", grpc);
  const auto samples = value("wherefore_received_samples_total");
  const auto refused = value("wherefore_refused_total", malformed);
  const auto rejected = value("wherefore_rejected_profiles_total");
  sink_.AnswerNext(profile::WriteAnswer{1, "one", false});
  static_cast<void>(Call(Vector()));
  static_cast<void>(Call("\xff\xff"));
  EXPECT_EQ(value("wherefore_received_requests_total", grpc), requests + 2);
  EXPECT_EQ(value("wherefore_received_bytes_total", grpc), bytes + 217);
  EXPECT_EQ(value("wherefore_received_samples_total"), samples + 1);
  EXPECT_EQ(value("wherefore_refused_total", malformed), refused + 1);
  EXPECT_EQ(value("wherefore_rejected_profiles_total"), rejected + 1);
  EXPECT_TRUE(metrics_->Report().problems.empty());
  sink_.AnswerNext(Error(Code::kIo, "the disk is full"));
  static_cast<void>(Call(Vector()));
  ASSERT_EQ(metrics_->Report().problems.size(), 1u);
  EXPECT_NE(metrics_->Report().problems[0].what.find("the disk is full"), std::string::npos);
  static_cast<void>(Call(Vector()));
  EXPECT_TRUE(metrics_->Report().problems.empty());
}

}  // namespace
}  // namespace wherefore::gateway
