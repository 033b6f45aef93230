// Insights through the store: which rules concern a service, versions, endpoints, cores, spans.
#include "insight/insights.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "insight/n_plus_one.h"
#include "insight/rules.h"
#include "profile/span_batch.h"
#include "query/test_data.h"

namespace wherefore::insight {
namespace {

constexpr std::int64_t kSecond = kNsPerSecond;

class InsightsTest : public query::QueryTest {
 protected:
  void SetUp() override {
    QueryTest::SetUp();
    context_ = std::make_unique<query::QueryContext>(reader());
    auto rules = LoadRules("");
    ASSERT_TRUE(rules) << rules.error().message();
    rules_ = *std::move(rules);
  }
  // Four instances of a service, some minutes, a tenth of the CPU time in a constructor of regexps.
  void Put(const std::string& service, const std::string& language, const std::string& version,
           int compiled, int from_minute = 0, int others = 250) {
    query::BatchBuilder batch;
    for (int pod = 0; pod < 4; ++pod) {
      for (int minute = 0; minute < 5; ++minute) {
        batch.Add({.service = service,
                   .resource = {{"pod", fmt::format("{}-{}", version, pod)},
                                {"service.version", version},
                                {"telemetry.sdk.language", language}},
                   .time_ns = start_ + (from_minute + minute) * 60 * kSecond,
                   .duration_ns = static_cast<std::uint64_t>(60 * kSecond)},
                  {{{"regexp.MustCompile", "main.handler", "main.main"}, compiled},
                   {{"main.a", "main.main"}, others},
                   {{"main.b", "main.main"}, others},
                   {{"main.c", "main.main"}, others},
                   {{"main.d", "main.main"}, others}});
      }
    }
    Write(batch.Request(service + version));
    Flush();
  }
  InsightsAnswer Ask(const std::string& selector = "", InsightOptions options = {}) {
    query::Selection selection{.range = {start_ - kSecond, start_ + 3600 * kSecond}};
    selection.selector = *query::Selector::Parse(selector);
    auto answer = FindInsights(*context_, selection, rules_, options, {});
    EXPECT_TRUE(answer) << answer.error().message();
    return answer ? *std::move(answer) : InsightsAnswer{};
  }

  const std::int64_t start_ = (now_ / kSecond - 4000) * kSecond;
  std::unique_ptr<query::QueryContext> context_;
  std::vector<Rule> rules_;
};

TEST_P(InsightsTest, OnlyRulesOfTheLanguageConcernAService) {
  Put("shop", "go", "v1", 100);
  Put("cart", "java", "v1", 100);
  Put("idle", "go", "v1", 0);
  const InsightsAnswer answer = Ask();
  EXPECT_EQ(answer.services, 3u);
  EXPECT_EQ(answer.looked_at, 3u);
  ASSERT_EQ(answer.findings.size(), 1u);
  const Finding& finding = answer.findings.front();
  EXPECT_EQ(finding.rule.id, "go-regexp");
  EXPECT_EQ(finding.service, "shop");
  EXPECT_EQ(finding.type, "cpu");
  EXPECT_NEAR(finding.share.rate, 100.0 / 1100, 1e-9);
  EXPECT_LT(finding.share.low, finding.share.rate);
  // 1,100 observations of 10 ms in a minute, four instances.
  EXPECT_NEAR(finding.cores, 4 * 100 * 0.01 / 60, 1e-3);
  EXPECT_NEAR(finding.saved, finding.cores * finding.share.low / finding.share.rate * 0.95, 1e-6);
  ASSERT_FALSE(finding.callers.empty());
  EXPECT_EQ(finding.callers.front().name, "main.handler");
  EXPECT_EQ(Ask("idle").findings.size(), 0u);
  EXPECT_EQ(Ask("shop").services, 1u);
  EXPECT_FALSE(Ask("nobody").hint.empty());
}

TEST_P(InsightsTest, SaysWithWhichVersionItCame) {
  Put("shop", "go", "v1", 0);
  Put("shop", "go", "v2", 200, 20);
  const InsightsAnswer answer = Ask("shop");
  ASSERT_EQ(answer.findings.size(), 1u);
  EXPECT_EQ(answer.findings.front().since, "v2");
  EXPECT_EQ(Ask("shop{service.version=v1}").findings.size(), 0u);
}

TEST_P(InsightsTest, CoresAreThoseOfTheSelection) {
  Put("shop", "go", "v1", 100);
  Put("shop", "go", "v2", 100, 20);
  const double both = Ask("shop").findings.at(0).cores;
  EXPECT_NEAR(both, 4 * 100 * 0.01 / 60, 1e-3);
  EXPECT_NEAR(Ask("shop{service.version=v1}").findings.at(0).cores, both / 2, 1e-3);
}

TEST_P(InsightsTest, WhatIsWorthNextToNothingIsNotSaid) {
  Put("shop", "go", "v1", 10, 0, 15);  // a seventh of 0.05 cores
  EXPECT_EQ(Ask("shop").findings.size(), 0u);
  for (Rule& rule : rules_) {
    if (rule.id == "go-regexp") rule.at_least_cores = 0.001;
  }
  EXPECT_EQ(Ask("shop").findings.size(), 1u);
}

TEST_P(InsightsTest, OneRuleMayBeAskedFor) {
  Put("shop", "go", "v1", 100);
  EXPECT_EQ(Ask("", {.rule = "go-regexp"}).findings.size(), 1u);
  EXPECT_EQ(Ask("", {.rule = "json"}).findings.size(), 0u);
  EXPECT_FALSE(FindInsights(*context_, {}, rules_, {.rule = "none"}, {}));
  EXPECT_EQ(Ask("", {.limit = 0}).found, 1u);
}

WHEREFORE_ASK_WHEREVER_IT_CAN(InsightsTest);

query::SpanRow Span(std::uint8_t id, std::uint8_t parent, const std::string& name,
                    std::int64_t start, std::int64_t duration) {
  query::SpanRow span{.service_name = parent == 0 ? "shop" : "db",
                      .name = name,
                      .start_ns = start,
                      .duration_ns = duration};
  span.id[0] = id;
  span.parent[0] = parent;
  return span;
}

std::vector<query::SpanRow> TraceOf(int queries, bool in_turn) {
  std::vector<query::SpanRow> spans = {Span(1, 0, "GET /cart", 0, 1000)};
  for (int i = 0; i < queries; ++i)
    spans.push_back(
        Span(static_cast<std::uint8_t>(i + 2), 1, "SELECT item", in_turn ? i * 40 : 10, 40));
  return spans;
}

TEST(RepeatedCalls, InTurnAndOften) {
  const std::vector<std::vector<query::SpanRow>> traces(5, TraceOf(20, true));
  const auto calls = FindRepeatedCalls(traces, "shop");
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls.front().callee, "SELECT item");
  EXPECT_EQ(calls.front().callee_service, "db");
  EXPECT_EQ(calls.front().spans, 5u);
  EXPECT_DOUBLE_EQ(calls.front().share.rate, 0.8);
  EXPECT_DOUBLE_EQ(calls.front().value_ns, 5 * 800.0);
  EXPECT_GT(calls.front().share.low, 0.3);
}

TEST(RepeatedCalls, SideBySideOrSeldomIsFine) {
  const std::vector<std::vector<query::SpanRow>> side_by_side(5, TraceOf(20, false));
  EXPECT_TRUE(FindRepeatedCalls(side_by_side, "shop").empty());
  const std::vector<std::vector<query::SpanRow>> seldom(5, TraceOf(9, true));
  EXPECT_TRUE(FindRepeatedCalls(seldom, "shop").empty());
  const std::vector<std::vector<query::SpanRow>> elsewhere(5, TraceOf(20, true));
  EXPECT_TRUE(FindRepeatedCalls(elsewhere, "db").empty());
}

}  // namespace
}  // namespace wherefore::insight
