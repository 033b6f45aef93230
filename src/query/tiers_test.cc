// Answers made of sums by hour against answers made of samples: equal to the unit, whatever came
// late, was deleted, or was interrupted.
#include "query/tiers.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <random>
#include <thread>
#include <tuple>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/log.h"
#include "query/delete_request.h"
#include "query/flame.h"
#include "query/scan.h"
#include "query/timeline.h"
#include "query/top.h"
#include "store/test_queries.h"

namespace wherefore::query {
namespace {

using store::BatchBuilder;
using store::StackSum;

constexpr std::int64_t kHour = store::kNsPerHour;

Selection Of(const std::string& query, store::TimeRange range,
             const std::string& type = "samples") {
  Selection selection{.type = type, .range = range};
  selection.selector = *Selector::Parse(query);
  return selection;
}

using Sums = std::vector<
    std::tuple<std::uint32_t, std::uint64_t, std::uint32_t, std::int64_t, std::int64_t>>;
Sums Sorted(const Result<std::vector<StackSum>>& rows) {
  EXPECT_TRUE(rows) << rows.error().message();
  Sums sums;
  if (!rows) return sums;
  for (const StackSum& s : *rows)
    sums.emplace_back(s.dictionary, s.type, s.stack, s.value, s.count);
  std::ranges::sort(sums);
  return sums;
}

// Both ways; what it was made of.
Tier Compare(QueryContext& context, const Selection& selection) {
  Tier tier;
  const auto resolved = Resolve(context, selection, {});
  EXPECT_TRUE(resolved) << resolved.error().message();
  if (!resolved) return tier;
  const Sums tiers = Sorted(SumStacksOfTiers(context, *resolved, tier, {}));
  EXPECT_EQ(tiers, Sorted(context.reader.SumStacks(resolved->query, {})))
      << selection.selector.Text() << " " << tier.hours << " hours";
  return tier;
}

class TiersTest : public store::QueryTest {
 protected:
  void SetUp() override {
    QueryTest::SetUp();
    context_ = std::make_unique<QueryContext>(reader());
  }
  void Put(std::int64_t time_ns, std::vector<BatchBuilder::Sample> samples,
           store::Labels resource = {}) {
    BatchBuilder batch;
    batch.Add({.resource = std::move(resource), .time_ns = time_ns}, samples);
    Write(batch.Request(fmt::format("request {}", ++requests_)));
  }
  std::unique_ptr<QueryContext> context_;
  // So that days begin at its hours 2 and 26, whenever the test runs.
  const std::int64_t start_ = now_ / kNsPerDay * kNsPerDay - 50 * kHour;
  int requests_ = 0;
};

WHEREFORE_ASK_WHEREVER_IT_CAN(TiersTest);

TEST_P(TiersTest, WholeHoursAreSumsAndEndsAreSamples) {
  for (int hour = 0; hour < 50; hour += 7) {
    for (const int minute : {1, 31}) {
      Put(start_ + hour * kHour + minute * 60 * kNsPerSecond,
          {{{"a", "main"}, 3 + hour}, {{fmt::format("f{}", hour), "main"}, 2}},
          {{"service.version", hour < 20 ? "v1" : "v2"}, {"pod", minute == 1 ? "x" : "y"}});
    }
  }
  Flush();
  const store::TimeRange range{start_ + kHour / 2, start_ + 50 * kHour};
  EXPECT_EQ(Compare(*context_, Of("shop", range)).hours, 0) << "nothing is rolled";
  data_.RollHours();
  EXPECT_EQ(Compare(*context_, Of("shop", range)).hours, 7) << "all but the half one";
  EXPECT_EQ(Compare(*context_, Of("", range)).hours, 7);
  EXPECT_EQ(Compare(*context_, Of("shop", {start_, start_ + 47 * kHour})).hours, 0) << "short";
  EXPECT_EQ(Compare(*context_, Of("shop{service.version=v2}", range)).hours, 7);
  EXPECT_EQ(Compare(*context_, Of("shop{service.version!=v2}", range)).hours, 3)
      << "the last day has nothing else";
  EXPECT_EQ(Compare(*context_, Of("shop{service.version=v3}", range)).hours, 0);
  EXPECT_EQ(Compare(*context_, Of("shop{pod=x}", range)).hours, 0) << "a label hours do not have";
  EXPECT_EQ(Compare(*context_, Of("shop{pod=x, service.version=v1}", range)).hours, 0);
  const auto flame = Flame(*context_, Of("shop", range), {});
  ASSERT_TRUE(flame);
  EXPECT_STREQ(flame->tier.Name(), "hours");
  const auto top = Top(*context_, Of("shop", range), {}, {}, {});
  ASSERT_TRUE(top);
  EXPECT_EQ(top->total, flame->tree.total[0]);
  EXPECT_EQ(top->tier.hours, 7);
  // From profiles: every profile's total.
  const auto line = Timeline(*context_, Of("shop", range), {.steps = {.width_ns = kHour}}, {});
  ASSERT_TRUE(line);
  std::int64_t total = 0;
  for (const std::int64_t v : line->groups.at(0).values) total += v;
  EXPECT_EQ(top->total, total);
}

TEST_P(TiersTest, LateDataIsInTheNextAnswer) {
  for (int hour = 0; hour < 50; ++hour) Put(start_ + hour * kHour, {{{"a", "main"}, 3}});
  Flush();
  data_.RollHours();
  const store::TimeRange range{start_, start_ + 50 * kHour};
  EXPECT_EQ(Compare(*context_, Of("shop", range)).hours, 50);
  Put(start_ + 9 * kHour + 1, {{{"a", "main"}, 5}, {{"late", "main"}, 7}});
  Flush();
  EXPECT_EQ(Compare(*context_, Of("shop", range)).hours, 49);
  data_.RollHours();
  EXPECT_EQ(Compare(*context_, Of("shop", range)).hours, 50);
}

TEST_P(TiersTest, AveragesOfSnapshotsNeedSamples) {
  BatchBuilder batch;
  for (int hour = 0; hour < 50; ++hour) {
    batch.Add({.time_ns = start_ + hour * kHour, .type = "threads", .unit = "count"},
              {{{"a", "main"}, 3}});
  }
  Write(batch.Request("threads"));
  Flush();
  data_.RollHours();
  const store::TimeRange range{start_, start_ + 50 * kHour};
  const auto averaged = Flame(*context_, Of("shop", range, "threads"), {});
  ASSERT_TRUE(averaged);
  EXPECT_TRUE(averaged->averaged);
  EXPECT_STREQ(averaged->tier.Name(), "raw");
  Selection added_up = Of("shop", range, "threads");
  added_up.add_up_snapshots = true;
  EXPECT_EQ(Compare(*context_, added_up).hours, 50);
}

// A store that is written to, rolled, deleted from and killed at random. All data is of 48 hours.
class Life {
 public:
  Life(const std::string& directory, std::uint32_t seed) : random_(seed), seed_(seed) {
    auto opened = store::Store::Open({.directory = directory,
                                      .flush_interval_ns = 20'000'000,
                                      .roll_waits = {.after_ns = 0, .again_ns = 0, .every_ns = 0}});
    EXPECT_TRUE(opened) << opened.error().message();
    if (!opened) return;
    store_ = *std::move(opened);
    context_ = std::make_unique<QueryContext>(store_->reader());
  }
  [[nodiscard]] bool is_open() const { return store_ != nullptr; }

  void DoSomething() {
    const std::uint64_t what = Any(20);
    if (what < 13) {
      Put();
    } else if (what < 18) {
      const auto rolled = store_->RollHours();
      EXPECT_TRUE(rolled) << rolled.error().message();
    } else {
      Delete();
    }
  }
  // How many hours were not read from samples.
  std::int64_t CompareAll() {
    EXPECT_TRUE(store_->Flush());
    const store::TimeRange range{Start() - 1, Start() + 49 * kHour};
    std::int64_t hours = Compare(*context_, Of("", range)).hours;
    for (const char* query : {"shop", "db{service.version=v1}", "shop{service.version=~\"v2|\"}"})
      Compare(*context_, Of(query, range));
    Compare(*context_, Of("shop", {range.from_ns + 7 * 60 * kNsPerSecond,
                                   range.to_ns - 11 * 60 * kNsPerSecond}));
    // Σ = Σ profiles.total
    const auto top = Top(*context_, Of("shop", range), {}, {}, {});
    const auto line = Timeline(*context_, Of("shop", range), {.steps = {.width_ns = kHour}}, {});
    EXPECT_TRUE(top && line);
    if (!top || !line) return hours;
    std::int64_t total = 0;
    for (const TimelineGroup& group : line->groups) {
      for (const std::int64_t v : group.values) total += v;
    }
    EXPECT_EQ(top->total, total);
    return hours;
  }
  void Roll() { EXPECT_TRUE(store_->RollHours()); }

 private:
  std::uint64_t Any(std::uint64_t below) { return random_() % below; }
  static std::int64_t Start() { return NowUnixNs() / kHour * kHour - 49 * kHour; }

  void Put() {
    BatchBuilder batch;
    for (std::uint64_t i = 0; i <= Any(12); ++i) {
      std::vector<BatchBuilder::Sample> samples;
      for (std::uint64_t k = 0; k <= Any(9); ++k) {
        samples.push_back({{fmt::format("f{}", Any(9)), fmt::format("g{}", Any(3)), "main"},
                           static_cast<std::int64_t>(Any(1000))});
        if (Any(5) == 0) samples.back().attributes = {{"thread", Any(2) == 0 ? "one" : "two"}};
      }
      store::Labels resource = {{"pod", Any(2) == 0 ? "x" : "y"}};
      if (Any(3) > 0) resource.emplace_back("service.version", Any(2) == 0 ? "v1" : "v2");
      // Mostly in a few hours, so that they are rolled again and again.
      const std::uint64_t hour = Any(2) == 0 ? Any(4) * 11 : Any(48);
      batch.Add({.service = Any(3) == 0 ? "db" : "shop",
                 .resource = std::move(resource),
                 .time_ns = Start() + static_cast<std::int64_t>(hour) * kHour +
                            static_cast<std::int64_t>(Any(kHour))},
                samples);
    }
    const auto answer = WriteNow(*store_, batch.Request(fmt::format("{} {}", seed_, ++requests_)));
    EXPECT_TRUE(answer) << answer.error().message();
  }
  void Delete() {
    static constexpr std::array kWhat = {"shop{pod=x}", "db", "shop{service.version=v1}",
                                         "{thread=one}"};
    const std::int64_t from = Start() + static_cast<std::int64_t>(Any(48 * kHour));
    const Selection selection =
        Of(kWhat[Any(kWhat.size())], {from, from + static_cast<std::int64_t>(Any(5 * kHour))}, "");
    EXPECT_TRUE(store_->Flush());
    const auto request = ResolveDelete(*context_, selection, {});
    ASSERT_TRUE(request) << request.error().message();
    const auto deleted = store_->Delete(*request);
    ASSERT_TRUE(deleted) << deleted.error().message();
    context_->Forget();
  }

  std::mt19937 random_;
  const std::uint32_t seed_;
  int requests_ = 0;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<QueryContext> context_;
};

TEST(TiersOverTime, FortyEightHoursWithLateDataDeletesAndRestarts) {
  if (!kEngineLoads) GTEST_SKIP() << "no engine beside a sanitizer";
  const TestDirectory directory;
  const bool is_long = std::getenv("WHEREFORE_LONG") != nullptr;
  std::int64_t hours = 0;
  for (std::uint32_t life = 0; life < (is_long ? 4 : 2); ++life) {
    Life store(directory / "data", life + 100);
    ASSERT_TRUE(store.is_open());
    for (int i = 0; i < (is_long ? 40 : 20); ++i) {
      store.DoSomething();
      if (i % 5 == 0) hours += store.CompareAll();
      if (HasFailure()) return;
    }
    store.Roll();
    EXPECT_GT(store.CompareAll(), 20) << "life " << life;
  }
  EXPECT_GT(hours, is_long ? 300 : 60) << "many were sums";
}

// What the killed process runs.
TEST(TiersChild, DISABLED_Lives) {
  const char* directory = std::getenv("WHEREFORE_TIERS_DIRECTORY");
  const char* seed = std::getenv("WHEREFORE_TIERS_SEED");
  if (directory == nullptr || seed == nullptr) GTEST_SKIP() << "run by TiersOverTime.Killed";
  SetLogLevel(LogLevel::kOff);
  Life store(directory, static_cast<std::uint32_t>(std::atoi(seed)));
  ASSERT_TRUE(store.is_open());
  (void)!write(STDOUT_FILENO, "open\n", 5);
  while (!HasFailure()) store.DoSomething();
}

void RunAndKill(const std::string& directory, std::uint32_t seed, std::chrono::milliseconds life) {
  int pipe_fds[2];
  ASSERT_EQ(pipe2(pipe_fds, O_CLOEXEC), 0);
  const std::string executable = std::filesystem::read_symlink("/proc/self/exe");
  const std::string text = std::to_string(seed);
  const pid_t child = fork();
  if (child == 0) {
    dup2(pipe_fds[1], STDOUT_FILENO);
    setenv("WHEREFORE_TIERS_DIRECTORY", directory.c_str(), 1);
    setenv("WHEREFORE_TIERS_SEED", text.c_str(), 1);
    execl(executable.c_str(), "query_test", "--gtest_also_run_disabled_tests",
          "--gtest_filter=TiersChild.DISABLED_Lives", nullptr);
    _exit(127);
  }
  close(pipe_fds[1]);
  std::string said;
  char bytes[256];
  while (said.find("open\n") == std::string::npos) {
    const ssize_t count = read(pipe_fds[0], bytes, sizeof(bytes));
    ASSERT_GT(count, 0) << said;
    said.append(bytes, static_cast<std::size_t>(count));
  }
  std::this_thread::sleep_for(life);
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  close(pipe_fds[0]);
  ASSERT_TRUE(WIFSIGNALED(status)) << "it ended by itself: " << status << said;
}

TEST(TiersOverTime, Killed) {
  if (!kEngineLoads) GTEST_SKIP() << "no engine beside a sanitizer";
  const TestDirectory directory;
  std::mt19937 random(7);
  const int lives = std::getenv("WHEREFORE_LONG") == nullptr ? 8 : 100;
  std::int64_t hours = 0;
  for (int life = 0; life < lives; ++life) {
    RunAndKill(directory / "data", 1000 + static_cast<std::uint32_t>(life),
               std::chrono::milliseconds(random() % 1500));
    if (HasFatalFailure()) return;
    Life store(directory / "data", 5000 + static_cast<std::uint32_t>(life));
    ASSERT_TRUE(store.is_open());
    hours += store.CompareAll();
    store.Roll();
    hours += store.CompareAll();
    ASSERT_FALSE(HasFailure()) << "life " << life;
  }
  EXPECT_GT(hours, 100);
}

}  // namespace
}  // namespace wherefore::query
