#include "store/store.h"

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/text.h"
#include "profile/typed_attributes.h"
#include "store/span_extras.h"
#include "store/test_batch.h"
#include "store/test_directory.h"

namespace wherefore::store {
namespace {

using Totals = std::map<std::string, std::int64_t>;
constexpr const char* kTrace = "0102030405060708090a0b0c0d0e0f10";
constexpr const char* kSpan = "1112131415161718";

class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    WHEREFORE_SKIP_WITHOUT_ENGINE();
    Open();
  }
  void Open() {
    store_.reset();
    options_.directory = directory_ / "data";
    auto opened = Store::Open(options_);
    ASSERT_TRUE(opened) << opened.error().message();
    store_ = std::move(*opened);
  }
  profile::WriteAnswer Write(profile::WriteRequest request) {
    auto answer = WriteNow(*store_, std::move(request));
    EXPECT_TRUE(answer) << answer.error().message();
    return answer ? *answer : profile::WriteAnswer{};
  }
  void Flush() {
    const auto flushed = store_->Flush();
    ASSERT_TRUE(flushed) << flushed.error().message();
  }
  SampleQuery Everything(const std::string& service = "shop") {
    SampleQuery query{.tenant = 0, .range = {0, INT64_MAX}, .selections = {}};
    const auto services = store_->reader().Services(0, query.range, {});
    EXPECT_TRUE(services);
    for (const ServiceRow& row : *services) {
      if (row.name == service) query.selections.push_back({row.dictionary, {}, {}});
    }
    return query;
  }

  TestDirectory directory_;
  StoreOptions options_;
  std::unique_ptr<Store> store_;
  const std::int64_t now_ = NowUnixNs();
};

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

TEST_F(StoreTest, TenantsDoNotSeeEachOther) {
  BatchBuilder batch;
  batch.Add({.time_ns = now_}, {{{"main"}, 1}});
  Write(batch.Request("a", 7));
  Flush();
  EXPECT_TRUE(StackTotals(*store_, "shop", 0).empty());
  EXPECT_EQ(StackTotals(*store_, "shop", 7), (Totals{{"main", 1}}));
}

profile::WriteRequest SpanRequest(std::int64_t time_ns) {
  profile::SpanBatch batch;
  const auto text = [&](std::string_view t) { return batch.AddText(t); };
  batch.own_attributes.push_back(
      {text("service.name"), 0, {profile::Value::Kind::kString, text("shop"), 0}});
  batch.resources.push_back({{0, 1}, 0, 0, 0});
  batch.own_attributes.push_back(
      {text("http.route"), 0, {profile::Value::Kind::kString, text("/pay"), 0}});
  batch.own_attributes.push_back({text("http.status"), 0, {profile::Value::Kind::kInt, 0, 200}});
  batch.events.push_back({static_cast<std::uint64_t>(time_ns) + 1, text("retry"), {2, 1}, 0});
  for (std::uint8_t i = 1; i <= 2; ++i) {
    profile::Span span;
    span.resource = 1;
    std::memcpy(span.trace.data(), FromHex(kTrace)->data(), 16);
    span.id[0] = i;
    if (i == 2) span.parent[0] = 1;
    span.name = text(i == 1 ? "POST /pay" : "SELECT");
    span.kind = 2;
    span.status_code = i == 2 ? 2 : 0;
    span.start_ns = static_cast<std::uint64_t>(time_ns) + i;
    span.end_ns = span.start_ns + std::uint64_t{1000} * i;
    span.attributes = {1, 2};
    span.events = {0, 1};
    batch.spans.push_back(span);
  }
  EXPECT_TRUE(batch.Validate());
  profile::WriteRequest request;
  request.data = std::move(batch);
  request.identity = HashString("spans");
  return request;
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

TEST_F(StoreTest, ASecondOpenIsRefusedAndNamesTheHolder) {
  const auto second = Store::Open(options_);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message().find("is in use by pid " + std::to_string(getpid())),
            std::string::npos)
      << second.error().message();
}

TEST_F(StoreTest, ANewerSchemaIsRefused) {
  store_.reset();
  std::ofstream(directory_ / "data/schema") << "99\n";
  const auto opened = Store::Open(options_);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), Code::kUnsupported);
  EXPECT_NE(opened.error().message().find("newer version"), std::string::npos);
}

TEST_F(StoreTest, RetentionDropsOldBucketsAndRefusesOldData) {
  BatchBuilder batch;
  batch.Add({.time_ns = now_ - 10 * kNsPerDay}, {{{"old"}, 1}});
  batch.Add({.time_ns = now_}, {{{"new"}, 1}});
  Write(batch.Request("a"));
  Flush();
  EXPECT_EQ(StackTotals(*store_, "shop").size(), 2u);
  options_.retention_ns = 7 * kNsPerDay;
  Open();
  batch.Add({.time_ns = now_ - 10 * kNsPerDay}, {{{"old"}, 1}});
  batch.Add({.time_ns = now_}, {{{"new"}, 1}});
  EXPECT_EQ(Write(batch.Request("b")).rejected, 1u);
  Flush();
  store_.reset();  // the inserter's round that dropped is over
  Open();
  EXPECT_EQ(StackTotals(*store_, "shop"), (Totals{{"new", 2}}));
}

TEST_F(StoreTest, DeleteRemovesRowsAndLeakedNames) {
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

TEST_F(StoreTest, DeleteOfARangeKeepsTheRest) {
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

TEST_F(StoreTest, BackupAndRestoreGiveTheSameTotals) {
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

TEST_F(StoreTest, ABackupThatDoesNotMatchItsManifestIsRefused) {
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

TEST_F(StoreTest, AFullQueueAnswersLimit) {
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

TEST_F(StoreTest, StatisticsAndStatusSpeakOfTheData) {
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
  EXPECT_EQ(store_->status().part, "store");
}

}  // namespace
}  // namespace wherefore::store
