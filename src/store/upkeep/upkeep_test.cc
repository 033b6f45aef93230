// What a store does beside taking and giving: who may open it, retention, deleting, backups,
// limits.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "store/test_store.h"

namespace wherefore::store {
namespace {

using UpkeepTest = StoreTest;

TEST_F(UpkeepTest, ASecondOpenIsRefusedAndNamesTheHolder) {
  const auto second = Store::Open(options_);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message().find("is in use by pid " + std::to_string(getpid())),
            std::string::npos)
      << second.error().message();
}

TEST_F(UpkeepTest, ANewerSchemaIsRefused) {
  store_.reset();
  std::ofstream(directory_ / "data/schema") << "99\n";
  const auto opened = Store::Open(options_);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), Code::kUnsupported);
  EXPECT_NE(opened.error().message().find("newer version"), std::string::npos);
}

TEST_F(UpkeepTest, RetentionDropsOldBucketsAndRefusesOldData) {
  BatchBuilder batch;
  batch.Add({.time_ns = now_ - 10 * kNsPerDay}, {{{"old"}, 1}});
  batch.Add({.time_ns = now_}, {{{"new"}, 1}});
  Write(batch.Request("a"));
  Flush();
  EXPECT_EQ(StackTotals(*store_, "shop").size(), 2u);
  options_.retention = {.usual = Retention::OfAll(7 * kNsPerDay), .of_tenant = {}};
  Open();
  batch.Add({.time_ns = now_ - 10 * kNsPerDay}, {{{"old"}, 1}});
  batch.Add({.time_ns = now_}, {{{"new"}, 1}});
  EXPECT_EQ(Write(batch.Request("b")).rejected, 1u);
  Flush();
  store_.reset();  // the inserter's round that dropped is over
  Open();
  EXPECT_EQ(StackTotals(*store_, "shop"), (Totals{{"new", 2}}));
}

TEST_F(UpkeepTest, AClockAMonthAheadDropsNoMoreThanUsualUntilSomebodySaysSo) {
  BatchBuilder batch;
  // As a clock sees it that is 30 days ahead.
  for (int day = 30; day < 40; ++day) {
    batch.Add({.time_ns = now_ - day * kNsPerDay}, {{{"day" + std::to_string(day)}, 1}});
  }
  Write(batch.Request("a"));
  Flush();
  options_.retention = {.usual = Retention::OfAll(7 * kNsPerDay), .of_tenant = {}};
  const auto after_a_round = [&] {
    EXPECT_TRUE(store_->Flush());
    Open();  // the inserter's round is over
    EXPECT_TRUE(store_->Flush());
    return StackTotals(*store_, "shop");
  };
  Open();
  const Totals kept = after_a_round();
  EXPECT_GE(kept.size(), 7u);
  EXPECT_TRUE(kept.contains("day30"));
  const auto held = [&] {
    const auto problems = store_->status(0).problems;
    return std::ranges::any_of(problems, [](const StatusProblem& p) {
      return p.what.find("old data is kept") != std::string::npos;
    });
  };
  for (int i = 0; i < 500 && !held(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(held());
  const auto plan = store_->Repair(false);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->size(), 1u);
  EXPECT_NE(plan->at(0).find("older than the retention"), std::string::npos) << plan->at(0);
  ASSERT_TRUE(store_->Repair(true));
  for (int i = 0; i < 1000 && !StackTotals(*store_, "shop").empty(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(StackTotals(*store_, "shop").empty());
}

TEST_F(UpkeepTest, DeleteRemovesRowsAndLeakedNames) {
  BatchBuilder batch;
  batch.Add({.service = "leaky", .time_ns = now_}, {{{"secret", "main"}, 3, kTrace, kSpan}});
  Write(batch.Request("a"));
  batch.Add({.time_ns = now_}, {{{"main"}, 5}});
  Write(batch.Request("of another service"));
  Write(SpanRequest(now_));
  Flush();
  const auto query = Everything("leaky");
  const auto deleted =
      store_->Delete({.tenant = 0, .range = {now_ - 1, now_ + 1}, .selections = query.selections});
  ASSERT_TRUE(deleted) << deleted.error().message();
  EXPECT_EQ(deleted->samples, 1u);
  EXPECT_EQ(deleted->profiles, 1u);
  EXPECT_TRUE(StackTotals(*store_, "leaky").empty());
  EXPECT_EQ(StackTotals(*store_, "shop"), (Totals{{"main", 5}}));
  EXPECT_TRUE(
      store_->reader().Dictionary(query.selections.at(0).dictionary, {}, {})->functions.empty());
  profile::TraceId trace{};
  std::memcpy(trace.data(), FromHex(kTrace)->data(), 16);
  EXPECT_TRUE(store_->reader().LinkedSamples(0, trace, {}, {})->empty());
  EXPECT_EQ(store_->reader().Trace(0, trace, {})->size(), 2u) << "another service's spans stay";

  // Another service's request is still known: its sender's retry must not count twice.
  batch.Add({.time_ns = now_}, {{{"main"}, 5}});
  EXPECT_TRUE(Write(batch.Request("of another service")).repeated);
  // The same request again is stored again, under ids nobody has cached.
  batch.Add({.service = "leaky", .time_ns = now_}, {{{"fine", "main"}, 3}});
  EXPECT_FALSE(Write(batch.Request("a")).repeated);
  Flush();
  EXPECT_EQ(StackTotals(*store_, "leaky"), (Totals{{"main;fine", 3}}));
  EXPECT_NE(Everything("leaky").selections.at(0).dictionary, query.selections[0].dictionary);
  Open();
  batch.Add({.service = "leaky", .time_ns = now_}, {{{"fine", "main"}, 3}});
  Write(batch.Request("c"));
  Flush();
  EXPECT_EQ(StackTotals(*store_, "leaky"), (Totals{{"main;fine", 6}}));
}

TEST_F(UpkeepTest, DeleteOfARangeKeepsTheRest) {
  BatchBuilder batch;
  batch.Add({.resource = {{"pod", "a"}}, .time_ns = now_ - 100}, {{{"main"}, 1}});
  batch.Add({.resource = {{"pod", "a"}}, .time_ns = now_}, {{{"main"}, 2}});
  batch.Add({.resource = {{"pod", "b"}}, .time_ns = now_}, {{{"main"}, 4}});
  Write(batch.Request("a"));
  Flush();
  auto query = Everything();
  query.selections.at(0).series = {1};
  const auto deleted =
      store_->Delete({.tenant = 0, .range = {now_, now_ + 1}, .selections = query.selections});
  ASSERT_TRUE(deleted) << deleted.error().message();
  EXPECT_EQ(deleted->samples, 1u);
  EXPECT_EQ(StackTotals(*store_, "shop"), (Totals{{"main", 5}}));
}

TEST_F(UpkeepTest, BackupAndRestoreGiveTheSameTotals) {
  BatchBuilder batch;
  batch.Add({.time_ns = now_}, {{{"work", "main"}, 3, kTrace, kSpan}, {{"main"}, 4}});
  batch.Add({.time_ns = now_ - 100 * kNsPerDay}, {{{"main"}, 9}});
  Write(batch.Request("a"));
  const auto made = store_->Backup(directory_ / "backup");
  ASSERT_TRUE(made) << made.error().message();
  const auto before = StackTotals(*store_, "shop");
  EXPECT_EQ(before, (Totals{{"main;work", 3}, {"main", 13}}));
  EXPECT_FALSE(store_->Backup(directory_ / "backup")) << "never over an existing one";
  store_.reset();
  const auto restored = Store::Restore(directory_ / "backup", directory_ / "restored");
  ASSERT_TRUE(restored) << restored.error().message();
  options_.directory = directory_ / "restored";
  auto opened = Store::Open(options_);
  ASSERT_TRUE(opened) << opened.error().message();
  store_ = std::move(*opened);
  EXPECT_EQ(StackTotals(*store_, "shop"), before);
  batch.Add({.time_ns = now_}, {{{"work", "main"}, 1}});
  Write(batch.Request("b"));
  Flush();
  EXPECT_EQ(StackTotals(*store_, "shop"), (Totals{{"main;work", 4}, {"main", 13}}));
}

TEST_F(UpkeepTest, EventsOfAlertsAreKeptLikeEverythingElse) {
  options_.flush_interval_ns = 3600 * kNsPerSecond;
  Open();
  AlertEvent event{.tenant = 3, .time_ns = now_, .number = 7, .kind = "state", .state = "firing"};
  event.labels = {{"alertname", "Hot"}};
  ASSERT_TRUE(store_->WriteAlertEvents({&event, 1}));
  Open();  // they were in the log only
  Flush();
  const auto stored = [&] {
    const auto events = store_->reader().AlertEvents({}, {});
    EXPECT_TRUE(events);
    return events ? *events : std::vector<AlertEvent>();
  };
  EXPECT_EQ(stored(), std::vector{event});
  EXPECT_TRUE(store_->Damaged().empty());
  ASSERT_TRUE(store_->Backup(directory_ / "backup"));
  store_.reset();
  ASSERT_TRUE(Store::Restore(directory_ / "backup", directory_ / "restored"));
  options_.directory = directory_ / "restored";
  auto opened = Store::Open(options_);
  ASSERT_TRUE(opened) << opened.error().message();
  store_ = std::move(*opened);
  EXPECT_EQ(stored(), std::vector{event});
}

TEST_F(UpkeepTest, EventsOfRegressionsOutliveARestart) {
  options_.flush_interval_ns = 3600 * kNsPerSecond;
  Open();
  RegressionEvent event{.tenant = 3, .time_ns = now_, .number = 7, .kind = "record", .id = 11};
  event.facts = {{"callers.0", "main"}};
  ASSERT_TRUE(store_->WriteRegressionEvents({&event, 1}));
  Open();  // they were in the log only
  Flush();
  const auto events = store_->reader().RegressionEvents({}, {});
  ASSERT_TRUE(events) << events.error().message();
  EXPECT_EQ(*events, std::vector{event});
  EXPECT_TRUE(store_->Damaged().empty());
}

// They are written by this machine's clock: where it is wrong, what others sent must stay.
TEST_F(UpkeepTest, EventsOfAlertsAreNotTheNewestData) {
  BatchBuilder batch;
  batch.Add({.time_ns = now_ - 20 * kNsPerDay}, {{{"main"}, 4}});
  Write(batch.Request("a"));
  const AlertEvent event{.time_ns = now_, .number = 1, .kind = "state", .state = "firing"};
  ASSERT_TRUE(store_->WriteAlertEvents({&event, 1}));
  Flush();
  options_.retention = {.usual = Retention::OfAll(7 * kNsPerDay), .of_tenant = {}};
  Open();
  Flush();
  Open();  // the inserter's round is over
  Flush();
  EXPECT_EQ(StackTotals(*store_, "shop"), (Totals{{"main", 4}}));
}

TEST_F(UpkeepTest, ABackupThatDoesNotMatchItsManifestIsRefused) {
  BatchBuilder batch;
  batch.Add({.time_ns = now_}, {{{"main"}, 4}});
  Write(batch.Request("a"));
  ASSERT_TRUE(store_->Backup(directory_ / "backup"));
  store_.reset();
  std::ifstream in(directory_ / "backup/manifest");
  std::string text((std::istreambuf_iterator<char>(in)), {});
  const auto at = text.find("samples_v1 1 ");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 13, "samples_v1 2 ");
  std::ofstream(directory_ / "backup/manifest") << text;
  const auto restored = Store::Restore(directory_ / "backup", directory_ / "restored");
  ASSERT_FALSE(restored);
  EXPECT_EQ(restored.error().code(), Code::kCorrupt);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "restored")) << "nothing is left behind";
  std::filesystem::create_directory(directory_ / "mine");
  EXPECT_FALSE(Store::Restore(directory_ / "backup", directory_ / "mine"));
  EXPECT_TRUE(std::filesystem::is_empty(directory_ / "mine")) << "but what was there stays";
  EXPECT_FALSE(Store::Restore(directory_ / "no backup", directory_ / "a/b"));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "a"));
}

TEST_F(UpkeepTest, AFullQueueAnswersLimit) {
  options_.max_queued_bytes = 1;
  Open();
  BatchBuilder batch;
  std::atomic<int> limited{0};
  std::atomic<int> stored{0};
  for (int i = 0; i < 200; ++i) {
    batch.Add({.time_ns = now_}, {{{"main"}, 1}});
    store_->Write(batch.Request("r" + std::to_string(i)), [&](Result<profile::WriteAnswer> answer) {
      if (answer) {
        ++stored;
      } else {
        EXPECT_EQ(answer.error().code(), Code::kLimit);
        ++limited;
      }
    });
  }
  while (limited + stored < 200) std::this_thread::yield();
  EXPECT_GT(limited, 0);
  EXPECT_GT(stored, 0);
  Flush();
  EXPECT_EQ(StackTotals(*store_, "shop"), (Totals{{"main", stored.load()}}));
}

TEST_F(UpkeepTest, StatisticsAndStatusSpeakOfTheData) {
  BatchBuilder batch;
  batch.Add({.time_ns = now_}, {{{"main"}, 1}});
  Write(batch.Request("a"));
  Flush();
  const auto statistics = store_->reader().Statistics({});
  ASSERT_TRUE(statistics);
  const auto rows =
      std::map<std::string, std::uint64_t>(statistics->rows.begin(), statistics->rows.end());
  EXPECT_EQ(rows.at("samples"), 1u);
  EXPECT_TRUE(store_->NotReadyReason().empty());
  EXPECT_EQ(store_->status(0).part, "store");
}

}  // namespace
}  // namespace wherefore::store
