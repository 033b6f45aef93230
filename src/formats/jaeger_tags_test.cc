#include "formats/jaeger_tags.h"

#include <gtest/gtest.h>

namespace wherefore::formats {
namespace {

TEST(JaegerTags, BothFormsAreTheSame) {
  const TagList expected = {{"error", "true"}, {"http.status_code", "500"}, {"route", "/a b"}};
  for (const char* text : {R"({"error":true,"http.status_code":500,"route":"/a b"})",
                           R"( error=true  http.status_code:500 route="/a b")"}) {
    const auto tags = ParseJaegerTags(text);
    ASSERT_TRUE(tags) << text;
    EXPECT_EQ(*tags, expected) << text;
  }
  EXPECT_TRUE(ParseJaegerTags("")->empty());
}

TEST(JaegerTags, AnythingElseIsRefused) {
  for (const char* text : {"{", "{\"a\":[]}", "word", "=x", "a=1 b"}) {
    EXPECT_FALSE(ParseJaegerTags(text)) << text;
  }
}

}  // namespace
}  // namespace wherefore::formats
