#include <gtest/gtest.h>

#include "formats/formats.h"
#include "formats/testing.h"

namespace wherefore::formats {
namespace {

using testing::Shared;
using testing::trace::TracesData;

DecodedSpans MustDecode(const TracesData& data) {
  auto decoded = DecodeOtlpTraces(Shared(data.SerializeAsString()));
  EXPECT_TRUE(decoded) << decoded.error().message();
  EXPECT_TRUE(decoded->data.Validate());
  return std::move(*decoded);
}

TracesData TwoSpans() {
  TracesData data;
  auto* ss = data.add_resource_spans()->add_scope_spans();
  for (int i = 0; i < 2; ++i) {
    auto* s = ss->add_spans();
    s->set_trace_id(std::string(16, 'a'));
    s->set_span_id(std::string(8, 'b'));
    s->set_name("GET /");
  }
  return data;
}

void ExpectSecondRejected(const TracesData& data, std::string_view reason) {
  const DecodedSpans decoded = MustDecode(data);
  EXPECT_EQ(decoded.rejected, 1U);
  EXPECT_EQ(decoded.data.spans.size(), 1U);
  EXPECT_NE(decoded.message.find(reason), std::string::npos) << decoded.message;
}

TEST(OtlpTraces, RandomMessagesSurviveTheRoundTrip) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const TracesData data = testing::RandomTraces(seed);
    const DecodedSpans decoded = MustDecode(data);
    ASSERT_EQ(decoded.rejected, 0U) << decoded.message;
    TracesData again;
    ASSERT_TRUE(again.ParseFromString(EncodeOtlpTraces(decoded.data)));
    ASSERT_EQ(testing::Differences(data, again), "") << seed;
  }
}

TEST(OtlpTraces, IdsOfOtherLengthsRejectTheirSpan) {
  TracesData data = TwoSpans();
  auto* span = data.mutable_resource_spans(0)->mutable_scope_spans(0)->mutable_spans(1);
  span->set_trace_id("abc");
  ExpectSecondRejected(data,
                       "resource_spans[0].scope_spans[0].spans[1].trace_id: 3 bytes (16 expected)");
  span->set_trace_id(std::string(16, '\0'));
  ExpectSecondRejected(data, "trace_id: missing or all zero");
  span->set_trace_id(std::string(16, 'a'));
  span->set_parent_span_id("x");
  ExpectSecondRejected(data, "parent_span_id: 1 bytes");
}

TEST(OtlpTraces, TextThatIsNotUtf8RejectsItsSpan) {
  TracesData data = TwoSpans();
  data.mutable_resource_spans(0)->mutable_scope_spans(0)->mutable_spans(1)->set_name("GET !");
  std::string bytes = data.SerializeAsString();
  bytes[bytes.find('!')] = '\xfe';
  auto decoded = DecodeOtlpTraces(Shared(bytes));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->rejected, 1U);
  EXPECT_NE(decoded->message.find("spans[1].name: text is not UTF-8"), std::string::npos)
      << decoded->message;
}

TEST(OtlpTraces, TruncatedBytesAreCorrupt) {
  const std::string bytes = TwoSpans().SerializeAsString();
  auto decoded = DecodeOtlpTraces(Shared(bytes.substr(0, bytes.size() - 1)));
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code(), Code::kCorrupt);
}

}  // namespace
}  // namespace wherefore::formats
