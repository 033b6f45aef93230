// Differences per request: neither load nor the mix of endpoints is a change.
#include "query/requests.h"

#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "query/tested_diff.h"
#include "store/test_queries.h"

namespace wherefore::query {
namespace {

constexpr std::int64_t kSecond = kNsPerSecond;

struct Endpoint {
  std::string name;
  int requests = 0;  // of each pod
  double parse = 0;  // samples of each request, on average
  double render = 0;
};

class RequestsTest : public store::QueryTest {
 protected:
  void SetUp() override {
    QueryTest::SetUp();
    context_ = std::make_unique<QueryContext>(reader());
  }

  // Pods that answer requests: a server span each, with an inner span in which samples are taken.
  void Put(const std::string& version, int pods, const std::vector<Endpoint>& endpoints,
           bool linked = true) {
    store::BatchBuilder batch;
    profile::SpanBatch spans;
    for (int pod = 0; pod < pods; ++pod) {
      const std::string name = fmt::format("{}-{}", version, pod);
      const profile::Id resource = Resource(spans, {{"version", version}, {"pod", name}});
      std::vector<store::BatchBuilder::Sample> samples;
      for (const Endpoint& endpoint : endpoints) {
        for (int i = 0; i < endpoint.requests; ++i) {
          const std::string trace = fmt::format("{:032x}", ++last_id_);
          AddSpan(spans, resource, endpoint.name, trace, 1, 0);
          AddSpan(spans, resource, "work", trace, 2, 1);
          const auto add = [&](const char* function, double mean) {
            const int n = std::poisson_distribution<int>(mean)(random_);
            if (n == 0) return;
            store::BatchBuilder::Sample sample{.stack = {function, "main"}, .value = n};
            if (linked) {
              sample.trace = trace;
              sample.span = fmt::format("{:016x}", last_id_ * 4 + 2);
            }
            samples.push_back(sample);
          };
          add("parse", endpoint.parse);
          add("render", endpoint.render);
        }
      }
      const auto profile = [&](std::int64_t time_ns, const auto& of) {
        batch.Add({.resource = {{"pod", name}, {"version", version}},
                   .time_ns = time_ns,
                   .duration_ns = static_cast<std::uint64_t>(100 * kSecond)},
                  of);
      };
      profile(start_, samples);
      // Between this profile and the next nothing was measured.
      for (int i = 0; i < requests_between_; ++i) {
        AddSpan(spans, resource, endpoints.front().name, fmt::format("{:032x}", ++last_id_), 1, 0,
                200 * kSecond);
      }
      if (requests_between_ > 0)
        profile(start_ + 300 * kSecond,
                std::vector<store::BatchBuilder::Sample>{{.stack = {"main"}, .value = 1}});
    }
    Write(batch.Request(version));
    profile::WriteRequest request;
    ASSERT_TRUE(spans.Validate());
    request.data = std::move(spans);
    request.identity = HashString(version + " spans");
    Write(std::move(request));
    Flush();
  }
  TestedDifference Test(Compared compared = Compared::kPerRequest) {
    auto tested = TestDifference(*context_, Of("v1"), Of("v2"), compared, {}, nullptr, {});
    EXPECT_TRUE(tested) << tested.error().message();
    return tested ? *std::move(tested) : TestedDifference{};
  }
  static TestedChange Total(const TestedDifference& tested, const std::string& name) {
    const TestedFunction* found = tested.Find({.name = name, .module = "shop"});
    EXPECT_NE(found, nullptr) << name;
    return found != nullptr ? found->total : TestedChange{};
  }

  std::int64_t request_at_ = kSecond;  // after the profile began
  std::int64_t range_ns_ = 3600 * kSecond;
  int requests_between_ = 0;

 private:
  static profile::Id Resource(profile::SpanBatch& spans, const store::Labels& labels) {
    const auto begin = static_cast<std::uint32_t>(spans.own_attributes.size());
    const auto add = [&](std::string_view name, std::string_view value) {
      spans.own_attributes.push_back(
          {spans.AddText(name), 0, {profile::Value::Kind::kString, spans.AddText(value), 0}});
    };
    add("service.name", "shop");
    for (const auto& [name, value] : labels) add(name, value);
    spans.resources.push_back(
        {{begin, static_cast<std::uint32_t>(spans.own_attributes.size()) - begin}, 0, 0, 0});
    return static_cast<profile::Id>(spans.resources.size() - 1);
  }
  // The id of a span is four times that of its trace, and its number.
  void AddSpan(profile::SpanBatch& spans, profile::Id resource, const std::string& name,
               const std::string& trace, int number, int parent, std::int64_t at_ns = 0) {
    profile::Span span;
    span.resource = resource;
    const auto id = [&](int n) { return *FromHex(fmt::format("{:016x}", last_id_ * 4 + n)); };
    std::memcpy(span.trace.data(), FromHex(trace)->data(), 16);
    std::memcpy(span.id.data(), id(number).data(), 8);
    if (parent != 0) std::memcpy(span.parent.data(), id(parent).data(), 8);
    span.name = spans.AddText(name);
    span.kind = parent == 0 ? 2 : 1;
    span.start_ns = static_cast<std::uint64_t>(start_ + (at_ns != 0 ? at_ns : request_at_));
    span.end_ns = span.start_ns + 1000;
    spans.spans.push_back(span);
  }
  [[nodiscard]] Selection Of(const std::string& version) const {
    Selection selection{.type = "samples", .range = {start_, start_ + range_ns_}};
    selection.selector = *Selector::Parse(fmt::format("{{version=\"{}\"}}", version));
    return selection;
  }

  const std::int64_t start_ = (now_ / kSecond - 4000) * kSecond;
  std::mt19937_64 random_{18};
  std::uint64_t last_id_ = 0;
  std::unique_ptr<QueryContext> context_;
};

TEST_P(RequestsTest, LoadIsNoChange) {
  Put("v1", 3, {{"pay", 100, 2, 1}});
  Put("v2", 3, {{"pay", 300, 2, 1}});
  const TestedDifference tested = Test();
  EXPECT_EQ(tested.cause_basis, CauseBasis::kEndpoints);
  EXPECT_EQ(tested.requests_before, 300);
  EXPECT_EQ(tested.requests_after, 900);
  const TestedChange parse = Total(tested, "parse");
  EXPECT_NEAR(parse.comparison.before, 2, 0.3);
  EXPECT_NEAR(parse.comparison.after, 2, 0.2);
  EXPECT_EQ(parse.verdict, Verdict::kUndecided);
  EXPECT_TRUE(tested.causes.empty());
  // Per second it is three times as much.
  EXPECT_EQ(Total(Test(Compared::kPerSecond), "parse").verdict, Verdict::kMore);
}

TEST_P(RequestsTest, ProfilesThatReachBeyondTheRangeCountWithTheirRequests) {
  range_ns_ = 60 * kSecond;
  Put("v1", 5, {{"GET /", 100, 3, 2}});
  request_at_ = 90 * kSecond;
  Put("v2", 5, {{"GET /", 100, 3, 2}});
  const TestedDifference tested = Test();
  EXPECT_EQ(tested.requests_before, 500);
  EXPECT_EQ(tested.requests_after, 500);
  EXPECT_NE(Total(tested, "parse").verdict, Verdict::kMore);
}

TEST_P(RequestsTest, RequestsBetweenTwoProfilesDoNotCount) {
  Put("v1", 5, {{"GET /", 100, 3, 2}});
  requests_between_ = 80;
  Put("v2", 5, {{"GET /", 100, 3, 2}});
  const TestedDifference tested = Test();
  EXPECT_EQ(tested.requests_before, 500);
  EXPECT_EQ(tested.requests_after, 500);
  EXPECT_NE(Total(tested, "parse").verdict, Verdict::kLess);
}

TEST_P(RequestsTest, TheMixOfEndpointsIsNoChange) {
  Put("v1", 3, {{"cheap", 400, 1, 1}, {"dear", 40, 10, 0.5}});
  Put("v2", 3, {{"cheap", 100, 1, 1}, {"dear", 160, 10, 0.5}});
  const TestedDifference tested = Test();
  EXPECT_EQ(Total(tested, "parse").verdict, Verdict::kUndecided);
  EXPECT_TRUE(tested.causes.empty()) << tested.causes.front().function.name;
  EXPECT_NE(tested.note.find("each of 2 endpoints"), std::string::npos) << tested.note;
}

TEST_P(RequestsTest, ADearerEndpointIsFoundInAnotherMix) {
  Put("v1", 3, {{"cheap", 400, 1, 1}, {"dear", 40, 10, 0.5}});
  Put("v2", 3, {{"cheap", 100, 1, 1}, {"dear", 160, 14, 0.5}});
  for (const Compared compared : {Compared::kPerRequest, Compared::kShares}) {
    const TestedDifference tested = Test(compared);
    ASSERT_EQ(tested.causes.size(), 1u);
    EXPECT_EQ(tested.causes[0].function.name, "parse");
    EXPECT_EQ(tested.causes[0].kind, CauseKind::kMore);
    // 600 of 2,100 requests are dear: 4 x 600 / 2100 more, of 2 + ... before.
    const double dear = 600.0 / 2100;
    const double before = (1 - dear) * 2 + dear * 10.5;
    EXPECT_NEAR(tested.causes[0].share_of_before, 4 * dear / before, 0.05);
    EXPECT_LE(tested.causes[0].low, tested.causes[0].change);
  }
  EXPECT_EQ(Total(Test(), "parse").verdict, Verdict::kMore);
  EXPECT_EQ(Total(Test(), "render").verdict, Verdict::kUndecided);
}

TEST_P(RequestsTest, WithoutLinksTheRequestsOfTheServiceCount) {
  Put("v1", 3, {{"pay", 100, 2, 1}}, false);
  Put("v2", 3, {{"pay", 250, 3, 1}}, false);
  const TestedDifference tested = Test();
  EXPECT_EQ(tested.cause_basis, CauseBasis::kRequests);
  EXPECT_NEAR(Total(tested, "parse").comparison.change, 1, 0.4);
  EXPECT_EQ(Total(tested, "parse").verdict, Verdict::kMore);
  EXPECT_EQ(Total(tested, "render").verdict, Verdict::kUndecided);
  EXPECT_NE(tested.note.find("too few samples are linked"), std::string::npos) << tested.note;
}

TEST_P(RequestsTest, WithoutSpansItIsSaid) {
  store::BatchBuilder batch;
  for (const char* version : {"v1", "v2"}) {
    batch.Add({.resource = {{"version", version}}, .time_ns = now_ - 2000 * kSecond},
              {{{"parse", "main"}, 100}});
  }
  Write(batch.Request("no spans"));
  Flush();
  const TestedDifference tested = Test();
  EXPECT_EQ(tested.grouping, Grouping::kNone);
  EXPECT_EQ(tested.note, "no requests: the side before has no spans");
}

WHEREFORE_ASK_WHEREVER_IT_CAN(RequestsTest);

}  // namespace
}  // namespace wherefore::query
