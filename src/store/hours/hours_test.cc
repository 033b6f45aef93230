// Sums by hour in a real store: what is rolled, when, again, and what a delete leaves of it.
#include "store/hours/hours.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>
#include <tuple>

#include "store/engine/schema.h"
#include "store/test_store.h"

namespace wherefore::store {
namespace {

TEST(Hours, OfARange) {
  EXPECT_EQ(HoursOf({0, 1}).first, 0);
  EXPECT_EQ(HoursOf({kNsPerHour - 1, kNsPerHour + 1}).last, 1);
  EXPECT_EQ(HoursOf({kNsPerHour, 2 * kNsPerHour}).first, 1);
  EXPECT_EQ(HoursOf({kNsPerHour, 2 * kNsPerHour}).last, 1);
  EXPECT_LT(HoursOf({5, 5}).last, HoursOf({5, 5}).first);
  EXPECT_EQ(StartOfHour(HoursOf({0, INT64_MAX}).last + 1), INT64_MAX);
}

TEST(Hours, VersionsAsTheyStandInRows) {
  using Pair = std::pair<std::string, std::string>;
  EXPECT_EQ(VersionText({}), "");
  EXPECT_EQ(VersionText({{"pod", "a"}, {"service.version", "v1"}}), "v1");
  const auto back = [](const std::vector<Pair>& labels) {
    const std::string text = VersionText(labels);
    const VersionLabel read = ReadVersion(text);
    return Pair(read.label, read.value);
  };
  EXPECT_EQ(back({{"service.version", "v1"}}), Pair("service.version", "v1"));
  EXPECT_EQ(back({{"commit", "a=b"}, {"service.version", ""}}), Pair("commit", "a=b"));
  EXPECT_EQ(back({{"service.version", "\ncommit=abc"}}), Pair("service.version", "\ncommit=abc"));
  EXPECT_EQ(back({}), Pair("", ""));
}

std::uint64_t RowsOf(Store& store, std::string_view table) {
  const auto statistics = store.reader().Statistics({});
  EXPECT_TRUE(statistics);
  for (const auto& [name, rows] : statistics->rows) {
    if (name == table) return rows;
  }
  return 0;
}

class HoursTest : public StoreTest {
 protected:
  void SetUp() override {
    options_.roll_waits = {.after_ns = 0, .again_ns = 0, .every_ns = 0};
    StoreTest::SetUp();
  }
  // The beginning of an hour some hours ago; all of them are of one day.
  [[nodiscard]] std::int64_t Hour(int number) const {
    return now_ / kNsPerDay * kNsPerDay - kNsPerDay + (10 + number) * kNsPerHour;
  }
  void Add(std::int64_t time_ns, std::vector<BatchBuilder::Sample> samples, Labels resource = {},
           const std::string& service = "shop") {
    BatchBuilder batch;
    batch.Add({.service = service, .resource = std::move(resource), .time_ns = time_ns}, samples);
    Write(batch.Request("request " + std::to_string(++requests_)));
  }
  void Roll() {
    Flush();
    const auto rolled = store_->RollHours();
    ASSERT_TRUE(rolled) << rolled.error().message();
    Flush();
  }
  std::vector<HourRow> Hours() {
    const auto hours = store_->reader().Hours(Everything(), {});
    EXPECT_TRUE(hours) << hours.error().message();
    return hours ? *hours : std::vector<HourRow>();
  }
  using Sums = std::map<std::tuple<DictionaryKey, std::uint64_t, std::uint32_t>,
                        std::pair<std::int64_t, std::int64_t>>;
  static Sums ByStack(const SampleQuery& query, const Result<std::vector<StackSum>>& rows) {
    EXPECT_TRUE(rows) << rows.error().message();
    Sums sums;
    if (!rows) return sums;
    for (const StackSum& row : *rows) {
      auto& [value, count] =
          sums[{query.selections[row.dictionary].dictionary, row.type, row.stack}];
      value += row.value;
      count += row.count;
    }
    return sums;
  }
  // Sums of all hours that are rolled are those of their samples; returns how many hours that is.
  std::size_t Compare() {
    const SampleQuery query = Everything();
    HourSumQuery hours{.query = query, .parts = {}};
    Sums raw;
    for (const HourRow& hour : Hours()) {
      if (!hour.IsCurrent()) continue;
      hours.parts.push_back({hour.dictionary, hour.hour, hour.revision});
      SampleQuery of = query;
      of.range = {StartOfHour(hour.hour), StartOfHour(std::int64_t{hour.hour} + 1)};
      std::erase_if(of.selections,
                    [&](const SeriesSelection& s) { return s.dictionary != hour.dictionary; });
      for (const auto& [key, sum] : ByStack(of, store_->reader().SumStacks(of, {}))) {
        raw[key].first += sum.first;
        raw[key].second += sum.second;
      }
    }
    EXPECT_EQ(ByStack(query, store_->reader().SumHours(hours, {})), raw);
    return hours.parts.size();
  }

  // Rounds of retention until that many rows are left, and one more.
  std::uint64_t RowsInTheEnd(std::string_view table, std::uint64_t wanted) {
    constexpr int kPatience = 1000;
    for (int i = 0; i < kPatience && RowsOf(*store_, table) != wanted; ++i) {
      Flush();
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    Flush();
    return RowsOf(*store_, table);
  }
  // Whether a function of that name is in the store.
  bool Knows(std::string_view name) {
    const SampleQuery query = Everything();
    for (const SeriesSelection& s : query.selections) {
      const auto dictionary = store_->reader().Dictionary(s.dictionary, {}, {});
      EXPECT_TRUE(dictionary);
      for (const FunctionRow& function : dictionary->functions) {
        if (function.name == name) return true;
      }
    }
    return false;
  }

  int requests_ = 0;
};

TEST_F(HoursTest, WhatIsRolledSaysWhatItsSamplesSay) {
  Add(Hour(0) + 5, {{{"a", "main"}, 3}, {{"b", "main"}, -4}}, {{"service.version", "v1"}});
  Add(Hour(0) + 6, {{{"a", "main"}, 5}}, {{"service.version", "v2"}, {"pod", "x"}});
  Add(Hour(1), {{{"a", "main"}, 7, {}, {}, {}, {{"thread", "one"}}}}, {{"service.version", "v1"}});
  Add(now_, {{{"a", "main"}, 9}});
  EXPECT_EQ(Compare(), 0u);
  Roll();
  EXPECT_EQ(Compare(), 2u) << "the hour that is not over stays as it is";
  EXPECT_EQ(Hours().size(), 3u);
  const SampleQuery query = Everything();
  HourSumQuery hours{.query = query, .parts = {}, .versions = {{"v1"}}};
  for (const HourRow& hour : Hours()) {
    if (hour.revision != 0) hours.parts.push_back({hour.dictionary, hour.hour, hour.revision});
  }
  std::int64_t total = 0;
  for (const auto& [key, sum] : ByStack(query, store_->reader().SumHours(hours, {})))
    total += sum.first;
  EXPECT_EQ(total, 3 - 4 + 7);
  Open();
  EXPECT_EQ(Compare(), 2u);
}

TEST_F(HoursTest, NotBeforeItIsDue) {
  store_.reset();
  std::int64_t clock = Hour(1) + kNsPerHour / 6;
  options_.now = [&] { return clock; };
  options_.roll_waits = {.every_ns = 0};
  Open();
  Add(Hour(0) + 5, {{{"a"}, 3}});
  Add(Hour(1) + 5, {{{"a"}, 3}});
  clock -= 1;
  Roll();
  EXPECT_EQ(Compare(), 0u);
  clock += 1;
  Roll();
  EXPECT_EQ(Compare(), 1u);
  clock = Hour(2) + kNsPerHour / 6;
  Roll();
  EXPECT_EQ(Compare(), 2u) << "nothing came, but an hour became due";
  Add(Hour(0) + 7, {{{"b"}, 3}});
  clock += kNsPerHour / 6 - 1;
  Roll();
  EXPECT_EQ(Compare(), 2u) << "ten minutes after the hour was rolled";
  clock += kNsPerHour;
  Add(Hour(0) + 8, {{{"b"}, 3}});
  Roll();
  EXPECT_EQ(Compare(), 2u);
}

TEST_F(HoursTest, LateDataIsReadFromSamplesUntilItIsRolledAgain) {
  Add(Hour(0) + 5, {{{"a", "main"}, 3}});
  Roll();
  ASSERT_EQ(Compare(), 1u);
  Add(Hour(0) + 6, {{{"a", "main"}, 4}, {{"b", "main"}, 1}});
  Flush();
  EXPECT_EQ(Compare(), 0u);
  Open();
  EXPECT_EQ(Compare(), 0u);
  Roll();
  EXPECT_EQ(Compare(), 1u);
  EXPECT_EQ(Hours().at(0).revision, 2u);
  Roll();
  EXPECT_EQ(Hours().at(0).revision, 2u) << "nothing changed";
}

TEST_F(HoursTest, ADeleteForgetsTheHoursItTouchesAndTheirNames) {
  Add(Hour(0) + 5, {{{"secret", "main"}, 3}, {{"main"}, 1}}, {{"pod", "a"}});
  Add(Hour(0) + 6, {{{"main"}, 4}}, {{"pod", "b"}});
  Add(Hour(1) + 6, {{{"main"}, 7}}, {{"pod", "b"}});
  Roll();
  ASSERT_EQ(Compare(), 2u);
  auto query = Everything();
  query.selections.at(0).series = {1};
  const auto deleted =
      store_->Delete({.tenant = 0, .range = {Hour(0), Hour(1)}, .selections = query.selections});
  ASSERT_TRUE(deleted) << deleted.error().message();
  EXPECT_EQ(deleted->samples, 2u);
  EXPECT_EQ(Compare(), 1u) << "the other hour";
  EXPECT_EQ(StackTotals(*store_, "shop"), (Totals{{"main", 11}}));
  EXPECT_EQ(RowsOf(*store_, "stack_hours"), 1u);
  EXPECT_EQ(RowsOf(*store_, "hour_rolls"), 1u);
  EXPECT_EQ(RowsOf(*store_, "function_names"), 1u) << "main";
  EXPECT_FALSE(Knows("secret"));
  EXPECT_TRUE(Knows("main"));
  Roll();
  EXPECT_EQ(Compare(), 2u);
  Open();
  EXPECT_EQ(Compare(), 2u);
}

TEST_F(HoursTest, SumsThatDoNotFitStaySamples) {
  Add(Hour(0) + 5, {{{"a"}, INT64_MAX}});
  Add(Hour(0) + 6, {{{"a"}, INT64_MAX}});
  Roll();
  EXPECT_EQ(Compare(), 0u);
  EXPECT_EQ(Hours().at(0).revision, 0u);
}

// Each kind goes by its own time; samples once their hours are made.
TEST_F(HoursTest, RetentionByKindDropsExactlyWhatItSays) {
  const auto at = [&](int days, int number) {
    const std::int64_t time_ns = Hour(0) - days * kNsPerDay;
    Add(time_ns, {{{"a", "main"}, 10 + days, kTrace, kSpan}});
    auto spans = SpanRequest(time_ns);
    spans.identity = HashString("spans " + std::to_string(number));
    Write(std::move(spans));
  };
  int number = 0;
  for (const int days : {0, 1, 2, 3, 5, 8}) at(days, ++number);
  Flush();
  store_.reset();
  const auto retention = Retention::Parse("spans=5d,links=7d,samples=7d,hours=400d");
  ASSERT_TRUE(retention);
  options_.retention = {.usual = *retention, .of_tenant = {}};
  options_.retention_every_ns = 0;
  Open();
  EXPECT_EQ(RowsInTheEnd("spans", 2u * 4u), 2u * 4u) << "0, 1, 2 and 3 days";
  EXPECT_EQ(RowsOf(*store_, "samples"), 6u) << "their hours are not made yet";
  Roll();
  EXPECT_EQ(RowsInTheEnd("samples", 5), 5u);
  EXPECT_EQ(RowsOf(*store_, "trace_index"), 4u);
  EXPECT_EQ(RowsOf(*store_, "links"), 5u);
  EXPECT_EQ(RowsOf(*store_, "samples"), 5u);
  EXPECT_EQ(RowsOf(*store_, "profiles"), 6u);
  EXPECT_EQ(RowsOf(*store_, "stack_hours"), 6u);
  std::int64_t total = 0;
  std::size_t gone = 0;
  const auto of_all = [&] {
    const SampleQuery query = Everything();
    HourSumQuery hours{.query = query, .parts = {}};
    gone = 0;
    for (const HourRow& hour : Hours()) {
      hours.parts.push_back({hour.dictionary, hour.hour, hour.revision});
      gone += store_->reader().SamplesGone(hour.dictionary) ? 1 : 0;
    }
    total = 0;
    for (const auto& [key, sum] : ByStack(query, store_->reader().SumHours(hours, {})))
      total += sum.first;
  };
  of_all();
  EXPECT_EQ(total, 6 * 10 + 0 + 1 + 2 + 3 + 5 + 8);
  EXPECT_EQ(gone, 1u);
  Open();
  of_all();
  EXPECT_EQ(total, 6 * 10 + 0 + 1 + 2 + 3 + 5 + 8);
  EXPECT_EQ(gone, 1u) << "known after a restart";

  // Kept longer now; what is gone cannot be added to.
  store_.reset();
  options_.retention = {};
  Open();
  BatchBuilder batch;
  batch.Add({.time_ns = Hour(0) - 8 * kNsPerDay + 9}, {{{"late", "main"}, 1000}});
  const auto answer = Write(batch.Request("late"));
  EXPECT_EQ(answer.rejected, 1u);
  EXPECT_NE(answer.message.find("were dropped"), std::string::npos) << answer.message;
  const auto deleted = store_->Delete({.tenant = 0,
                                       .range = {Hour(0) - 4 * kNsPerDay, now_ + 1},
                                       .selections = Everything().selections});
  ASSERT_TRUE(deleted) << deleted.error().message();
  of_all();
  EXPECT_EQ(total, 20 + 5 + 8) << "what a delete leaves alone stays, samples or not";

  // Part of an hour whose samples are gone: only as a whole.
  DeleteRequest part{.tenant = 0,
                     .range = {Hour(0) - 8 * kNsPerDay, Hour(0) - 8 * kNsPerDay + 60},
                     .selections = Everything().selections};
  const auto refused = store_->Delete(part);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kInvalid);
  EXPECT_NE(refused.error().message().find("--whole-hours"), std::string::npos);
  of_all();
  EXPECT_EQ(total, 20 + 5 + 8);
  part.whole_hours = true;
  const auto whole = store_->Delete(part);
  ASSERT_TRUE(whole) << whole.error().message();
  of_all();
  EXPECT_EQ(total, 10 + 5);
  EXPECT_EQ(RowsOf(*store_, "stack_hours"), 1u);
}

// Sums know the version, so a delete by it needs no samples.
TEST_F(HoursTest, WithoutSamplesADeleteGoesByVersionOrByWholeHours) {
  const std::int64_t time_ns = Hour(0) - 8 * kNsPerDay;
  Add(time_ns + 5, {{{"a"}, 1}}, {{"service.version", "v1"}, {"pod", "x"}});
  Add(time_ns + 6, {{{"secret"}, 2}}, {{"service.version", "v2"}, {"pod", "x"}});
  Add(time_ns + 7, {{{"a"}, 4}}, {{"service.version", "v1"}, {"pod", "y"}});
  Add(now_, {{{"new"}, 1}}, {}, "other");
  Roll();
  store_.reset();
  options_.retention = {.usual = *Retention::Parse("samples=7d,links=7d"), .of_tenant = {}};
  options_.retention_every_ns = 0;
  Open();
  ASSERT_EQ(RowsInTheEnd("samples", 1), 1u);
  const auto with = [&](std::string_view label, std::string_view value) {
    DeleteRequest request{.tenant = 0,
                          .range = {time_ns, time_ns + kNsPerHour},
                          .selections = Everything().selections};
    const auto series = store_->reader().Series(request.selections.at(0).dictionary, 1, {});
    EXPECT_TRUE(series);
    for (const SeriesRow& row : *series) {
      for (const auto& [name, text] : row.labels) {
        if (name == label && text == value) request.selections[0].series.push_back(row.series);
      }
    }
    return request;
  };
  EXPECT_FALSE(store_->Delete(with("pod", "x")));
  EXPECT_EQ(RowsOf(*store_, "profiles"), 4u) << "all or nothing";
  const auto deleted = store_->Delete(with("service.version", "v2"));
  ASSERT_TRUE(deleted) << deleted.error().message();
  EXPECT_EQ(deleted->profiles, 1u);
  const SampleQuery query = Everything();
  HourSumQuery hours{.query = query, .parts = {}};
  for (const HourRow& hour : Hours())
    hours.parts.push_back({hour.dictionary, hour.hour, hour.revision});
  std::int64_t total = 0;
  for (const auto& [key, sum] : ByStack(query, store_->reader().SumHours(hours, {})))
    total += sum.first;
  EXPECT_EQ(total, 5);
  EXPECT_FALSE(Knows("secret"));
}

TEST_F(HoursTest, WhatIsPinnedStaysWhole) {
  for (const int days : {0, 1, 2, 8, 9}) {
    Add(Hour(0) - days * kNsPerDay, {{{"a"}, 1, kTrace, kSpan}});
    auto spans = SpanRequest(Hour(0) - days * kNsPerDay);
    spans.identity = HashString("spans " + std::to_string(days));
    Write(std::move(spans));
  }
  Flush();
  const std::int64_t at = Hour(0) - 8 * kNsPerDay;
  EXPECT_FALSE(store_->SetPin({.service = "shop", .range = {at, at}}));
  EXPECT_FALSE(store_->SetPin({.range = {at, at + 1}}));
  const Pin wanted{.service = "shop", .range = {at, at + kNsPerHour}, .why = "incident 42"};
  const auto pin = store_->SetPin(wanted);
  ASSERT_TRUE(pin) << pin.error().message();
  EXPECT_EQ(store_->SetPin(wanted)->id, pin->id) << "the same again";
  store_.reset();
  options_.retention = {.usual = Retention::OfAll(7 * kNsPerDay), .of_tenant = {}};
  options_.retention_every_ns = 0;
  Open();
  EXPECT_EQ(RowsInTheEnd("functions", 4), 4u);
  for (const char* table : {"samples", "links", "profiles", "functions"})
    EXPECT_EQ(RowsOf(*store_, table), 4u) << table << ": all but that of nine days ago";
  EXPECT_EQ(RowsOf(*store_, "spans"), 8u);
  ASSERT_EQ(store_->Pins(0)->size(), 1u);
  EXPECT_EQ(store_->Pins(0)->at(0).why, "incident 42");
  EXPECT_TRUE(store_->Pins(7)->empty()) << "another tenant";
  const auto kept = store_->Kept(0);
  ASSERT_TRUE(kept);
  EXPECT_EQ(std::ranges::count_if(*kept, &KeptBucket::pinned), 4) << "of every kind";
  ASSERT_FALSE(store_->RemovePin(7, pin->id));
  ASSERT_TRUE(store_->RemovePin(0, pin->id));
  Open();
  EXPECT_TRUE(store_->Pins(0)->empty());
  EXPECT_EQ(RowsInTheEnd("samples", 3), 3u);
}

TEST_F(HoursTest, APinWithAnEndGoesByItselfAndShortensNoOther) {
  const std::int64_t at = Hour(0) - 8 * kNsPerDay;
  Add(at, {{{"a"}, 1}});
  Add(Hour(0), {{{"a"}, 1}});
  Flush();
  Pin pin{.service = "shop", .range = {at, at + kNsPerHour}, .why = "alert Hot"};
  pin.until_ns = NowUnixNs();
  EXPECT_FALSE(store_->SetPin(pin)) << "it is over";
  pin.until_ns = NowUnixNs() + kNsPerDay;
  const auto first = store_->SetPin(pin);
  ASSERT_TRUE(first) << first.error().message();
  Pin shorter = pin;
  shorter.until_ns -= kNsPerHour;
  shorter.why = "another";
  EXPECT_EQ(store_->SetPin(shorter)->why, "alert Hot") << "it lasts as long";
  Pin other = pin;
  other.range.from_ns += 1;
  other.until_ns = 0;
  other.why = "incident 42";
  ASSERT_TRUE(store_->SetPin(other));
  other.until_ns = pin.until_ns;
  other.why = "alert Hot";
  EXPECT_EQ(store_->SetPin(other)->why, "incident 42") << "nobody's pin becomes shorter";
  EXPECT_EQ(store_->Pins(0)->size(), 2u);
  store_.reset();
  options_.retention = {.usual = Retention::OfAll(7 * kNsPerDay), .of_tenant = {}};
  options_.retention_every_ns = 0;
  Open();
  EXPECT_EQ(RowsInTheEnd("profiles", 2), 2u);
  ASSERT_EQ(store_->Pins(0)->size(), 2u);
  EXPECT_EQ(store_->Pins(0)->at(0).until_ns, pin.until_ns) << "known after a restart";
  const auto pins = store_->Pins(0);
  ASSERT_TRUE(pins);
  for (const Pin& known : *pins) ASSERT_TRUE(store_->RemovePin(0, known.id));
  pin.until_ns = NowUnixNs() + kNsPerSecond;
  ASSERT_TRUE(store_->SetPin(pin));
  EXPECT_EQ(RowsInTheEnd("profiles", 1), 1u) << "its time is over";
  EXPECT_TRUE(store_->Pins(0)->empty());
}

TEST_F(HoursTest, ATenantMayHaveItsOwnRetention) {
  for (const std::uint32_t tenant : {0u, 5u, 6u}) {
    for (const int days : {0, 1, 4}) {
      BatchBuilder batch;
      batch.Add({.time_ns = Hour(0) - days * kNsPerDay}, {{{"a"}, 1}});
      Write(batch.Request(std::to_string(tenant * 10 + static_cast<unsigned>(days)), tenant));
    }
  }
  Flush();
  store_.reset();
  options_.retention = {.usual = Retention::OfAll(300 * kNsPerDay),
                        .of_tenant = {{5, Retention::OfAll(3 * kNsPerDay)}}};
  options_.retention_every_ns = 0;
  Open();
  EXPECT_EQ(RowsInTheEnd("samples", 8), 8u);
  EXPECT_EQ(RowsInTheEnd("functions", 8), 8u);
  EXPECT_EQ(StackTotals(*store_, "shop", 5), (Totals{{"a", 2}}));
  EXPECT_EQ(StackTotals(*store_, "shop", 6), (Totals{{"a", 3}}));
  const auto problems = store_->status(5).problems;
  EXPECT_TRUE(problems.empty()) << problems[0].what;
  Open();
  EXPECT_TRUE(store_->status(5).problems.empty()) << "nothing is missing";
  BatchBuilder batch;
  batch.Add({.time_ns = Hour(0) - 4 * kNsPerDay}, {{{"a"}, 1}});
  EXPECT_EQ(Write(batch.Request("late", 5)).rejected, 1u);
  batch.Add({.time_ns = Hour(0) - 4 * kNsPerDay}, {{{"a"}, 1}});
  EXPECT_EQ(Write(batch.Request("late, too", 6)).rejected, 0u);
}

}  // namespace
}  // namespace wherefore::store
