#include <gtest/gtest.h>

#include "formats/formats.h"
#include "formats/testing.h"
#include "formats/wire/json.h"

namespace wherefore::formats {
namespace {

using testing::Shared;

TEST(OtlpJson, RandomProfilesSurviveTheRoundTrip) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const auto data = testing::RandomProfiles(seed, false);
    const auto decoded = DecodeOtlpProfiles(Shared(data.SerializeAsString()));
    ASSERT_TRUE(decoded);
    const std::string json = EncodeOtlpProfilesJson(decoded->data);
    const auto again = DecodeOtlpProfilesJson(Shared(json));
    ASSERT_TRUE(again) << seed << again.error().message();
    ASSERT_EQ(again->rejected, 0U) << again->message;
    testing::otlp::ProfilesData parsed;
    ASSERT_TRUE(parsed.ParseFromString(EncodeOtlpProfiles(again->data)));
    ASSERT_EQ(testing::Differences(testing::WithoutUnusedStrings(data), parsed), "") << seed;
  }
}

TEST(OtlpJson, RandomTracesSurviveTheRoundTrip) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const auto data = testing::RandomTraces(seed);
    const auto decoded = DecodeOtlpTraces(Shared(data.SerializeAsString()));
    ASSERT_TRUE(decoded);
    const auto again = DecodeOtlpTracesJson(Shared(EncodeOtlpTracesJson(decoded->data)));
    ASSERT_TRUE(again) << seed << again.error().message();
    testing::trace::TracesData parsed;
    ASSERT_TRUE(parsed.ParseFromString(EncodeOtlpTraces(again->data)));
    ASSERT_EQ(testing::Differences(data, parsed), "") << seed;
  }
}

TEST(OtlpJson, WritesTheGoldenVectorAsTheSpecificationWants) {
  const auto decoded = DecodeOtlpProfiles(Shared(testing::ReadFile("tests/golden/vector.otlp")));
  ASSERT_TRUE(decoded);
  const std::string json = EncodeOtlpProfilesJson(decoded->data);
  EXPECT_NE(json.find(R"("timeUnixNano":"1700000000000000000")"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("traceId":"0102030405060708090a0b0c0d0e0f10")"), std::string::npos);
  EXPECT_NE(json.find(R"("stackIndex":1,"attributeIndices":[1],"linkIndex":1,"values":["3"])"),
            std::string::npos);
  EXPECT_NE(json.find(R"("mappingTable":[{}])"), std::string::npos);
}

std::string SpanJson(const std::string& fields) {
  return R"({"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"5B8EFFF798038103D269B633813FC60C",)"
         R"("spanId":"eee19b7ec3c1b174","unknownKey":{"a":[1]},)" +
         fields + "}]}]}]}";
}

TEST(OtlpJson, AcceptsWhatSendersReallyWrite) {
  const auto decoded = DecodeOtlpTracesJson(Shared(SpanJson(
      R"("name":"x","kind":2,"start_time_unix_nano":1544712660000000000,"endTimeUnixNano":"1544712661000000000",)"
      R"("attributes":[{"key":"n","value":{"intValue":5}},{"key":"m","value":{"intValue":"-6"}},)"
      R"({"key":"d","value":{"doubleValue":"NaN"}}],"droppedAttributesCount":null)")));
  ASSERT_TRUE(decoded) << decoded.error().message();
  ASSERT_EQ(decoded->data.spans.size(), 1U) << decoded->message;
  const profile::Span& s = decoded->data.spans[0];
  EXPECT_EQ(s.trace[0], 0x5b);
  EXPECT_EQ(s.kind, 2);
  EXPECT_EQ(s.start_ns, 1544712660000000000U);
  EXPECT_EQ(s.end_ns, 1544712661000000000U);
  EXPECT_EQ(decoded->data.OwnAttributes(s.attributes)[1].value.number, -6);
}

TEST(OtlpJson, ProfileIdIsReadAsHexOrBase64) {
  for (const char* id : {"0102030405060708090a0b0c0d0e0f10", "AQIDBAUGBwgJCgsMDQ4PEA=="}) {
    const auto decoded = DecodeOtlpProfilesJson(
        Shared(R"({"resourceProfiles":[{"scopeProfiles":[{"profiles":[{"profileId":")" +
               std::string(id) + R"("}]}]}]})"));
    ASSERT_TRUE(decoded) << decoded.error().message();
    ASSERT_EQ(decoded->data.profiles.size(), 1U) << decoded->message;
    EXPECT_EQ(decoded->data.profiles[0].id[15], 16);
  }
}

TEST(OtlpJson, WrongValuesAreCorruptWithTheirPath) {
  const auto message = [](const std::string& fields) {
    const auto decoded = DecodeOtlpTracesJson(Shared(SpanJson(fields)));
    return decoded ? "decoded" : decoded.error().message();
  };
  EXPECT_EQ(message(R"("kind":"server")"),
            "resourceSpans[0].scopeSpans[0].spans[0].kind: a whole number is expected");
  EXPECT_EQ(message(R"("kind":1.5)"),
            "resourceSpans[0].scopeSpans[0].spans[0].kind: a whole number that fits is expected");
  EXPECT_NE(message(R"("startTimeUnixNano":-1)").find("startTimeUnixNano: "), std::string::npos);
  EXPECT_NE(message(R"("parentSpanId":"xyz!")").find("hex digits are expected"), std::string::npos);
  EXPECT_NE(message(R"("events":5)").find("events: an array is expected"), std::string::npos);
}

TEST(OtlpJson, DeepOrBrokenTextIsCorrupt) {
  const std::string deep = R"({"resourceSpans":)" + std::string(100'000, '[');
  EXPECT_EQ(DecodeOtlpTracesJson(Shared(deep)).error().code(), Code::kCorrupt);
  EXPECT_EQ(DecodeOtlpTracesJson(Shared("{\"a\":\"\xff\"}")).error().code(), Code::kCorrupt);
  EXPECT_EQ(DecodeOtlpTracesJson(Shared("")).error().code(), Code::kCorrupt);
  EXPECT_EQ(DecodeOtlpTracesJson(Shared("[]")).error().code(), Code::kCorrupt);
  EXPECT_TRUE(DecodeOtlpTracesJson(Shared("{}")));
}

TEST(OtlpResponse, IsEmptyWhenAllWasTaken) {
  EXPECT_EQ(EncodeExportResponse(Signal::kProfiles, false, 0, ""), "");
  EXPECT_EQ(EncodeExportResponse(Signal::kProfiles, true, 0, ""), "{}");
}

TEST(OtlpResponse, CountsAndExplainsWhatWasRejected) {
  EXPECT_EQ(EncodeExportResponse(Signal::kProfiles, false, 2, "bad index"),
            std::string("\x0a\x0d\x08\x02\x12\x09") + "bad index");
  EXPECT_EQ(EncodeExportResponse(Signal::kTraces, true, 2, "bad id"),
            R"({"partialSuccess":{"rejectedSpans":"2","errorMessage":"bad id"}})");
}

TEST(OtlpResponse, StatusCarriesRetryAndField) {
  const RpcStatus status{.code = 8, .message = "full", .field = "body", .retry_delay_ms = 1500};
  EXPECT_EQ(
      EncodeRpcStatus(status, true),
      R"({"code":8,"message":"full","details":[{"@type":"type.googleapis.com/google.rpc.BadRequest",)"
      R"("fieldViolations":[{"field":"body","description":"full"}]},)"
      R"({"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1.500s"}]})");
  const std::string binary = EncodeRpcStatus(status, false);
  EXPECT_NE(binary.find("type.googleapis.com/google.rpc.RetryInfo"), std::string::npos);
  // Duration {1: 1, 2: 500000000}
  EXPECT_NE(binary.find(std::string("\x0a\x08\x08\x01\x10\x80\xca\xb5\xee\x01", 10)),
            std::string::npos);
}

TEST(OtlpAnswers, OfServersAreRead) {
  for (const bool json : {false, true}) {
    for (const Signal signal : {Signal::kProfiles, Signal::kTraces}) {
      const ExportAnswer partial =
          DecodeExportResponse(json, EncodeExportResponse(signal, json, 7, "seven had no time"));
      EXPECT_EQ(partial.rejected, 7u);
      EXPECT_EQ(partial.message, "seven had no time");
      EXPECT_EQ(DecodeExportResponse(json, EncodeExportResponse(signal, json, 0, "")).rejected, 0u);
    }
    const RpcStatus status = DecodeRpcStatus(json, EncodeRpcStatus({14, "busy", "", 1500}, json));
    EXPECT_EQ(status.code, 14);
    EXPECT_EQ(status.message, "busy");
    EXPECT_EQ(status.retry_delay_ms, json ? -1 : 1500);
    EXPECT_EQ(DecodeExportResponse(json, "<html>\xff").message, "");
    EXPECT_EQ(DecodeRpcStatus(json, "<html>\xff").retry_delay_ms, -1);
  }
}

}  // namespace
}  // namespace wherefore::formats
