// What rules measure over the store, shared scans, dry runs, and states over restarts.
#include "insight/alerts/measure.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <random>
#include <set>
#include <span>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/test_directory.h"
#include "base/text.h"
#include "insight/alerts/alerts.h"
#include "insight/alerts/dry_run.h"
#include "insight/alerts/history.h"
#include "insight/alerts/read_rules.h"
#include "profile/span_batch.h"
#include "query/test_data.h"

namespace wherefore::insight {
namespace {

class AlertTest : public query::QueryTest {
 protected:
  void SetUp() override {
    QueryTest::SetUp();
    context_ = std::make_unique<query::QueryContext>(reader());
  }
  // Four pods, a profile a minute each: `hot` of a thousand samples in `hot`, minutes from start_.
  void Put(const std::string& service, int hot, int from_minute, int minutes,
           const std::string& version = "v1", int samples = 1000) {
    query::BatchBuilder batch;
    for (int pod = 0; pod < 4; ++pod) {
      for (int minute = from_minute; minute < from_minute + minutes; ++minute) {
        batch.Add({.service = service,
                   .resource = {{"pod", fmt::format("pod-{}", pod)}, {"service.version", version}},
                   .time_ns = start_ + minute * kMinute,
                   .duration_ns = static_cast<std::uint64_t>(kMinute)},
                  {{{"hot", "main"}, hot}, {{"cold", "main"}, samples - hot}});
      }
    }
    Write(batch.Request(fmt::format("{} {} {} {}", service, version, from_minute, puts_++)));
    Flush();
  }
  AlertConfig Read(const std::string& rules) {
    settings::Problems problems;
    AlertConfig config = ReadAlerts(
        "groups: [{name: g, every: 1m, delay: 0s, rules: [" + rules + "]}]", "a.yaml", problems);
    EXPECT_FALSE(problems.failed()) << problems.error().message();
    return config;
  }
  std::vector<Judgement> Judge(const AlertConfig& config, int minute) {
    std::vector<const AlertRule*> rules;
    for (const AlertRule& rule : config.groups.at(0).rules) rules.push_back(&rule);
    auto judged = evaluator().Judge(rules, start_ + minute * kMinute, {});
    EXPECT_TRUE(judged) << judged.error().message();
    return judged ? std::move(judged->judgements) : std::vector<Judgement>{};
  }
  Measured One(const std::string& rule, int minute) {
    const auto judged = Judge(Read("{alert: A, select: shop, " + rule + "}"), minute);
    EXPECT_EQ(judged.size(), 1u) << rule;
    return judged.empty() ? Measured{} : judged.front().measured;
  }
  Evaluator& evaluator() {
    if (!evaluator_) evaluator_ = std::make_unique<Evaluator>(*context_);
    return *evaluator_;
  }

  const std::int64_t start_ = (now_ / kMinute - 200) * kMinute;
  std::unique_ptr<query::QueryContext> context_;
  std::unique_ptr<Evaluator> evaluator_;
  int puts_ = 0;
};

TEST_P(AlertTest, MeasuresSharesCoresAndValues) {
  Put("shop", 300, 0, 10);
  const Measured share = One("function: '^hot$', over: 10m, when: above 20%", 10);
  EXPECT_EQ(share.truth, Truth::kTrue);
  EXPECT_TRUE(share.surely);
  EXPECT_NEAR(share.value, 0.3, 1e-9);
  EXPECT_LT(share.low, share.value);
  EXPECT_EQ(One("function: '^hot$', over: 10m, when: above 30.05%", 10).truth, Truth::kUndecided);
  EXPECT_EQ(One("function: '^hot$', over: 10m, when: above 40%", 10).truth, Truth::kFalse);
  EXPECT_EQ(One("function: '^hot$', over: 10m, when: below 40%", 10).truth, Truth::kTrue);
  // A thousand samples of 10 ms a minute, four pods.
  const Measured cores = One("over: 10m, when: above 0.5", 10);
  EXPECT_NEAR(cores.value, 4 * 10.0 / 60, 1e-6);
  EXPECT_EQ(cores.truth, Truth::kTrue);
  EXPECT_NEAR(One("function: '^hot$', measure: cores, over: 10m, when: above 1", 10).value,
              4 * 3.0 / 60, 1e-6);
  const Measured value = One("measure: value, over: 10m, when: above 100ms", 10);
  EXPECT_NEAR(value.value, 4e10 / 60, 1e3);
  EXPECT_EQ(value.unit, "nanoseconds per second");
  const Measured none = One("function: nothing, over: 10m, when: above 1%", 10);
  EXPECT_EQ(none.truth, Truth::kFalse);
  EXPECT_GT(none.high, 0) << "what was not seen may still be there";
}

TEST_P(AlertTest, NothingIsSaidOfFewSamplesAndOfWhatIsNotThere) {
  Put("shop", 1, 0, 2, "v1", 1);
  EXPECT_EQ(One("function: '^hot$', over: 10m, when: above 1%", 10).note, "too few samples");
  Put("shop", 300, 60, 2);
  EXPECT_TRUE(One("function: '^hot$', over: 10m, when: above 1%", 100).absent);
  const Measured cores = One("type: alloc_space, measure: cores, over: 10m, when: above 1", 62);
  EXPECT_NE(cores.truth, Truth::kTrue);
}

TEST_P(AlertTest, MeasuresChanges) {
  Put("shop", 100, 0, 20);
  Put("shop", 200, 20, 20, "v2");
  const Measured previous =
      One("function: '^hot$', over: 20m, when: change above 50% against previous", 40);
  EXPECT_EQ(previous.truth, Truth::kTrue);
  EXPECT_NEAR(previous.value, 1.0, 1e-9);
  EXPECT_EQ(One("function: '^hot$', over: 20m, when: change above 150% against previous", 40).truth,
            Truth::kFalse);
  EXPECT_EQ(One("function: '^cold$', over: 20m, when: change below -5% against previous", 40).truth,
            Truth::kTrue);
  const Measured version =
      One("function: '^hot$', over: 10m, when: change above 50% against previous_version", 40);
  EXPECT_EQ(version.truth, Truth::kTrue);
  EXPECT_NEAR(version.value, 1.0, 1e-9);
  const Measured yesterday =
      One("function: '^hot$', over: 10m, when: change above 50% against yesterday", 40);
  EXPECT_EQ(yesterday.truth, Truth::kFalse);
  EXPECT_FALSE(yesterday.note.empty());
}

TEST_P(AlertTest, AnomaliesAreOutsideOfWhatDaysDifferBy) {
  constexpr int kDay = 24 * 60;
  for (int day = 1; day <= 7; ++day) {
    Put("shop", 100, -day * kDay, 30, "v1", 1000 + 10 * day);
    Put("even", 100, -day * kDay, 30, "v1", 1000 + 10 * day);
  }
  Put("shop", 1500, 0, 30, "v1", 3000);
  Put("even", 100, 0, 30, "v1", 1045);
  const auto judged =
      Judge(Read("{alert: A, select: '{}', over: 30m, when: anomaly},"
                 "{alert: B, select: '{}', over: 30m, when: anomaly below},"
                 "{alert: C, select: '{}', function: hot, over: 30m, when: anomaly}"),
            30);
  ASSERT_EQ(judged.size(), 6u);
  const auto truth = [&](std::size_t i) { return judged[i].measured.truth; };
  EXPECT_EQ(judged[0].service, "even");
  EXPECT_EQ(truth(0), Truth::kFalse);
  EXPECT_EQ(truth(1), Truth::kTrue);
  EXPECT_GT(judged[1].measured.value, 1.5);
  EXPECT_EQ(truth(3), Truth::kFalse) << "above, not below";
  EXPECT_EQ(truth(5), Truth::kTrue);
}

TEST_P(AlertTest, SeesGaps) {
  Put("shop", 100, 0, 10);
  EXPECT_EQ(One("when: gap 5m", 12).truth, Truth::kFalse);
  const Measured gap = One("when: gap 5m", 20);
  EXPECT_EQ(gap.truth, Truth::kTrue);
  EXPECT_NEAR(gap.value, 10.0 * static_cast<double>(kMinute), 1.0);
}

TEST_P(AlertTest, MeasuresPerRequest) {
  Put("shop", 300, 0, 10);
  profile::SpanBatch spans;
  const auto text = [&](std::string_view t) { return spans.AddText(t); };
  for (int pod = 0; pod < 4; ++pod) {
    const auto first = static_cast<std::uint32_t>(spans.own_attributes.size());
    for (const auto& [name, value] : {std::pair<std::string, std::string>{"service.name", "shop"},
                                      {"pod", fmt::format("pod-{}", pod)}}) {
      spans.own_attributes.push_back(
          {text(name), 0, {profile::Value::Kind::kString, text(value), 0}});
    }
    spans.resources.push_back({{first, 2}, 0, 0, 0});
    // A hundred requests in ten minutes.
    for (int i = 0; i < 100; ++i) {
      profile::Span span;
      span.resource = static_cast<profile::Id>(spans.resources.size() - 1);
      span.trace[0] = static_cast<std::uint8_t>(i + 1);
      span.trace[1] = static_cast<std::uint8_t>(pod + 1);
      span.id = {static_cast<std::uint8_t>(i + 1), static_cast<std::uint8_t>(pod + 1)};
      span.name = text("GET /");
      span.kind = 2;
      span.start_ns = static_cast<std::uint64_t>(start_ + std::int64_t{i} * 6 * kNsPerSecond);
      span.end_ns = span.start_ns + 1000;
      spans.spans.push_back(span);
    }
  }
  ASSERT_TRUE(spans.Validate());
  profile::WriteRequest request;
  request.data = std::move(spans);
  request.identity = HashString("spans");
  Write(std::move(request));
  Flush();
  // 1,000 samples of 10 ms a minute are 100 s in ten minutes: a second for each request.
  const Measured all = One("measure: per_request, over: 10m, when: above 500ms", 10);
  EXPECT_EQ(all.truth, Truth::kTrue) << all.note;
  EXPECT_NEAR(all.value, 1e9, 1e6);
  EXPECT_EQ(all.unit, "nanoseconds");
  const Measured hot =
      One("function: '^hot$', measure: per_request, over: 10m, when: above 500ms", 10);
  EXPECT_EQ(hot.truth, Truth::kFalse);
  EXPECT_NEAR(hot.value, 3e8, 1e6);
}

TEST_P(AlertTest, ARoundWithoutTimeJudgesAPartAndTheNextOneTheRest) {
  for (const char* service : {"a", "b", "c", "d"}) Put(service, 100, 0, 5);
  const AlertConfig config = Read("{alert: A, select: '{}', over: 5m, when: above 9}");
  const AlertRule* const rule = config.groups.at(0).rules.data();
  std::set<std::string> seen;
  std::set<std::string> before;  // judged in the round before, which ran out of time
  for (int round = 0; round < 500; ++round) {
    CancelToken cancel;
    // Enough for some of them sooner or later; how many depends on the machine.
    cancel.SetDeadline(MonotonicNs() + (std::int64_t{1} + round) * 1'000'000);
    const auto judged = evaluator().Judge(std::span(&rule, 1), start_ + 5 * kMinute, cancel);
    if (!judged) continue;  // no time at all
    std::set<std::string> now;
    for (const Judgement& judgement : judged->judgements) now.insert(judgement.service);
    if (!before.empty() && !now.empty()) {
      EXPECT_FALSE(std::ranges::includes(before, now)) << "it goes on where it stopped";
    }
    seen.merge(std::set(now));
    if (!judged->overdue) {
      EXPECT_EQ(now.size(), 4u);
      break;
    }
    before = std::move(now);
  }
  EXPECT_EQ(seen.size(), 4u);
}

TEST_P(AlertTest, RulesOfTheSameServicesShareTheirScans) {
  Put("shop", 100, 0, 10);
  Put("cart", 100, 0, 10);
  std::string rules;
  for (int i = 0; i < 50; ++i) {
    rules +=
        fmt::format("{{alert: A{0}, select: '{{}}', function: '^hot{0}$', when: above {0}%}},", i);
  }
  const auto judged = Judge(Read(rules), 10);
  EXPECT_EQ(judged.size(), 100u);
  EXPECT_EQ(evaluator().scans(), 2u) << "one of each service";
}

TEST_P(AlertTest, ADryRunSaysWhenItWouldHaveFired) {
  Put("shop", 100, 0, 20);
  Put("shop", 500, 20, 20);
  Put("shop", 100, 40, 20);
  Put("cart", 100, 0, 60);
  const AlertConfig config = Read(
      "{alert: A, select: '{}', function: '^hot$', over: 5m, for: 3m, "
      "when: above 30%}");
  const auto run =
      RunDry(*context_, config, {.range = {start_, start_ + 60 * kMinute}}, CancelToken());
  ASSERT_TRUE(run) << run.error().message();
  std::vector<WouldFire> fired;
  for (const WouldFire& time : run->times) {
    if (time.phase == AlertPhase::kFiring) fired.push_back(time);
  }
  ASSERT_EQ(fired.size(), 1u);
  EXPECT_EQ(fired[0].service, "shop");
  const auto minute = [&](std::int64_t at) { return (at - start_) / kMinute; };
  // The window has to fill up until the near end passes the bound, and to empty again.
  EXPECT_GE(minute(fired[0].from_ns), 25);
  EXPECT_LE(minute(fired[0].from_ns), 28);
  EXPECT_GE(minute(fired[0].to_ns), 42);
  EXPECT_LE(minute(fired[0].to_ns), 46);
  EXPECT_NEAR(fired[0].most.value, 0.5, 1e-9);
  EXPECT_EQ(run->of_rules.at(0).services, 2u);
}

TEST_P(AlertTest, AValueAtItsBoundFiresAtMostOnceADay) {
  std::mt19937 random(5);
  std::binomial_distribution<int> hot(200, 0.3);
  query::BatchBuilder batch;
  for (int minute = -24 * 60; minute < 0; ++minute) {
    for (int pod = 0; pod < 4; ++pod) {
      const int seen = hot(random);
      batch.Add({.service = "shop",
                 .resource = {{"pod", fmt::format("pod-{}", pod)}},
                 .time_ns = start_ + minute * kMinute,
                 .duration_ns = static_cast<std::uint64_t>(kMinute)},
                {{{"hot", "main"}, seen}, {{"cold", "main"}, 200 - seen}});
    }
  }
  Write(batch.Request("edge"));
  Flush();
  const AlertConfig config =
      Read("{alert: A, select: '{}', function: '^hot$', over: 10m, when: above 30%}");
  const auto run =
      RunDry(*context_, config, {.range = {start_ - kNsPerDay, start_}, .step_ns = 5 * kMinute},
             CancelToken());
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_LE(run->times.size(), 1u);
}

// The engine over a store that stays while it comes and goes.
class RunningAlerts {
 public:
  RunningAlerts(query::TestData& data, query::QueryContext& context, std::string file)
      : alerts_(context, {.file = std::move(file),
                          .log =
                              [&](std::span<const store::AlertEvent> events) {
                                return data.WriteAlertEvents(events);
                              },
                          .catch_up =
                              [&](const CancelToken&) {
                                data.Flush();
                                return Result<>();
                              },
                          .send = [this](const AlertPost& post) -> Result<int> {
                            MutexLock lock(mutex_);
                            if (!answers_) return Error(Code::kIo, "away");
                            bodies_.push_back(post.body);
                            return 200;
                          }}) {
    EXPECT_TRUE(alerts_.Start());
  }
  template <typename Condition>
  bool Wait(const Condition& condition) {
    for (int i = 0; i < 600; ++i) {
      if (condition(alerts_.Seen(0))) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
  }
  std::size_t bodies() {
    MutexLock lock(mutex_);
    return bodies_.size();
  }
  Alerts& operator*() { return alerts_; }

  void Answer(bool answers) {
    MutexLock lock(mutex_);
    answers_ = answers;
  }

 private:
  Mutex mutex_;
  bool answers_ GUARDED_BY(mutex_) = true;
  std::vector<std::string> bodies_ GUARDED_BY(mutex_);
  Alerts alerts_;
};

TEST_P(AlertTest, StatesAndDeliveriesAreThoseOfTheEventsAfterARestart) {
  const TestDirectory folder;
  const std::string file = folder / "alerts.yaml";
  std::ofstream(file)
      << "receivers: [{webhook: 'http://127.0.0.1:1/x'}]\n"
         "groups: [{name: g, every: 5s, delay: 0s, rules: [{alert: A, select: shop, "
         "function: '^hot$', over: 1h, when: above 30%}]}]\n";
  Put("shop", 500, 170, 30);
  std::int64_t starts = 0;
  {
    RunningAlerts running(data_, *context_, file);
    ASSERT_TRUE(running.Wait([&](const AlertsSeen& seen) {
      if (seen.alerts.empty() || running.bodies() == 0) return false;
      starts = seen.alerts.front().state.starts_ns;
      return seen.receivers.front().waiting == 0;
    }));
    auto silence = ReadSilence(
        R"({"matchers":[{"name":"service","value":"none"}],"endsAt":"2099-01-01T00:00:00Z"})",
        now_);
    ASSERT_TRUE(silence);
    ASSERT_TRUE((*running).SetSilence(*silence));
    ASSERT_TRUE((*running).SetRules(
        0, "", "groups: [{name: mine, rules: [{alert: B, select: x, when: above 9}]}]"));
  }
  RunningAlerts again(data_, *context_, file);
  ASSERT_TRUE(again.Wait([&](const AlertsSeen& seen) {
    return !seen.alerts.empty() && seen.rules.size() == 2 && !seen.receivers.empty();
  }));
  const AlertsSeen seen = (*again).Seen(0);
  EXPECT_EQ(seen.alerts.front().state.starts_ns, starts);
  EXPECT_EQ((*again).Silences(0).size(), 1u);
  EXPECT_EQ((*again).Silences(1).size(), 0u);
  EXPECT_EQ((*again).Seen(1).rules.size(), 0u);
  EXPECT_EQ(again.bodies(), 0u) << "it was told before";
  const auto history = AlertHistory(*context_, {}, {});
  ASSERT_TRUE(history);
  ASSERT_EQ(history->size(), 1u);
  EXPECT_EQ(history->front().state, "firing");
  std::ofstream(file) << "groups: []\n";
  ASSERT_TRUE(again.Wait([](const AlertsSeen& now) { return now.alerts.empty(); }));
  EXPECT_EQ((*again).RemoveRules(0, "none").error().code(), Code::kNotFound);
  EXPECT_TRUE((*again).RemoveRules(0, "mine"));
}

WHEREFORE_ASK_WHEREVER_IT_CAN(AlertTest);

}  // namespace
}  // namespace wherefore::insight
