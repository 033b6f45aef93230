// Slow versus typical through the store, with planted causes and without.
#include "query/slow.h"

#include <cmath>
#include <cstring>
#include <map>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "profile/span_batch.h"
#include "query/latency_map.h"
#include "store/test_queries.h"

namespace wherefore::query {
namespace {

constexpr std::int64_t kMs = 1'000'000;

enum class Planted : std::uint8_t { kNothing, kFunction, kLock, kSleep, kChild };

// Requests of one service: CPU time in some functions, a wait for a lock now and then, a call to a
// database. One in ten has 60 ms more of what is planted.
class Requests {
 public:
  Requests(std::string service, Planted planted, std::uint32_t seed, std::int64_t start_ns)
      : service_(std::move(service)), planted_(planted), random_(seed), start_ns_(start_ns) {}

  void Write(store::TestData& data, int count) {
    for (int i = 0; i < count; ++i) AddRequest(i);
    const store::Labels ours = {{"telemetry.sdk.name", "wherefore"}};
    store::BatchBuilder batch;
    const auto add = [&](const std::string& type, store::Labels attributes, auto& samples) {
      batch.Add({.service = service_,
                 .resource = ours,
                 .time_ns = start_ns_,
                 .type = type,
                 .unit = "nanoseconds",
                 .attributes = std::move(attributes)},
                samples);
    };
    store::Labels reduced;
    if (thinned) reduced.emplace_back("wherefore.profile.reduced", "conditional");
    add("cpu", reduced, cpu_);
    add("off_cpu", {}, looks_);
    add("delay", {{"wherefore.profile.name", "block"}}, waits_);
    auto request = batch.Request(service_ + " profiles");
    // The builder has no word for a name of its own.
    auto& profiles = std::get<profile::Batch>(request.data).profiles;
    auto& texts = std::get<profile::Batch>(request.data);
    profiles.back().name = texts.AddText("block");
    data.Write(std::move(request));
    profile::WriteRequest spans;
    ASSERT_TRUE(spans_.Validate());
    spans.data = std::move(spans_);
    spans.identity = HashString(service_ + " spans");
    data.Write(std::move(spans));
  }

  bool thinned = false;

 private:
  double Uniform() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  std::int64_t Around(double ms) {
    return static_cast<std::int64_t>(std::gamma_distribution<double>(4, ms / 4)(random_) * kMs);
  }
  std::uint32_t Text(std::string_view text) { return spans_.AddText(text); }

  void AddSpan(int i, std::uint8_t number, const std::string& service, const std::string& name,
               std::int64_t start, std::int64_t duration, const std::string& route) {
    const auto attribute = [&](const std::string& key, const std::string& value) {
      spans_.own_attributes.push_back(
          {Text(key), 0, {profile::Value::Kind::kString, Text(value), 0}});
    };
    const auto first = static_cast<std::uint32_t>(spans_.own_attributes.size());
    attribute("service.name", service);
    spans_.resources.push_back({{first, 1}, 0, 0, 0});
    profile::Span span;
    span.resource = static_cast<std::uint32_t>(spans_.resources.size() - 1);
    const std::string trace = TraceOf(i);
    std::memcpy(span.trace.data(), FromHex(trace)->data(), 16);
    std::memcpy(span.id.data(), FromHex(SpanOf(i, number))->data(), 8);
    if (number > 0) std::memcpy(span.parent.data(), FromHex(SpanOf(i, 0))->data(), 8);
    span.name = Text(name);
    span.kind = number == 0 ? 2 : 3;
    span.start_ns = static_cast<std::uint64_t>(start);
    span.end_ns = span.start_ns + static_cast<std::uint64_t>(duration);
    span.attributes = {static_cast<std::uint32_t>(spans_.own_attributes.size()), 2};
    attribute("route", route);
    attribute("request.id", fmt::format("{}", i));
    spans_.spans.push_back(span);
  }

  [[nodiscard]] std::string TraceOf(int i) const {
    return fmt::format("{:016x}{:016x}", Hash64(service_), i + 1);
  }
  [[nodiscard]] std::string SpanOf(int i, int n) const {
    return fmt::format("{:016x}", (Hash64(service_) & 0xffffffff) << 32U | (i * 4U + n + 1U));
  }

  // Seen at a random moment of every 10 ms.
  void AddCpu(int i, const std::vector<std::string>& stack, std::int64_t time) {
    const auto n = static_cast<std::int64_t>(static_cast<double>(time) / (10 * kMs) + Uniform());
    if (n > 0) cpu_.push_back({stack, n * 10 * kMs, TraceOf(i), SpanOf(i, 0)});
  }

  void AddRequest(int i) {
    const bool slow = i % 10 == 3 && planted_ != Planted::kNothing;
    const auto extra = [&](Planted what) -> std::int64_t {
      return slow && planted_ == what ? 60 * kMs : 0;
    };
    const std::int64_t parse = Around(12);
    const std::int64_t render = Around(8);
    const std::int64_t planted = extra(Planted::kFunction);
    AddCpu(i, {"parse", "handle", "main"}, parse);
    AddCpu(i, {"render", "handle", "main"}, render);
    AddCpu(i, {"deep", "planted", "handle", "main"}, planted);
    const std::int64_t lock = Around(2) + extra(Planted::kLock);
    waits_.push_back({{"lock", "Reserve", "handle", "main"},
                      lock,
                      TraceOf(i),
                      SpanOf(i, 0),
                      {},
                      {{"wait.kind", "mutex"}}});
    const std::int64_t sleep = Around(1) + extra(Planted::kSleep);
    const auto looks = static_cast<int>(static_cast<double>(sleep) / (25 * kMs) + Uniform());
    for (int k = 0; k < looks; ++k)
      looks_.push_back({{"nanosleep", "backoff", "handle", "main"},
                        25 * kMs,
                        TraceOf(i),
                        SpanOf(i, 0),
                        {},
                        {{"wait.kind", "sleep"}}});
    const std::int64_t child = Around(15) + extra(Planted::kChild);
    const std::int64_t other = Around(5);
    const std::int64_t start = start_ns_ + i * 10 * kMs;
    AddSpan(i, 0, service_, "POST /pay", start,
            parse + render + planted + lock + sleep + child + other, slow ? "/big" : "/small");
    AddSpan(i, 1, service_, "SELECT cart", start + parse, child - child / 3, "");
    AddSpan(i, 2, service_, "SELECT price", start + parse + child - child / 3, child / 3, "");
  }

  std::string service_;
  Planted planted_;
  std::mt19937 random_;
  std::int64_t start_ns_;
  profile::SpanBatch spans_;
  std::vector<store::BatchBuilder::Sample> cpu_, looks_, waits_;
};

class SlowTest : public store::QueryTest {
 protected:
  [[nodiscard]] store::SpanSearch Pays(const std::string& service) const {
    return {.range = {now_ - 3600 * kNsPerSecond, now_ + kNsPerSecond},
            .service = service,
            .name = "POST /pay"};
  }
  SlowAnswer Ask(const std::string& service, const SlowOptions& options = {}) {
    return Ask(Pays(service), options);
  }
  SlowAnswer Ask(const store::SpanSearch& search, const SlowOptions& options) {
    QueryContext context(reader());
    auto answer = SlowVersusTypical(context, search, options, {});
    EXPECT_TRUE(answer) << answer.error().message();
    return answer ? *std::move(answer) : SlowAnswer{};
  }
  static void ExpectAddsUp(const SlowAnswer& answer) {
    std::int64_t parts = 0;
    std::int64_t children = 0;
    for (const SlowRow& row : answer.parts) parts += row.change_ns;
    for (const SlowRow& row : answer.children) children += row.change_ns;
    EXPECT_EQ(parts, answer.gap_ns);
    EXPECT_NEAR(static_cast<double>(answer.gap_ns), answer.mean_slow_ns - answer.mean_typical_ns,
                2);
    EXPECT_EQ(children, answer.parts[static_cast<std::size_t>(Part::kChildren)].change_ns);
  }
};

TEST_P(SlowTest, WhatWasPlantedComesFirst) {
  const std::uint32_t seeds = GetParam() == store::Kept::kInEngine ? 20 : 3;
  const std::pair<Planted, std::string> kinds[] = {{Planted::kFunction, "function"},
                                                   {Planted::kLock, "lock"},
                                                   {Planted::kSleep, "sleep"},
                                                   {Planted::kChild, "child"}};
  for (const auto& [planted, kind] : kinds) {
    for (std::uint32_t seed = 0; seed < seeds; ++seed)
      Requests(fmt::format("{}{}", kind, seed), planted, seed, now_ - 1800 * kNsPerSecond)
          .Write(data_, 600);
  }
  Flush();
  for (const auto& [planted, kind] : kinds) {
    for (std::uint32_t seed = 0; seed < seeds; ++seed) {
      const SlowAnswer answer = Ask(fmt::format("{}{}", kind, seed));
      SCOPED_TRACE(fmt::format("{} {}: {}", kind, seed, answer.note));
      ASSERT_FALSE(answer.causes.empty());
      ExpectAddsUp(answer);
      const SlowRow& first = answer.causes.front();
      switch (planted) {
        case Planted::kFunction:
          EXPECT_EQ(first.part, Part::kOnCpu);
          EXPECT_EQ(first.function.name, "deep");
          break;
        case Planted::kLock:
          EXPECT_EQ(first.part, Part::kLock);
          EXPECT_EQ(first.function.name, "lock");
          break;
        case Planted::kSleep:
          EXPECT_EQ(first.part, Part::kSleep);
          EXPECT_EQ(first.function.name, "nanosleep");
          break;
        default:
          EXPECT_EQ(first.part, Part::kChildren);
          EXPECT_EQ(first.name, "SELECT cart");
      }
      EXPECT_GT(first.test.change, 20 * kMs);
      ASSERT_FALSE(answer.attributes.empty());
      EXPECT_EQ(answer.attributes[0].name, "route") << "ids of requests are no attribute of many";
    }
  }
}

TEST_P(SlowTest, ThinnedLinksAndTooFewRequestsAreRefusedWithASentence) {
  Requests thinned("thinned", Planted::kLock, 1, now_ - 1800 * kNsPerSecond);
  thinned.thinned = true;
  thinned.Write(data_, 600);
  Requests("few", Planted::kLock, 1, now_ - 1800 * kNsPerSecond).Write(data_, 60);
  Flush();
  const SlowAnswer refused = Ask("thinned");
  EXPECT_NE(refused.note.find("links of thinned were thinned"), std::string::npos) << refused.note;
  EXPECT_TRUE(refused.causes.empty());
  const SlowAnswer few = Ask("few");
  EXPECT_NE(few.note.find("at least 20 and 50"), std::string::npos) << few.note;
  EXPECT_EQ(Ask("nobody").note, "no span matches in that time");
}

TEST_P(SlowTest, ABoxIsComparedWithAllOthers) {
  Requests("shop", Planted::kLock, 3, now_ - 1800 * kNsPerSecond).Write(data_, 600);
  Flush();
  SlowOptions options;
  // The slow ones of the first half.
  options.box = SlowOptions::Box{.range = {now_ - 1800 * kNsPerSecond, now_ - 1797 * kNsPerSecond},
                                 .least_ns = 90 * kMs};
  const SlowAnswer answer = Ask("shop", options);
  EXPECT_EQ(answer.requests, 600U);
  EXPECT_EQ(answer.slow + answer.typical, 600U) << "nothing is left out";
  EXPECT_GE(answer.slow, 25U);
  EXPECT_LE(answer.slow, 33U);
  EXPECT_EQ(answer.slow_from_ns, 90 * kMs);
  ExpectAddsUp(answer);
  ASSERT_FALSE(answer.causes.empty()) << answer.note;
  EXPECT_EQ(answer.causes[0].function.name, "lock");
  ASSERT_FALSE(answer.attributes.empty());
  EXPECT_EQ(answer.attributes[0].name, "route");

  options.box->least_ns = 3600 * kNsPerSecond;
  EXPECT_NE(Ask("shop", options).note.find("0 selected and 600 other requests"), std::string::npos);
}

TEST_P(SlowTest, WithoutANameAllRequestsAreMeant) {
  Requests("shop", Planted::kFunction, 4, now_ - 1800 * kNsPerSecond).Write(data_, 600);
  Flush();
  store::SpanSearch all = Pays("shop");
  all.name.clear();
  const SlowAnswer named = Ask("shop");
  const SlowAnswer answer = Ask(all, {});
  EXPECT_EQ(answer.requests, 600U) << "calls to the database are no requests of the service";
  EXPECT_EQ(answer.gap_ns, named.gap_ns);
  ASSERT_FALSE(answer.causes.empty());
  EXPECT_EQ(answer.causes[0].function.name, "deep");
}

TEST_P(SlowTest, AMapHasEveryRequest) {
  Requests("shop", Planted::kSleep, 6, now_ - 1800 * kNsPerSecond).Write(data_, 600);
  Flush();
  QueryContext context(reader());
  store::SpanSearch search = Pays("shop");
  search.limit = 1;  // is for lists
  const auto map = LatencyMap(context, search, 60 * kNsPerSecond, {});
  ASSERT_TRUE(map) << map.error().message();
  EXPECT_EQ(map->spans, 600);
  const auto minute = [](std::int64_t ns) { return ns / (60 * kNsPerSecond); };
  EXPECT_EQ(map->steps, static_cast<std::size_t>(minute(search.range.to_ns - 1) -
                                                 minute(search.range.from_ns) + 1));
  search.limit = 1000;
  const auto spans = reader().FindSpans(search, {});
  ASSERT_TRUE(spans) << spans.error().message();
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> counts;
  for (const store::SpanTime& span : *spans) {
    std::uint32_t row = 0;
    while (span.duration_ns >= map->bounds_ns[row + 1]) ++row;
    EXPECT_GE(span.duration_ns, map->bounds_ns[row]);
    ++counts[{static_cast<std::uint32_t>((span.start_ns - map->start_ns) / map->step_ns), row}];
  }
  ASSERT_EQ(map->cells.size(), counts.size());
  for (const LatencyMapAnswer::Cell& cell : map->cells)
    EXPECT_EQ(cell.count, (counts[{cell.step, cell.row}]));

  search.name.clear();
  search.service.clear();
  const auto requests = LatencyMap(context, search, 60 * kNsPerSecond, {});
  ASSERT_TRUE(requests) << requests.error().message();
  EXPECT_EQ(requests->spans, 600) << "children are not requests";
  search.service = "nobody";
  const auto none = LatencyMap(context, search, 60 * kNsPerSecond, {});
  ASSERT_TRUE(none) << none.error().message();
  EXPECT_TRUE(none->bounds_ns.empty());
}

TEST(DurationRows, EveryDurationHasOne) {
  std::int64_t row = store::kShortestRow;
  for (int i = 0; i < 200; ++i) {
    const std::int64_t next = store::NextDurationRow(row);
    ASSERT_GT(next, row);
    EXPECT_LE(static_cast<double>(next), 1.25 * static_cast<double>(row));
    EXPECT_EQ(store::DurationRow(row), row);
    EXPECT_EQ(store::DurationRow(next - 1), row);
    row = next;
  }
  EXPECT_EQ(store::DurationRow(0), store::kShortestRow);
  EXPECT_EQ(store::DurationRow(-5), store::kShortestRow);
  EXPECT_GT(store::DurationRow(INT64_MAX), INT64_MAX / 2);
}

TEST_P(SlowTest, TheSameQuestionGetsTheSameAnswer) {
  Requests("shop", Planted::kFunction, 5, now_ - 1800 * kNsPerSecond).Write(data_, 600);
  Flush();
  const SlowAnswer a = Ask("shop");
  const SlowAnswer b = Ask("shop");
  ASSERT_EQ(a.functions.size(), b.functions.size());
  for (std::size_t i = 0; i < a.functions.size(); ++i) {
    EXPECT_EQ(a.functions[i].function.name, b.functions[i].function.name);
    EXPECT_EQ(a.functions[i].test.p, b.functions[i].test.p);
  }
  EXPECT_EQ(a.slow_traces, b.slow_traces);
}

WHEREFORE_ASK_WHEREVER_IT_CAN(SlowTest);

// Equal groups, values as requests have them: skewed, and mostly nothing.
TEST(Cohorts, EqualGroupsAreSeldomCalledDifferent) {
  std::mt19937 random(11);
  std::size_t tested = 0;
  std::size_t called = 0;
  for (int round = 0; round < 100; ++round) {
    std::vector<char> is_slow(220);
    for (std::size_t r = 0; r < is_slow.size(); ++r) is_slow[r] = r % 11 == 0 ? 1 : 0;
    std::vector<CohortItem> items(20);
    for (std::size_t i = 0; i < items.size(); ++i) {
      std::lognormal_distribution<double> value(16, i % 2 == 0 ? 0.4 : 1.5);
      for (std::uint32_t r = 0; r < is_slow.size(); ++r) {
        if (random() % (1 + i % 5) == 0) items[i].cells.push_back({r, value(random)});
      }
    }
    for (const CohortTest& test : TestCohorts(is_slow, items, static_cast<std::uint64_t>(round))) {
      ++tested;
      if (test.p <= 0.05) ++called;
    }
  }
  EXPECT_LE(static_cast<double>(called), 0.06 * static_cast<double>(tested));
  EXPECT_GE(static_cast<double>(called), 0.03 * static_cast<double>(tested)) << "it can be called";
}

TEST(Slow, Percentiles) {
  EXPECT_DOUBLE_EQ(ParseQuantile("p95").value_or(0), 0.95);
  EXPECT_DOUBLE_EQ(ParseQuantile("p99.9").value_or(0), 0.999);
  for (const char* bad : {"", "p", "95", "p101", "p-1", "p9x", "pnan"})
    EXPECT_FALSE(ParseQuantile(bad)) << bad;
  EXPECT_EQ(ParseQuantiles("p40-p60").value_or(std::pair(0.0, 0.0)), std::pair(0.4, 0.6));
  for (const char* bad : {"p40", "p60-p40", "p40-"}) EXPECT_FALSE(ParseQuantiles(bad)) << bad;
}

}  // namespace
}  // namespace wherefore::query
