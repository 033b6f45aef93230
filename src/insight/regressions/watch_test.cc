#include "insight/regressions/watch.h"

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "insight/regressions/read_change.h"
#include "query/test_data.h"

namespace wherefore::insight {
namespace {

class Watch : public query::QueryTest {
 protected:
  static constexpr int kPods = 4;

  void SetUp() override {
    query::QueryTest::SetUp();
    Restart();
  }
  void Restart() {
    watch_.reset();
    context_ = std::make_unique<query::QueryContext>(reader());
    RegressionOptions options;
    options.log = [this](std::span<const store::RegressionEvent> events) -> Result<> {
      if (!can_log_) return Error(Code::kIo, "the disk is full");
      return data_.WriteRegressionEvents(events);
    };
    options.evidence = {[this](store::Pin pin) -> Result<store::Pin> {
                          pins_.push_back(pin);
                          return pin;
                        },
                        kNsPerDay};
    options.now = [this] { return clock_; };
    Flush();
    watch_ = std::make_unique<Regressions>(*context_, std::move(options));
    ASSERT_TRUE(watch_->Restore());
  }

  // Profiles of every pod, from one time on; `parse`: samples of what may get dearer.
  void Send(const std::string& version, std::int64_t from_ns, std::int64_t to_ns,
            std::int64_t every_ns, double parse) {
    query::BatchBuilder batch;
    for (int pod = 0; pod < kPods; ++pod) {
      store::Labels labels = {{"host.name", fmt::format("{}-{}", version, pod)}};
      if (!version.empty()) labels.emplace_back("service.version", version);
      for (std::int64_t at = from_ns; at < to_ns; at += every_ns) {
        std::vector<query::BatchBuilder::Sample> samples(1);
        samples.front().stack = {"parse", "handle", "main"};
        samples.front().value = Poisson(parse);
        for (int f = 0; f < 8; ++f)
          samples.push_back({{fmt::format("f{}", f), "main"}, Poisson(200), {}, {}, {}, {}});
        batch.Add({.resource = labels, .time_ns = at}, samples);
      }
    }
    Write(batch.Request(fmt::format("{} {}", version, from_ns)));
    Flush();
  }
  void RoundAt(std::int64_t clock_ns) {
    clock_ = clock_ns;
    const auto done = watch_->Round(true);
    ASSERT_TRUE(done) << done.error().message();
  }
  [[nodiscard]] std::vector<Regression> Records() const { return watch_->Seen(0).records; }

  const std::int64_t day_ = now_ / kNsPerDay * kNsPerDay - kNsPerDay;
  std::int64_t clock_ = now_;
  bool can_log_ = true;
  std::vector<store::Pin> pins_;
  std::unique_ptr<query::QueryContext> context_;
  std::unique_ptr<Regressions> watch_;

 private:
  std::int64_t Poisson(double mean) {
    return std::poisson_distribution<std::int64_t>(mean)(random_);
  }
  std::mt19937_64 random_{3};
};

TEST_P(Watch, LooksAtFourAgesAndKeepsOneRecordOfACause) {
  const std::int64_t came = now_ - 28 * kHourNs;
  Send("v1", came - kHourNs, came, 10 * kMinuteNs, 300);
  Send("v2", came, came + 27 * kHourNs, 10 * kMinuteNs, 450);
  RoundAt(came + 8 * kMinuteNs);
  EXPECT_EQ(Records().size(), 0u);
  ASSERT_EQ(watch_->Seen(0).versions.size(), 1u);
  EXPECT_EQ(watch_->Seen(0).versions.front().looks, 0u);
  std::uint64_t id = 0;
  double width = 1e9;
  std::int64_t looks = 0;
  for (const std::int64_t age : {17 * kMinuteNs, 2 * kHourNs, 7 * kHourNs, 26 * kHourNs}) {
    RoundAt(came + age);
    ++looks;
    const auto records = Records();
    ASSERT_EQ(records.size(), 1u) << looks;
    const Regression& record = records.front();
    EXPECT_EQ(watch_->Seen(0).versions.front().looks, static_cast<std::size_t>(looks));
    EXPECT_EQ(record.looks, looks);
    EXPECT_EQ(record.cause().function.name, "parse");
    EXPECT_EQ(record.state, RegressionState::kOpen);
    EXPECT_EQ(record.change.version_before, "v1");
    EXPECT_EQ(record.change.since_ns, came);
    EXPECT_EQ(record.first_seen_ns, came + 17 * kMinuteNs);
    EXPECT_LT(record.cause().high - record.cause().low, width * 1.01) << "sharper";
    width = record.cause().high - record.cause().low;
    EXPECT_TRUE(id == 0 || record.id == id);
    id = record.id;
    RoundAt(came + age + kMinuteNs);
    EXPECT_EQ(Records().front().looks, looks) << "each age once";
  }
  ASSERT_EQ(pins_.size(), 8u) << "both sides of each look";
  for (const store::Pin& pin : pins_) {
    EXPECT_LE(pin.range.from_ns, came);
    EXPECT_GE(pin.range.to_ns, came - kHourNs);
    EXPECT_EQ(pin.range.from_ns % kNsPerDay, 0);
    EXPECT_EQ(pin.why, fmt::format("regression {}: parse", IdText(id)));
    EXPECT_GE(pin.until_ns, clock_ - 26 * kHourNs + kNsPerDay);
  }
}

TEST_P(Watch, WhatIsKnownOutlivesARestart) {
  const std::int64_t came = now_ - 3 * kHourNs;
  Send("v1", came - kHourNs, came, 10 * kMinuteNs, 300);
  Send("v2", came, now_, 10 * kMinuteNs, 450);
  RoundAt(now_);
  ASSERT_EQ(Records().size(), 1u);
  const std::uint64_t id = Records().front().id;
  auto muted =
      watch_->Change(0, id,
                     *ReadRegressionChange(RegressionState::kMuted,
                                           R"({"why":"known","by":"me","until":"2h"})", now_));
  ASSERT_TRUE(muted) << muted.error().message();
  const RegressionsSeen before = watch_->Seen(0);
  Restart();
  const RegressionsSeen after = watch_->Seen(0);
  ASSERT_EQ(after.records.size(), 1u);
  const Regression& a = before.records.front();
  const Regression& b = after.records.front();
  const store::RegressionEvent x = EventOf(a, "x", 1);
  const store::RegressionEvent y = EventOf(b, "x", 1);
  EXPECT_EQ(x.facts, y.facts);
  EXPECT_EQ(x, y);
  EXPECT_EQ(b.state, RegressionState::kMuted);
  EXPECT_EQ(b.why, "known");
  EXPECT_EQ(b.change.before.selector.Text(), a.change.before.selector.Text());
  EXPECT_EQ(b.told().endpoints, a.told().endpoints);
  EXPECT_EQ(query::SentenceOf(b.change, b.told()), query::SentenceOf(a.change, a.told()));
  ASSERT_EQ(after.versions.size(), 1u);
  EXPECT_EQ(after.versions.front().looks, before.versions.front().looks);
  EXPECT_EQ(after.versions.front().detectable, before.versions.front().detectable);
  EXPECT_EQ(watch_->Seen(7).records.size(), 0u) << "of another tenant";
  EXPECT_EQ(watch_->Change(7, id, {}).error().code(), Code::kNotFound);
  // A mute ends by itself.
  RoundAt(now_ + 3 * kHourNs);
  EXPECT_EQ(Records().front().state, RegressionState::kOpen);
}

TEST_P(Watch, WhatCannotBeLoggedIsNotKnown) {
  const std::int64_t came = now_ - 3 * kHourNs;
  Send("v1", came - kHourNs, came, 10 * kMinuteNs, 300);
  Send("v2", came, now_, 10 * kMinuteNs, 450);
  can_log_ = false;
  clock_ = now_;
  (void)watch_->Round(true);
  EXPECT_EQ(Records().size(), 0u);
  EXPECT_EQ(watch_->status().problems.size(), 1u);
  can_log_ = true;
  RoundAt(now_);
  ASSERT_EQ(Records().size(), 1u);
  EXPECT_EQ(watch_->status().problems.size(), 0u);
  can_log_ = false;
  const std::uint64_t id = Records().front().id;
  EXPECT_FALSE(watch_->Change(0, id, {.state = RegressionState::kAcknowledged}));
  EXPECT_EQ(Records().front().state, RegressionState::kOpen);
}

TEST_P(Watch, ARegressionIsGoneWhenItsCostCameBack) {
  const std::int64_t came = now_ - 10 * kHourNs;
  Send("v1", came - kHourNs, came, 10 * kMinuteNs, 300);
  Send("v2", came, came + 3 * kHourNs, 10 * kMinuteNs, 450);
  RoundAt(came + 2 * kHourNs);
  ASSERT_EQ(Records().size(), 1u);
  const Regression was = Records().front();
  Send("v3", came + 3 * kHourNs, came + 6 * kHourNs, 10 * kMinuteNs, 300);
  RoundAt(came + 5 * kHourNs);
  ASSERT_EQ(Records().size(), 1u);
  EXPECT_EQ(Records().front().state, RegressionState::kGone);
  EXPECT_EQ(Records().front().id, was.id);
  EXPECT_FALSE(watch_->Change(0, was.id, {.state = RegressionState::kMuted}));
  // Back again with the next version: that is another one.
  Send("v4", came + 6 * kHourNs, came + 9 * kHourNs, 10 * kMinuteNs, 450);
  RoundAt(came + 8 * kHourNs);
  ASSERT_EQ(Records().size(), 2u);
  EXPECT_EQ(Records().front().change.version_after, "v4");
  EXPECT_EQ(Records().front().state, RegressionState::kOpen);
}

TEST_P(Watch, WhatNobodyAsksForIsNoBetter) {
  const std::int64_t came = now_ - 10 * kHourNs;
  Send("v1", came - kHourNs, came, 10 * kMinuteNs, 300);
  Send("v2", came, came + 3 * kHourNs, 10 * kMinuteNs, 450);
  RoundAt(came + 2 * kHourNs);
  ASSERT_EQ(Records().size(), 1u);
  Send("v2", came + 3 * kHourNs, came + 6 * kHourNs, 10 * kMinuteNs, 0);
  RoundAt(came + 5 * kHourNs);
  EXPECT_EQ(Records().front().state, RegressionState::kOpen);
}

TEST_P(Watch, AVersionThatComesAgainAsItWasIsOpenAgain) {
  const std::int64_t came = now_ - 10 * kHourNs;
  Send("v1", came - kHourNs, came, 10 * kMinuteNs, 300);
  Send("v2", came, came + 2 * kHourNs, 10 * kMinuteNs, 450);
  RoundAt(came + 2 * kHourNs);
  ASSERT_EQ(Records().size(), 1u);
  const std::uint64_t id = Records().front().id;
  Send("v1", came + 2 * kHourNs, came + 4 * kHourNs, 10 * kMinuteNs, 300);
  RoundAt(came + 4 * kHourNs);
  EXPECT_EQ(Records().front().state, RegressionState::kGone) << "rolled back";
  RoundAt(came + 4 * kHourNs + kMinuteNs);
  EXPECT_EQ(Records().front().state, RegressionState::kGone);
  Send("v2", came + 4 * kHourNs, came + 6 * kHourNs, 10 * kMinuteNs, 450);
  RoundAt(came + 6 * kHourNs);
  ASSERT_EQ(Records().size(), 1u);
  EXPECT_EQ(Records().front().state, RegressionState::kOpen);
  EXPECT_EQ(Records().front().id, id);
}

TEST(RegressionVersions, WhatRanBeforeIsTheNewestThatDid) {
  const auto version = [](const char* name, std::int64_t first, std::int64_t last) {
    return query::ServiceVersion{
        .name = name, .first_ns = first * kHourNs, .last_ns = last * kHourNs};
  };
  query::ServiceVersions seen;
  seen.versions = {version("v1", 0, 10), version("v2", 2, 5), version("v3", 5, 10)};
  EXPECT_EQ(seen.Before(seen.versions[2])->name, "v2") << "an instance of v1 was forgotten";
  seen.versions = {version("v1", 0, 10), version("v2", 2, 3), version("v3", 8, 10)};
  EXPECT_EQ(seen.Before(seen.versions[2])->name, "v1") << "v2 was rolled back";
  seen.versions = {version("v1", 0, 4), version("v2", 1, 2), version("v3", 8, 10)};
  EXPECT_EQ(seen.Before(seen.versions[2])->name, "v1") << "nothing ran when it came";
  EXPECT_EQ(seen.Before(seen.versions[0]), nullptr);
}

TEST_P(Watch, ServicesWithoutVersionsAreComparedWithTheirDays) {
  const std::int64_t hour = day_ + 12 * kHourNs;
  const std::int64_t changed = hour - 26 * kHourNs;
  Send("", hour - 9 * kNsPerDay, changed, 2 * kHourNs, 300);
  Send("", changed, hour + 6 * kHourNs, 2 * kHourNs, 450);
  for (int i = 0; i < 3; ++i) {
    RoundAt(hour + i * kHourNs + 10 * kMinuteNs);
    EXPECT_EQ(Records().size(), 0u) << "dearer for " << i << " hours only";
  }
  RoundAt(hour + 3 * kHourNs + 10 * kMinuteNs);
  ASSERT_EQ(Records().size(), 1u);
  const Regression record = Records().front();
  EXPECT_EQ(record.cause().function.name, "parse");
  EXPECT_EQ(record.change.label, "");
  EXPECT_EQ(record.change.tested.grouping, query::Grouping::kDays);
  EXPECT_EQ(record.change.tested.groups_before, 7u);
  RoundAt(hour + 4 * kHourNs + 10 * kMinuteNs);
  ASSERT_EQ(Records().size(), 1u);
  EXPECT_EQ(Records().front().id, record.id);
}

TEST_P(Watch, EqualDaysAreNotTold) {
  const std::int64_t hour = day_ + 12 * kHourNs;
  Send("", hour - 9 * kNsPerDay, hour + 6 * kHourNs, 2 * kHourNs, 300);
  for (int i = 0; i < 5; ++i) RoundAt(hour + i * kHourNs + 10 * kMinuteNs);
  EXPECT_EQ(Records().size(), 0u);
}

WHEREFORE_ASK_WHEREVER_IT_CAN(Watch);

TEST(RegressionChanges, AreReadStrictly) {
  const auto read = [](RegressionState state, std::string_view json) {
    return ReadRegressionChange(state, json, 1000 * kNsPerSecond);
  };
  using enum RegressionState;
  EXPECT_TRUE(read(kOpen, ""));
  EXPECT_EQ(read(kMuted, R"({"why":"x","until":"1m"})")->until_ns, 1060 * kNsPerSecond);
  EXPECT_EQ(read(kMuted, R"({"why":"x"})")->until_ns, 0);
  EXPECT_FALSE(read(kMuted, ""));
  EXPECT_FALSE(read(kMuted, R"({"why":"  "})"));
  EXPECT_FALSE(read(kMuted, R"({"why":"x","until":"1970-01-01T00:00:00Z"})"));
  EXPECT_FALSE(read(kAcknowledged, R"({"until":"1m"})"));
  EXPECT_FALSE(read(kAcknowledged, R"({"what":"x"})"));
  EXPECT_FALSE(read(kAcknowledged, "[1"));
  const auto late = ReadRegressionChange(kMuted, R"({"why":"x","until":"285y"})", NowUnixNs());
  ASSERT_TRUE(late) << late.error().message();
  EXPECT_EQ(late->until_ns, INT64_MAX) << "no overflow";
  EXPECT_EQ(read(kAcknowledged, R"({"why":"\ud83d\ude00 \\ud83d"})")->why, "\U0001F600 \\ud83d");
}

query::Cause CauseOf(std::string function, std::vector<std::string> way) {
  query::Cause cause;
  cause.function.name = std::move(function);
  for (std::string& name : way) cause.way.push_back({.name = std::move(name)});
  return cause;
}
Regression RecordOf(const query::Cause& cause) {
  Regression record;
  record.change.causes.push_back({.cause = cause});
  return record;
}

TEST(RegressionRecords, ACauseFoundDeeperOrHigherIsTheSame) {
  const Regression parse = RecordOf(CauseOf("parse", {"handle", "main"}));
  const Regression render = RecordOf(CauseOf("render", {"handle", "main"}));
  const query::Cause deeper = CauseOf("append", {"parse", "handle", "main"});
  const query::Cause same = CauseOf("render", {"handle", "main"});
  const query::Cause other = CauseOf("sort", {"handle", "main"});
  const std::vector<const Regression*> records = {&parse, &render};
  const std::vector<const query::Cause*> causes = {&other, &deeper, &same};
  const auto matches = MatchRecords(records, causes);
  EXPECT_EQ(matches, (std::vector<std::optional<std::size_t>>{std::nullopt, 0, 1}));
  // Each record is one cause's.
  const std::vector<const query::Cause*> twice = {&deeper, &deeper};
  EXPECT_EQ(MatchRecords(records, twice)[1], std::nullopt);
}

TEST(RegressionLooks, AreDueWhenTheirDataIsThereOrWouldBe) {
  query::ServiceVersions seen;
  seen.label = "service.version";
  const std::int64_t since = 100 * kHourNs;
  seen.versions = {{.name = "v1", .first_ns = since - kHourNs, .last_ns = since},
                   {.name = "v2", .first_ns = since, .last_ns = since + 10 * kMinuteNs}};
  seen.first_ns = since - kHourNs;
  seen.last_ns = since + 10 * kMinuteNs;
  EXPECT_FALSE(IsDue(seen, since, 0, since + 15 * kMinuteNs));
  EXPECT_TRUE(IsDue(seen, since, 0, since + 17 * kMinuteNs)) << "nothing more will come";
  seen.last_ns = since + 15 * kMinuteNs;
  EXPECT_TRUE(IsDue(seen, since, 0, since + 15 * kMinuteNs));
  EXPECT_FALSE(IsDue(seen, since, 1, since + 15 * kMinuteNs));
  EXPECT_FALSE(IsDue(seen, since, 4, since + 100 * kHourNs));
  ASSERT_EQ(NewVersions(seen, since - 2 * kHourNs).size(), 1u);
  EXPECT_EQ(NewVersions(seen, since - 2 * kHourNs).front().version->name, "v2");
  EXPECT_TRUE(NewVersions(seen, since).empty()) << "it may have run before that";
}

}  // namespace
}  // namespace wherefore::insight
