// States and what receivers are told of them: moves, hysteresis, order, restarts.
#include "insight/alerts/state.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "insight/alerts/outbox.h"
#include "insight/alerts/payloads.h"
#include "insight/alerts/read_rules.h"
#include "insight/alerts/receiver.h"

namespace wherefore::insight {
namespace {

constexpr std::int64_t kStart = 1'700'000'000 * kNsPerSecond;

AlertRule Rule(const std::string& keys) {
  settings::Problems problems;
  const AlertConfig config = ReadAlerts(
      "groups: [{name: g, rules: [{alert: A, function: f, when: above 20%, " + keys + "}]}]",
      "a.yaml", problems);
  EXPECT_FALSE(problems.failed()) << problems.error().message();
  return config.groups.at(0).rules.at(0);
}

class StateTest : public testing::Test {
 protected:
  // One letter a minute: T true, t true but not surely, F false, u undecided, ? unknown, a absent.
  // Gives one for each: P pending, F firing, R resolved, I inactive again, - nothing.
  std::string Run(const std::string& judgements) {
    std::string moves;
    for (const char c : judgements) {
      Measured m{.truth = c == 'T' || c == 't' ? Truth::kTrue
                          : c == 'F'           ? Truth::kFalse
                          : c == 'u'           ? Truth::kUndecided
                                               : Truth::kUnknown,
                 .surely = c == 'T',
                 .absent = c == 'a',
                 .value = 0.3,
                 .low = 0.25,
                 .high = 0.35,
                 .unit = "share"};
      switch (Advance(state_, rule_, m, now_, absent_counts_)) {
        case AlertMove::kNone:
          moves += '-';
          break;
        case AlertMove::kPending:
          moves += 'P';
          break;
        case AlertMove::kFiring:
          moves += 'F';
          break;
        case AlertMove::kResolved:
          moves += 'R';
          break;
        case AlertMove::kInactive:
          moves += 'I';
          break;
      }
      now_ += kMinute;
    }
    return moves;
  }
  void Use(const std::string& keys) {
    rule_ = Rule(keys);
    state_ = MakeState(rule_, "shop", "http://here");
  }

  AlertRule rule_ = Rule("labels: {team: a}");
  AlertState state_ = MakeState(rule_, "shop", "http://here");
  std::int64_t now_ = kStart;
  bool absent_counts_ = true;
};

TEST_F(StateTest, TheNearEndDecidesAndInBetweenNothingChanges) {
  EXPECT_EQ(Run("uuF?uTuu?TuFuu"), "-----F-----R--");
}

TEST_F(StateTest, PendingUntilItHeldForLongEnough) {
  Use("for: 2m");
  EXPECT_EQ(Run("TTFTuTTF"), "P-IP-F-R");
  EXPECT_EQ(state_.ends_ns, kStart + 7 * kMinute);
  EXPECT_EQ(state_.starts_ns, kStart + 5 * kMinute);
}

TEST_F(StateTest, KeepsFiring) {
  Use("keep_firing_for: 2m");
  EXPECT_EQ(Run("TFFTFFF"), "F-----R");
}

TEST_F(StateTest, WithinADayItNeedsMoreToFireAgain) {
  EXPECT_EQ(Run("tFttTF"), "FR--FR");
  now_ += kNsPerDay;
  EXPECT_EQ(Run("t"), "F");
}

TEST_F(StateTest, NothingProfiledEndsItUnlessTheServerWasAway) {
  absent_counts_ = false;
  EXPECT_EQ(Run("Taa"), "F--");
  absent_counts_ = true;
  EXPECT_EQ(Run("a"), "R");
}

TEST_F(StateTest, ComesBackFromItsEvent) {
  Use("for: 1m, annotations: {what: '{{ $value }}: \"quoted\", {{ $labels.service }}'}");
  EXPECT_EQ(Run("TT"), "PF");
  const store::AlertEvent event = EventOf(state_, AlertMove::kFiring, now_);
  EXPECT_EQ(event.starts_ns, state_.starts_ns);
  const AlertState back = StateOf(event);
  EXPECT_EQ(back.phase, AlertPhase::kFiring);
  EXPECT_EQ(back.starts_ns, state_.starts_ns);
  EXPECT_EQ(back.labels, state_.labels);
  EXPECT_EQ(back.annotations, state_.annotations);
  EXPECT_EQ(back.annotations.at("what"), "30 %: \"quoted\", shop");
  EXPECT_EQ(back.link, state_.link);
  EXPECT_TRUE(back.link.starts_with("http://here/s/shop?type=cpu&search=f&from=")) << back.link;
  EXPECT_EQ(back.measured.unit, "share");
}

Notice Told(std::uint64_t number, std::uint64_t fingerprint, bool fires,
            std::int64_t at_ns = kStart) {
  return {.number = number,
          .time_ns = at_ns,
          .fingerprint = fingerprint,
          .labels = {{"alertname", "A"}},
          .starts_ns = kStart,
          .ends_ns = fires ? 0 : at_ns,
          .every_ns = kMinute};
}

class OutboxTest : public testing::Test {
 protected:
  std::vector<std::uint64_t> Due(std::int64_t now_ns = kStart) {
    left_.clear();
    std::vector<std::uint64_t> numbers;
    const auto due = box_.Due(
        "r", [&](const Notice& n) { return silenced_.contains(n.fingerprint); }, now_ns, 100,
        left_);
    for (const Notice& notice : due) {
      numbers.push_back(notice.number);
      last_ = due;
    }
    return numbers;
  }
  void Deliver() {
    for (const Notice& notice : last_) box_.Leave("r", notice);
  }
  using Numbers = std::vector<std::uint64_t>;

  Outbox box_;
  std::set<std::uint64_t> silenced_;
  std::vector<Outbox::Leaving> left_;
  std::vector<Notice> last_;
};

TEST_F(OutboxTest, InOrderForEachAlertUntilDelivered) {
  box_.AddReceiver("r", 0);
  for (const Notice& n : {Told(1, 7, true), Told(2, 8, true), Told(3, 7, false, kStart + 1)})
    box_.Add(n);
  EXPECT_EQ(Due(), (Numbers{1, 2}));
  EXPECT_EQ(Due(), (Numbers{1, 2})) << "nobody took them";
  Deliver();
  EXPECT_EQ(Due(), (Numbers{3}));
  Deliver();
  EXPECT_EQ(Due(), Numbers{});
  box_.Add(Told(4, 8, true));
  EXPECT_EQ(Due(), Numbers{}) << "firing again with the same start is no news";
  EXPECT_TRUE(box_.Knows("r", Told(3, 7, false)));
}

TEST_F(OutboxTest, AReceiverKnowsAfterARestartWhatItWasTold) {
  box_.AddReceiver("r", 2);
  box_.WasTold("r", 0, 9, 5);
  // 7 began and ended before it was known; 8 still fired then; 9 was told.
  for (const Notice& n : {Told(1, 7, true), Told(2, 7, false, kStart + 1)}) box_.Add(n);
  Notice old = Told(1, 8, true);
  box_.Add(old);
  box_.Add(Told(5, 9, true));
  box_.Add(Told(6, 9, false, kStart + 2));
  EXPECT_EQ(Due(), (Numbers{1, 6}));
}

TEST_F(OutboxTest, ASilenceHolds) {
  box_.AddReceiver("r", 0);
  silenced_ = {7, 8};
  for (const Notice& n :
       {Told(1, 7, true), Told(2, 8, true), Told(3, 9, true), Told(4, 8, false, kStart + 1)})
    box_.Add(n);
  EXPECT_EQ(Due(), (Numbers{3}));
  Deliver();
  EXPECT_EQ(Due(), Numbers{});
  silenced_.clear();
  // 7 still fires; of 8 nobody heard that it began.
  EXPECT_EQ(Due(), (Numbers{1}));
  ASSERT_EQ(left_.size(), 2u);
  EXPECT_EQ(left_[0].why, Outbox::Left::kSilenced);
  EXPECT_EQ(box_.waiting("r"), 1u);
}

TEST_F(OutboxTest, WhatIsADayOldLeaves) {
  box_.AddReceiver("r", 0);
  box_.Add(Told(1, 7, true));
  EXPECT_EQ(Due(kStart + kNsPerDay + 1), Numbers{});
  ASSERT_EQ(left_.size(), 1u);
  EXPECT_EQ(left_[0].why, Outbox::Left::kTooOld);
  EXPECT_EQ(box_.waiting("r"), 0u);
}

TEST(Payloads, AreWhatReceiversExpect) {
  const Notice fires = Told(1, 7, true);
  const Notice ended = Told(2, 8, false, kStart + kMinute);
  const std::string am = AlertmanagerBody(std::array{fires, ended}, kStart);
  EXPECT_TRUE(am.contains("\"endsAt\":\"" + FormatTime(kStart + 4 * kMinute))) << am;
  EXPECT_TRUE(am.contains("\"endsAt\":\"" + FormatTime(kStart + kMinute))) << am;
  const std::string hook = WebhookBody(std::array{fires, ended}, "r", "http://here");
  EXPECT_TRUE(hook.contains("\"endsAt\":\"0001-01-01T00:00:00Z\"")) << hook;
  EXPECT_TRUE(hook.starts_with("{\"version\":\"4\",")) << hook;
  EXPECT_TRUE(hook.contains("\"status\":\"firing\"")) << hook;
  EXPECT_TRUE(hook.contains("\"commonLabels\":{\"alertname\":\"A\"}")) << hook;
}

}  // namespace
}  // namespace wherefore::insight
