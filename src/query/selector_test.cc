#include "query/selector.h"

#include <gtest/gtest.h>

namespace wherefore::query {
namespace {

TEST(Selector, ReadsEveryForm) {
  const auto s =
      Selector::Parse(R"(checkout{version="v2", host!=a-1, path=~"/api/.*", env!~dev|test})");
  ASSERT_TRUE(s) << s.error().message();
  EXPECT_TRUE(s->MatchesService("checkout"));
  EXPECT_FALSE(s->MatchesService("checkout2"));
  const Labels good = {{"env", "prod"}, {"host", "b"}, {"path", "/api/x"}, {"version", "v2"}};
  EXPECT_TRUE(s->MatchesLabels(good));
  for (std::size_t i = 0; i < good.size(); ++i) {
    Labels bad = good;
    bad[i].second = i == 0 ? "dev" : i == 1 ? "a-1" : "x";
    EXPECT_FALSE(s->MatchesLabels(bad)) << bad[i].first;
  }
  EXPECT_EQ(Selector::Parse(s->Text())->Text(), s->Text());
}

TEST(Selector, TreatsBothServiceLabelsAsTheService) {
  EXPECT_TRUE(Selector::Parse(R"({service_name="a"})")->MatchesService("a"));
  EXPECT_FALSE(Selector::Parse(R"({service.name=~"b.*"})")->MatchesService("a"));
  EXPECT_TRUE(Selector::Parse("")->MatchesService("anything"));
  EXPECT_TRUE(Selector::Parse("my-service{commit=abc123}")->MatchesLabels({{"commit", "abc123"}}));
}

TEST(Selector, AMissingLabelIsTheEmptyString) {
  EXPECT_TRUE(Selector::Parse(R"({a=""})")->MatchesLabels({}));
  EXPECT_TRUE(Selector::Parse(R"({a!="x"})")->MatchesLabels({}));
  EXPECT_FALSE(Selector::Parse(R"({a=~".+"})")->MatchesLabels({}));
}

TEST(Selector, TextThatIsNotUtf8IsNoRegularExpression) {
  const auto regex = CompileRegex("a\xc3");
  ASSERT_FALSE(regex);
  EXPECT_EQ(regex.error().message(), "byte 2 is not UTF-8 (0xc3)");
}

TEST(Selector, KeepsRegexEscapesInsideQuotes) {
  EXPECT_TRUE(Selector::Parse(R"({a=~"v\d+"})")->MatchesLabels({{"a", "v12"}}));
  EXPECT_TRUE(Selector::Parse(R"({a="say \"hi\""})")->MatchesLabels({{"a", "say \"hi\""}}));
}

TEST(Selector, ErrorsNameThePlace) {
  for (const auto* bad :
       {"a{", "a{b", "a{b}", "a{b=\"x", "a{=x}", "a{b=x}c", "a{b=~\"(\"}", "a{b=\"x\" c=y}"}) {
    const auto s = Selector::Parse(bad);
    ASSERT_FALSE(s) << bad;
    EXPECT_EQ(s.error().code(), Code::kInvalid);
  }
  EXPECT_NE(Selector::Parse("a{b}").error().message().find("character 4"), std::string::npos);
}

TEST(Selector, ReadsPrometheusSeriesSelectors) {
  const auto s = Selector::ParseSeries(
      R"(process_cpu{"k8s.pod.name"='a"b', path=~`\d+`, service_name="shop", __type__!="samples"})");
  ASSERT_TRUE(s) << s.error().message();
  EXPECT_TRUE(s->MatchesService("shop"));
  EXPECT_FALSE(s->MatchesService("process_cpu"));
  EXPECT_TRUE(s->MatchesLabels({{"k8s.pod.name", "a\"b"}, {"path", "12"}}));
  EXPECT_FALSE(s->MatchesLabels({{"k8s.pod.name", "a\"b"}, {"path", "x"}}));
  EXPECT_TRUE(s->MatchesType("process_cpu:cpu:nanoseconds:cpu:nanoseconds"));
  EXPECT_FALSE(s->MatchesType("process_cpu:samples:count:cpu:nanoseconds"));
  EXPECT_FALSE(s->MatchesType("memory:cpu:nanoseconds:cpu:nanoseconds"));
  EXPECT_TRUE(Selector::ParseSeries("{}")->MatchesLabels({}));
  EXPECT_FALSE(Selector::ParseSeries(R"({"memory"})")->MatchesType("wall:a:b:c:d"));
  for (const char* bad : {"{a=b}", "{a}", "{\"a\"=}", "{a=\"b\"", "{a=~\"(\"}"}) {
    EXPECT_FALSE(Selector::ParseSeries(bad)) << bad;
  }
}

TEST(Selector, SeveralSelectorsHoldTogether) {
  auto s = *Selector::ParseSeries(R"({a="1"})");
  s.Add(*Selector::ParseSeries(R"({__profile_type__="m:a:b:c:d", service_name=~"x.*"})"));
  EXPECT_TRUE(s.MatchesLabels({{"a", "1"}}));
  EXPECT_FALSE(s.MatchesLabels({}));
  EXPECT_FALSE(s.MatchesService("y"));
  EXPECT_TRUE(s.MatchesType("m:a:b:c:d"));
  EXPECT_FALSE(s.MatchesType("m:a:b:c:e"));
}

}  // namespace
}  // namespace wherefore::query
