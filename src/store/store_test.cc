#include "store/store.h"

#include <thread>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/text.h"
#include "profile/observed_time.h"
#include "profile/typed_attributes.h"
#include "store/read/step_sums.h"
#include "store/test_store.h"
#include "store/write/span_extras.h"

namespace wherefore::store {
namespace {

TEST_F(StoreTest, SumsAreExactAfterFlush) {
  BatchBuilder batch;
  batch.Add({.time_ns = now_}, {{{"work", "main"}, 3}, {{"main"}, 4}});
  Write(batch.Request("a"));
  batch.Add({.time_ns = now_ + 1}, {{{"work", "main"}, 5}});
  Write(batch.Request("b"));
  Flush();
  EXPECT_EQ(StackTotals(*store_, "shop"), (Totals{{"main;work", 8}, {"main", 4}}));
}

TEST_F(StoreTest, DictionaryRowsComeBackAsSent) {
  BatchBuilder batch;
  batch.Add({.time_ns = now_}, {{{"work", "main"}, 3}});
  Write(batch.Request("a"));
  Flush();
  const auto query = Everything();
  const auto rows = store_->reader().Dictionary(query.selections.at(0).dictionary, {}, {});
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->functions.size(), 2u);
  EXPECT_EQ(rows->functions[0].name, "work");
  EXPECT_EQ(rows->functions[0].system_name, "_Zwork");
  EXPECT_EQ(rows->functions[0].file, "work.cc");
  EXPECT_EQ(rows->functions[0].start_line, 7);
  ASSERT_EQ(rows->mappings.size(), 1u);
  EXPECT_EQ(rows->mappings[0].file, "/bin/shop");
  EXPECT_EQ(rows->mappings[0].limit, 0x9000u);
  EXPECT_EQ(rows->frames.at(0).lines.at(0).line, 11u);
  EXPECT_EQ(rows->frames.at(0).lines.at(0).column, 3u);
  const auto rest = store_->reader().Dictionary(
      query.selections[0].dictionary, {.stack = 2, .frame = 2, .function = 2, .mapping = 2}, {});
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->functions.size(), 1u);
  EXPECT_TRUE(rest->stacks.empty());
}

TEST_F(StoreTest, NamesGetTheSameIdsAfterARestart) {
  BatchBuilder batch;
  const BatchBuilder::Options options{.resource = {{"host.name", "h1"}}, .time_ns = now_};
  batch.Add(options, {{{"work", "main"}, 3, "", "", {}, {{"endpoint", "/a"}}}});
  Write(batch.Request("a"));
  Open();
  batch.Add(options,
            {{{"work", "main"}, 4, "", "", {}, {{"endpoint", "/a"}}}, {{"other", "main"}, 1}});
  Write(batch.Request("b"));
  Flush();
  EXPECT_EQ(StackTotals(*store_, "shop"), (Totals{{"main;work", 7}, {"main;other", 1}}));
  const auto query = Everything();
  ASSERT_EQ(query.selections.size(), 1u);
  const auto rows = store_->reader().Dictionary(query.selections[0].dictionary, {}, {});
  ASSERT_TRUE(rows) << rows.error().message();
  EXPECT_EQ(rows->stacks.size(), 2u);
  EXPECT_EQ(rows->functions.size(), 3u);
  const auto series = store_->reader().Series(query.selections[0].dictionary, 1, {});
  ASSERT_TRUE(series);
  EXPECT_EQ(series->size(), 2u);
  const auto profiles = store_->reader().Profiles(query, 0, {});
  ASSERT_TRUE(profiles);
  ASSERT_EQ(profiles->size(), 2u);
  EXPECT_NE((*profiles)[0].number, (*profiles)[1].number);
}

TEST_F(StoreTest, ARepeatIsAnsweredAndStoredOnceAlsoAfterARestart) {
  BatchBuilder batch;
  const auto request = [&] {
    batch.Add({.time_ns = now_}, {{{"main"}, 3}});
    batch.Add({.time_ns = 1}, {{{"main"}, 3}});  // before 2000
    return batch.Request("same");
  };
  const auto first = Write(request());
  EXPECT_FALSE(first.repeated);
  EXPECT_EQ(first.rejected, 1u);
  const auto second = Write(request());
  EXPECT_TRUE(second.repeated);
  EXPECT_EQ(second.rejected, 1u);
  EXPECT_EQ(second.message, first.message);
  Open();
  EXPECT_TRUE(Write(request()).repeated);
  Open();  // now from identities.log
  const auto last = Write(request());
  EXPECT_TRUE(last.repeated);
  EXPECT_EQ(last.message, first.message);
  Flush();
  EXPECT_EQ(StackTotals(*store_, "shop"), (Totals{{"main", 3}}));
}

TEST_F(StoreTest, RepeatsInOneGroupAreStoredOnce) {
  BatchBuilder batch;
  std::atomic<int> repeated{0};
  std::atomic<int> answered{0};
  for (int i = 0; i < 50; ++i) {
    batch.Add({.time_ns = now_}, {{{"main"}, 3}});
    store_->Write(batch.Request("same"), [&](Result<profile::WriteAnswer> answer) {
      if (answer && answer->repeated) ++repeated;
      ++answered;
    });
  }
  while (answered < 50) std::this_thread::yield();
  EXPECT_EQ(repeated, 49);
  Flush();
  EXPECT_EQ(StackTotals(*store_, "shop"), (Totals{{"main", 3}}));
}

TEST_F(StoreTest, AbsurdTimesAreRefusedWithAReasonAndTheRestIsKept) {
  BatchBuilder batch;
  batch.Add({.time_ns = now_}, {{{"main"}, 1}});
  batch.Add({.time_ns = now_ + 2 * (3600 * kNsPerSecond)}, {{{"main"}, 1}});
  batch.Add({.time_ns = -1}, {{{"main"}, 1}});
  batch.Add({.time_ns = 0}, {{{"arrived"}, 1}});
  const auto answer = Write(batch.Request("a"));
  EXPECT_EQ(answer.rejected, 2u);
  EXPECT_NE(answer.message.find("in the future"), std::string::npos) << answer.message;
  Flush();
  EXPECT_EQ(StackTotals(*store_, "shop"), (Totals{{"main", 1}, {"arrived", 1}}));
}

TEST_F(StoreTest, ManyDifferentDaysAreStoredAndFound) {
  BatchBuilder batch;
  for (int day = 0; day < 55; ++day)
    batch.Add({.time_ns = now_ - day * kNsPerDay}, {{{"main"}, 1}});
  EXPECT_EQ(Write(batch.Request("a")).rejected, 0u);
  Flush();
  EXPECT_EQ(StackTotals(*store_, "shop"), (Totals{{"main", 55}}));
}

TEST_F(StoreTest, LabelsAreTextAndIdsAreNot) {
  BatchBuilder batch;
  batch.Add({.resource = {{"host.name", "h1"}, {"process.pid", "77"}},
             .time_ns = now_,
             .attributes = {{"region", "eu"}}},
            {{{"main"}, 1, "", "", {}, {{"endpoint", "/a"}, {"thread.id", "9"}, {"span_id", "x"}}},
             {{"main"}, 2}});
  Write(batch.Request("a"));
  Flush();
  const auto query = Everything();
  const auto series = store_->reader().Series(query.selections.at(0).dictionary, 1, {});
  ASSERT_TRUE(series);
  ASSERT_EQ(series->size(), 2u);
  EXPECT_EQ((*series)[0].parent, 0u);
  EXPECT_EQ((*series)[0].labels,
            (Labels{{"host.name", "h1"}, {"region", "eu"}, {"service.name", "shop"}}));
  EXPECT_EQ((*series)[1].parent, 1u);
  EXPECT_EQ(
      (*series)[1].labels,
      (Labels{
          {"endpoint", "/a"}, {"host.name", "h1"}, {"region", "eu"}, {"service.name", "shop"}}));
  const auto profiles = store_->reader().Profiles(query, 0, {});
  ASSERT_TRUE(profiles);
  const auto rest = profile::ReadTyped(profiles->at(0).attributes);
  ASSERT_TRUE(rest);
  ASSERT_EQ(rest->size(), 1u);
  EXPECT_EQ(rest->at(0).key, "process.pid");
  const auto samples = store_->reader().ProfileSamples(profiles->at(0), {});
  ASSERT_TRUE(samples);
  ASSERT_EQ(samples->size(), 2u);
  const auto detail = profile::ReadTyped(samples->at(0).attributes);
  ASSERT_TRUE(detail);
  EXPECT_EQ(detail->size(), 2u);
}

TEST_F(StoreTest, TooManySeriesNameTheLabelThatGrows) {
  options_.max_series_per_service = 5;
  Open();
  BatchBuilder batch;
  for (int i = 0; i < 8; ++i) {
    batch.Add({.resource = {{"pod", "p" + std::to_string(i)}, {"zone", "z"}}, .time_ns = now_},
              {{{"main"}, 1}});
  }
  const auto answer = Write(batch.Request("a"));
  EXPECT_EQ(answer.rejected, 3u);
  EXPECT_NE(answer.message.find("pod (5 values)"), std::string::npos) << answer.message;
}

TEST_F(StoreTest, ProfilesLinksAndDetailsComeBackComplete) {
  const std::string id = "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf";
  BatchBuilder batch;
  batch.Add({.time_ns = now_, .type = "wall", .unit = "nanoseconds", .id = id},
            {{{"main"}, 10, kTrace, kSpan},
             {{"main"}, 10},
             {{"main"},
              20,
              kTrace,
              kSpan,
              {static_cast<std::uint64_t>(now_), static_cast<std::uint64_t>(now_ + 5)}}});
  Write(batch.Request("a"));
  Flush();
  profile::ProfileId wanted{};
  std::memcpy(wanted.data(), FromHex(id)->data(), 16);
  const auto profiles = store_->reader().ProfileById(0, wanted, {});
  ASSERT_TRUE(profiles) << profiles.error().message();
  ASSERT_EQ(profiles->size(), 1u);
  EXPECT_EQ(profiles->at(0).total, 40);
  EXPECT_EQ(profiles->at(0).samples, 3);
  const auto samples = store_->reader().ProfileSamples(profiles->at(0), {});
  ASSERT_TRUE(samples) << samples.error().message();
  ASSERT_EQ(samples->size(), 3u);
  int linked = 0;
  int timed = 0;
  std::int64_t total = 0;
  for (const SampleRow& row : *samples) {
    linked += row.trace != profile::TraceId{} ? 1 : 0;
    timed += row.times.size() == 2 ? 1 : 0;
    total += row.value;
  }
  EXPECT_EQ(linked, 2);
  EXPECT_EQ(timed, 1);
  EXPECT_EQ(total, 40);

  profile::TraceId trace{};
  std::memcpy(trace.data(), FromHex(kTrace)->data(), 16);
  profile::SpanId span{};
  std::memcpy(span.data(), FromHex(kSpan)->data(), 8);
  EXPECT_EQ(store_->reader().LinkedSamples(0, trace, {}, {})->size(), 2u);
  EXPECT_EQ(store_->reader().LinkedSamples(0, trace, {span}, {})->size(), 2u);
  EXPECT_EQ(store_->reader().LinkedSamples(0, {}, {span}, {})->size(), 2u);
  EXPECT_EQ(store_->reader().LinkedSamples(0, trace, {profile::SpanId{9}}, {})->size(), 0u);
  EXPECT_EQ(store_->reader().LinkedSamples(1, trace, {}, {})->size(), 0u);
}

TEST_F(StoreTest, TimelineAddsUpBySeriesAndStep) {
  const std::int64_t step = 60 * kNsPerSecond;
  const std::int64_t start = (now_ - 3600 * kNsPerSecond) / step * step;
  BatchBuilder batch;
  batch.Add({.resource = {{"pod", "a"}}, .time_ns = start}, {{{"main"}, 1}, {{"main", "x"}, 2}});
  batch.Add({.resource = {{"pod", "a"}}, .time_ns = start + step - 1}, {{{"main"}, 4}});
  batch.Add({.resource = {{"pod", "b"}}, .time_ns = start + step}, {{{"main"}, 8}});
  Write(batch.Request("a"));
  Flush();
  for (const bool from_samples : {false, true}) {
    const auto points = store_->reader().Timeline(Everything(), {step}, from_samples, {});
    ASSERT_TRUE(points) << points.error().message();
    ASSERT_EQ(points->size(), 2u);
    EXPECT_EQ(points->at(0).step_start_ns, start);
    EXPECT_EQ(points->at(0).value, 7);
    EXPECT_EQ(points->at(0).profiles, 2);
    EXPECT_EQ(points->at(1).step_start_ns, start + step);
    EXPECT_EQ(points->at(1).value, 8);
    // Steps that end with their right edge: (start - step, start], (start, start + step].
    const auto right = store_->reader().Timeline(Everything(), {step, 1}, from_samples, {});
    ASSERT_TRUE(right) << right.error().message();
    ASSERT_EQ(right->size(), 3u);  // two series share the second step
    EXPECT_EQ(right->at(0).step_start_ns, start - step + 1);
    EXPECT_EQ(right->at(0).value, 3);
    EXPECT_EQ(right->at(1).step_start_ns, start + 1);
    EXPECT_EQ(right->at(1).value + right->at(2).value, 12);
  }
  auto query = Everything();
  query.selections[0].series = {1};
  query.range = {start, start + step};
  const auto sums = store_->reader().SumStacksBySeries(query, {});
  ASSERT_TRUE(sums);
  std::int64_t total = 0;
  for (const auto& sum : *sums) total += sum.sum.value;
  EXPECT_EQ(total, 7);
}

TEST_F(StoreTest, AProfileThatLastsIsSharedOutBetweenSteps) {
  const std::int64_t step = 12 * kNsPerSecond;
  const std::int64_t start = (now_ - 3600 * kNsPerSecond) / step * step;
  constexpr std::int64_t kAnHour = 3600;
  // Every ten seconds one of ten seconds, none of them divisible evenly: no step stands out.
  BatchBuilder batch;
  for (std::int64_t i = 0; i < 12; ++i) {
    batch.Add({.time_ns = start + i * 10 * kNsPerSecond}, {{{"main"}, 1'000'003}});
  }
  batch.Add({.resource = {{"pod", "moment"}}, .time_ns = start + step, .duration_ns = 0},
            {{{"main"}, 5}});
  batch.Add({.resource = {{"pod", "years"}}, .time_ns = start, .duration_ns = 1ULL << 61U},
            {{{"main"}, 7}});
  Write(batch.Request("a"));
  Flush();
  auto query = Everything();
  query.range = {start, start + kAnHour * kNsPerSecond};
  const auto points =
      store_->reader().Timeline(query, {.width_ns = step, .spread = true}, false, {});
  ASSERT_TRUE(points) << points.error().message();
  std::map<std::uint32_t, std::map<std::int64_t, std::int64_t>> by_series;
  for (const SeriesPoint& p : *points)
    by_series[p.series][(p.step_start_ns - start) / step] = p.value;
  ASSERT_EQ(by_series.size(), 3u);
  std::int64_t sum = 0;
  for (const auto& [at, value] : by_series[1]) {
    EXPECT_NEAR(static_cast<double>(value), 1'200'003.6, 2) << "step " << at;
    sum += value;
  }
  EXPECT_EQ(by_series[1].size(), 10u);
  EXPECT_EQ(sum, 12 * 1'000'003);
  EXPECT_EQ(by_series[2], (std::map<std::int64_t, std::int64_t>{{1, 5}}));
  EXPECT_EQ(by_series[3], (std::map<std::int64_t, std::int64_t>{{0, 7}}));
  // What lies beyond the range is in its last step.
  query.range.to_ns = start + 115 * kNsPerSecond;
  const auto cut = store_->reader().Timeline(query, {.width_ns = step, .spread = true}, false, {});
  ASSERT_TRUE(cut);
  sum = 0;
  for (const SeriesPoint& p : *cut) sum += p.series == 1 ? p.value : 0;
  EXPECT_EQ(sum, 12 * 1'000'003);
}

TEST_F(StoreTest, ManyProfilesAreSharedOutAsFewAre) {
  // So many that those within one step are added up by the engine.
  constexpr std::int64_t kMany = 100'500;
  const std::int64_t step = 12 * kNsPerSecond;
  const std::int64_t start = (now_ - 7200 * kNsPerSecond) / step * step;
  SampleQuery query;
  StepSums expected({.width_ns = step, .spread = true}, start + 1800 * kNsPerSecond);
  BatchBuilder batch;
  for (std::int64_t i = 0; i < kMany; ++i) {
    const std::int64_t at = start + i * 17'000'000;
    batch.Add({.time_ns = at, .duration_ns = i % 3 == 0 ? 10'000'000'000U : 1'000'000U},
              {{{"main"}, i % 1000}});
    if (at >= start + 1800 * kNsPerSecond) continue;
    expected.Add({.series = 1,
                  .time_ns = at,
                  .duration_ns = i % 3 == 0 ? 10 * kNsPerSecond : 1'000'000,
                  .value = i % 1000});
  }
  batch.Add({.time_ns = start + 3000 * kNsPerSecond}, {{{"main"}, 1}});  // after a gap
  Write(batch.Request("many"));
  Flush();
  query = Everything();
  query.range = {start, start + 1800 * kNsPerSecond};
  const auto points =
      store_->reader().Timeline(query, {.width_ns = step, .spread = true}, false, {});
  ASSERT_TRUE(points) << points.error().message();
  const auto values = [](const std::vector<SeriesPoint>& list) {
    std::map<std::int64_t, std::tuple<std::int64_t, std::int64_t, std::int64_t>> out;
    for (const SeriesPoint& p : list) {
      // Around midnight a step has points of two days.
      auto& [value, profiles, last_ns] = out[p.step_start_ns];
      value += p.value;
      profiles += p.profiles;
      last_ns = std::max(last_ns, p.last_ns);
    }
    return out;
  };
  EXPECT_EQ(values(*points), values(expected.Take()));
  EXPECT_EQ(values(*points).size(), 144u);
  // When they were taken is put together by the engine too, and says the same.
  query.range = {start, start + 7200 * kNsPerSecond};
  const auto seen = store_->reader().Seen(query, Reader::SeenAs::kOfEach, {});
  ASSERT_TRUE(seen) << seen.error().message();
  EXPECT_LT(seen->size(), kMany);
  profile::ObservedTime observed;
  for (const SeenRow& row : *seen) observed.Add(row.begin_ns, row.length_ns);
  profile::ObservedTime one_by_one;
  for (std::int64_t i = 0; i < kMany; ++i) {
    one_by_one.Add(start + i * 17'000'000, i % 3 == 0 ? 10 * kNsPerSecond : 1'000'000);
  }
  EXPECT_EQ(observed.total_ns(), one_by_one.total_ns() + 10 * kNsPerSecond);
  const auto together = store_->reader().Seen(query, Reader::SeenAs::kTogether, {});
  ASSERT_TRUE(together) << together.error().message();
  EXPECT_LE(together->size(), seen->size());
  profile::ObservedTime of_all;
  for (const SeenRow& row : *together) of_all.Add(row.begin_ns, row.length_ns);
  EXPECT_EQ(of_all.total_ns(), observed.total_ns());
}

TEST_F(StoreTest, SumsPerProfileAreOfTheStacksAskedFor) {
  BatchBuilder batch;
  batch.Add({.time_ns = now_, .duration_ns = 5},
            {{{"a"}, 1}, {{"b"}, 2, "", "", {}, {{"thread", "x"}}}, {{"c"}, 4}});
  batch.Add({.time_ns = now_ + 7, .duration_ns = 6}, {{{"a"}, 8}});
  Write(batch.Request("a"));
  Flush();
  auto query = Everything();
  const auto sums = [&](std::optional<StackSet> stacks) {
    query.selections[0].stacks = std::move(stacks);
    const auto rows = store_->reader().SumProfiles(query, false, {});
    EXPECT_TRUE(rows) << rows.error().message();
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> out;
    for (const ProfileSum& row : *rows) out[{row.time_ns - now_, row.duration_ns}] += row.value;
    return out;
  };
  using Sums = std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t>;
  EXPECT_EQ(sums(std::nullopt), (Sums{{{0, 5}, 7}, {{7, 6}, 8}}));
  EXPECT_EQ(sums(StackSet{.stacks = {2, 3}}), (Sums{{{0, 5}, 6}}));
  EXPECT_EQ(sums(StackSet{.stacks = {2, 3}, .all_below = 4}), (Sums{{{0, 5}, 1}, {{7, 6}, 8}}));
  EXPECT_EQ(sums(StackSet{.stacks = {}, .all_below = 3}), (Sums{{{0, 5}, 3}, {{7, 6}, 8}}));
  EXPECT_EQ(sums(StackSet{}), Sums());
}

TEST_F(StoreTest, TenantsDoNotSeeEachOther) {
  BatchBuilder batch;
  batch.Add({.time_ns = now_}, {{{"main"}, 1}});
  Write(batch.Request("a", 7));
  Flush();
  EXPECT_TRUE(StackTotals(*store_, "shop", 0).empty());
  EXPECT_EQ(StackTotals(*store_, "shop", 7), (Totals{{"main", 1}}));
}

TEST_F(StoreTest, SpansAreFoundByTraceAndBySearch) {
  Write(SpanRequest(now_));
  Flush();
  profile::TraceId trace{};
  std::memcpy(trace.data(), FromHex(kTrace)->data(), 16);
  Reader& reader = store_->reader();
  const auto spans = reader.Trace(0, trace, {});
  ASSERT_TRUE(spans) << spans.error().message();
  ASSERT_EQ(spans->size(), 2u);
  EXPECT_EQ(spans->at(0).service_name, "shop");
  EXPECT_EQ(spans->at(0).name, "POST /pay");
  EXPECT_EQ(spans->at(1).duration_ns, 2000);
  EXPECT_EQ(spans->at(0).attributes, (Labels{{"http.route", "/pay"}, {"http.status", "200"}}));
  const auto extras = ReadSpanExtras(spans->at(0).encoded);
  ASSERT_TRUE(extras) << extras.error().message();
  ASSERT_EQ(extras->events.size(), 1u);
  EXPECT_EQ(extras->events[0].name, "retry");

  const auto shape = reader.TraceShape(0, trace, {});
  ASSERT_TRUE(shape) << shape.error().message();
  ASSERT_EQ(shape->size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    const SpanRow& whole = spans->at(i);
    const SpanRow& row = shape->at(i);
    EXPECT_EQ(std::tie(row.service, row.service_name, row.trace, row.id, row.parent, row.name),
              std::tie(whole.service, whole.service_name, whole.trace, whole.id, whole.parent,
                       whole.name));
    EXPECT_EQ(std::tie(row.kind, row.status_code, row.start_ns, row.duration_ns),
              std::tie(whole.kind, whole.status_code, whole.start_ns, whole.duration_ns));
    EXPECT_TRUE(row.attributes.empty() && row.encoded.empty());
  }

  const auto count = [&](auto change) {
    SpanSearch search{.range = {now_ - kNsPerSecond, now_ + kNsPerSecond}};
    change(search);
    const auto found = reader.SearchSpans(search, {});
    EXPECT_TRUE(found) << found.error().message();
    return found->size();
  };
  EXPECT_EQ(count([](SpanSearch&) {}), 2u);
  EXPECT_EQ(count([](SpanSearch& s) {
              s.service = "shop";
              s.name = "SELECT";
            }),
            1u);
  EXPECT_EQ(count([](SpanSearch& s) { s.service = "other"; }), 0u);
  EXPECT_EQ(count([](SpanSearch& s) { s.min_duration_ns = 1500; }), 1u);
  EXPECT_EQ(count([](SpanSearch& s) { s.status_code = 2; }), 1u);
  EXPECT_EQ(count([](SpanSearch& s) { s.roots_only = true; }), 1u);
  EXPECT_EQ(count([](SpanSearch& s) {
              s.attributes = {{"http.route", "/pay"}, {"service.name", "shop"}};
            }),
            2u);
  EXPECT_EQ(count([](SpanSearch& s) { s.attributes = {{"http.route", "/nay"}}; }), 0u);
  EXPECT_EQ(count([](SpanSearch& s) { s.limit = 1; }), 1u);
  const auto names = reader.SpanNames(0, {now_ - kNsPerSecond, now_ + kNsPerSecond}, {});
  ASSERT_TRUE(names);
  EXPECT_EQ(*names, (Labels{{"shop", "POST /pay"}, {"shop", "SELECT"}}));
  EXPECT_TRUE(reader.Services(0, {0, INT64_MAX}, {})->empty())
      << "a service with spans only has no profiles";
}

}  // namespace
}  // namespace wherefore::store
