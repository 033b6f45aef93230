// The questions the page asks of the store, each against an engine with a little in it.
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/test_directory.h"
#include "base/text.h"
#include "profile/span_batch.h"
#include "store/store.h"
#include "store/test_batch.h"

namespace wherefore::store {
namespace {

constexpr std::int64_t kMs = 1'000'000;

std::string Hex(char digit, std::size_t digits) {
  return std::string(digits, digit);
}
profile::TraceId Trace(char digit) {
  profile::TraceId id{};
  FromHex(Hex(digit, 32))->copy(reinterpret_cast<char*>(id.data()), id.size());
  return id;
}
profile::SpanId Span(char digit) {
  profile::SpanId id{};
  FromHex(Hex(digit, 16))->copy(reinterpret_cast<char*>(id.data()), id.size());
  return id;
}

struct TestSpan {
  char trace = '1';
  char span = '1';
  char parent = 0;  // 0: none
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  std::uint8_t kind = 1;
  std::uint8_t status = 0;
  char profile_id = 0;  // 0: none
};

profile::WriteRequest SpansOf(const std::string& service, const std::vector<TestSpan>& spans) {
  profile::SpanBatch batch;
  batch.own_attributes.push_back({batch.AddText("service.name"),
                                  0,
                                  {profile::Value::Kind::kString, batch.AddText(service), 0}});
  batch.resources.push_back({{0, 1}, 0, 0, 0});
  const auto profile_id = batch.AddText("pyroscope.profile.id");
  for (const TestSpan& s : spans) {
    profile::Span span;
    span.resource = 1;
    span.trace = Trace(s.trace);
    span.id = Span(s.span);
    if (s.parent != 0) span.parent = Span(s.parent);
    span.name = batch.AddText("op");
    span.kind = s.kind;
    span.status_code = s.status;
    span.start_ns = static_cast<std::uint64_t>(s.start_ns);
    span.end_ns = static_cast<std::uint64_t>(s.start_ns + s.duration_ns);
    if (s.profile_id != 0) {
      span.attributes = {static_cast<std::uint32_t>(batch.own_attributes.size()), 1};
      const auto text = batch.AddText(Hex(s.profile_id, 16));
      batch.own_attributes.push_back({profile_id, 0, {profile::Value::Kind::kString, text, 0}});
    }
    batch.spans.push_back(span);
  }
  EXPECT_TRUE(batch.Validate());
  profile::WriteRequest request;
  request.data = std::move(batch);
  request.identity = HashString("spans of " + service);
  return request;
}

class ReaderTest : public testing::Test {
 protected:
  void SetUp() override {
    WHEREFORE_SKIP_WITHOUT_ENGINE();
    auto opened = Store::Open({.directory = directory_ / "data"});
    ASSERT_TRUE(opened) << opened.error().message();
    store_ = std::move(*opened);
  }
  void Write(profile::WriteRequest request) {
    const auto answer = WriteNow(*store_, std::move(request));
    ASSERT_TRUE(answer) << answer.error().message();
    EXPECT_EQ(answer->rejected, 0U) << answer->message;
  }
  void Flush() {
    const auto flushed = store_->Flush();
    ASSERT_TRUE(flushed) << flushed.error().message();
  }
  Reader& reader() { return store_->reader(); }
  SampleQuery Of(const std::string& service, TimeRange range = {0, INT64_MAX}) {
    SampleQuery query{.tenant = 0, .range = range, .selections = {}};
    const auto services = reader().Services(0, {0, INT64_MAX}, {});
    EXPECT_TRUE(services);
    for (const ServiceRow& row : *services) {
      if (row.name == service) query.selections.push_back({row.dictionary, {}, {}});
    }
    return query;
  }

  TestDirectory directory_;
  std::unique_ptr<Store> store_;
  // The beginning of a second, so that offsets within it are known.
  const std::int64_t now_ = NowUnixNs() / kNsPerSecond * kNsPerSecond - 600 * kNsPerSecond;
};

TEST_F(ReaderTest, ATraceBeginsWithItsFirstSpanAndEndsWithItsLastInAnyService) {
  Write(SpansOf("web", {{.trace = '1', .span = '1', .start_ns = now_, .duration_ns = 10 * kMs},
                        {.trace = '2', .span = '2', .start_ns = now_ + 5, .duration_ns = 7}}));
  // Its clock is behind: the span that called it begins later.
  Write(SpansOf("db", {{.trace = '1',
                        .span = '3',
                        .parent = '1',
                        .start_ns = now_ - kMs,
                        .duration_ns = 20 * kMs,
                        .status = 2},
                       {.trace = '3', .span = '4', .parent = '9', .start_ns = now_}}));
  Flush();
  const auto traces = reader().Traces(0, {Trace('1'), Trace('2'), Trace('3'), Trace('9')}, {});
  ASSERT_TRUE(traces) << traces.error().message();
  std::map<profile::TraceId, TraceRow> by_trace;
  for (const TraceRow& t : *traces) by_trace[t.trace] = t;
  ASSERT_EQ(by_trace.size(), 3U);
  const auto times = [&](char trace) {
    const TraceRow& t = by_trace[Trace(trace)];
    return std::pair(t.start_ns - now_, t.end_ns - now_);
  };
  EXPECT_EQ(times('1'), std::pair(-kMs, 19 * kMs));
  EXPECT_EQ(times('2'), std::pair(std::int64_t{5}, std::int64_t{12}));
  const TraceRow& first = by_trace[Trace('1')];
  EXPECT_EQ(std::pair(first.spans, first.errors), std::pair(std::int64_t{2}, std::int64_t{1}));
  EXPECT_EQ(first.root_service, "web") << "the span nobody called, although it is not the first";
  EXPECT_EQ(first.root_name, "op");
  EXPECT_EQ(by_trace[Trace('3')].root_service, "db") << "its first span is not stored";
  EXPECT_TRUE(reader().Traces(1, {Trace('1')}, {})->empty()) << "another tenant's";
  EXPECT_TRUE(reader().Traces(0, {}, {})->empty());
}

TEST_F(ReaderTest, TracesAreFoundOnceByTheNewestSpanThatMatches) {
  Write(SpansOf("web", {{.trace = '1', .span = '1', .start_ns = now_},
                        {.trace = '1', .span = '2', .start_ns = now_ + 20, .status = 2},
                        {.trace = '2', .span = '3', .start_ns = now_ + 10},
                        {.trace = '3', .span = '4', .start_ns = now_ + 5, .status = 2}}));
  Flush();
  SpanSearch search{.range = {now_, now_ + 100}};
  const auto found = [&] {
    std::string out;
    const auto traces = reader().FindTraces(search, {});
    EXPECT_TRUE(traces) << traces.error().message();
    for (const profile::TraceId& trace : *traces) out += ToHex(trace)[0];
    return out;
  };
  const auto spans = [&] {
    std::string out;
    const auto rows = reader().SearchSpans(search, {});
    EXPECT_TRUE(rows) << rows.error().message();
    for (const SpanRow& row : *rows) out += ToHex(row.id)[0];
    return out;
  };
  EXPECT_EQ(found(), "123");
  EXPECT_EQ(spans(), "2341");
  search.most_per_trace = 1;
  EXPECT_EQ(spans(), "234");
  search.traces = {Trace('1'), Trace('3')};
  EXPECT_EQ(spans(), "24");
  EXPECT_EQ(found(), "13");
  search.traces.clear();
  search.status_code = 2;
  EXPECT_EQ(found(), "13");
  search.limit = 1;
  EXPECT_EQ(found(), "1");
}

TEST_F(ReaderTest, SamplesOfTracesAreCountedAlsoWhereAProfilerKnowsOnlySpans) {
  Write(SpansOf("web", {{.trace = '1', .span = '1', .start_ns = now_},
                        {.trace = '1', .span = '2', .parent = '1', .start_ns = now_ + 10},
                        {.trace = '2', .span = '3', .start_ns = now_, .profile_id = 'd'},
                        {.trace = '3', .span = '4', .start_ns = now_}}));
  const auto count = [&](const std::vector<profile::TraceId>& traces) {
    std::map<char, std::pair<std::int64_t, std::int64_t>> out;  // value, samples
    const auto rows = reader().SamplesOfTraces(0, traces, false, {});
    EXPECT_TRUE(rows) << rows.error().message();
    for (const TraceSamples& row : *rows) {
      auto& [value, samples] = out[ToHex(row.trace)[0]];
      value += row.value * row.samples;
      samples += row.samples;
    }
    return out;
  };
  using Counted = decltype(count({}));
  BatchBuilder batch;
  batch.Add({.time_ns = now_}, {{{"a"}, 5, Hex('1', 32), Hex('1', 16)},
                                {{"b"}, 5, Hex('1', 32), Hex('1', 16)},
                                {{"a"}, 7, Hex('1', 32), Hex('2', 16)},
                                {{"a"}, 9, Hex('3', 32), Hex('4', 16)}});
  Write(batch.Request("with traces"));
  Flush();
  EXPECT_EQ(count({Trace('1'), Trace('2')}), (Counted{{'1', {17, 3}}}));
  BatchBuilder only;
  only.Add({.time_ns = now_}, {{{"c"}, 100, Hex('0', 32), Hex('2', 16)},
                               {{"c"}, 200, Hex('0', 32), Hex('d', 16)},
                               {{"c"}, 400, Hex('0', 32), Hex('e', 16)}});
  Write(only.Request("with spans only"));
  Flush();
  EXPECT_EQ(count({Trace('1'), Trace('2'), Trace('3')}),
            (Counted{{'1', {117, 4}}, {'2', {200, 1}}, {'3', {9, 1}}}));
  EXPECT_TRUE(count({}).empty());
  EXPECT_TRUE(count({Trace('9')}).empty());
}

TEST_F(ReaderTest, MoreTracesThanFitAStatementAreAllSummedUp) {
  profile::SpanBatch batch;
  batch.own_attributes.push_back(
      {batch.AddText("service.name"), 0, {profile::Value::Kind::kString, batch.AddText("web"), 0}});
  batch.resources.push_back({{0, 1}, 0, 0, 0});
  std::vector<profile::TraceId> ids;
  for (int i = 0; i < 2500; ++i) {
    profile::Span span;
    span.resource = 1;
    span.trace = {1, static_cast<std::uint8_t>(i >> 8), static_cast<std::uint8_t>(i)};
    span.id = {1, static_cast<std::uint8_t>(i >> 8), static_cast<std::uint8_t>(i)};
    span.start_ns = static_cast<std::uint64_t>(now_);
    span.end_ns = span.start_ns + static_cast<std::uint64_t>(i);
    ids.push_back(span.trace);
    batch.spans.push_back(span);
  }
  profile::WriteRequest request;
  request.data = std::move(batch);
  request.identity = HashString("many");
  Write(std::move(request));
  Flush();
  const auto traces = reader().Traces(0, ids, {});
  ASSERT_TRUE(traces) << traces.error().message();
  EXPECT_EQ(traces->size(), ids.size());
  EXPECT_TRUE(reader().SamplesOfTraces(0, ids, false, {}));
}

TEST_F(ReaderTest, SpansAreFoundByTheirIdAloneWithinTheRange) {
  Write(SpansOf("web", {{.trace = '1', .span = '1', .start_ns = now_},
                        {.trace = '2', .span = '2', .start_ns = now_ + 10}}));
  Flush();
  const auto found = [&](TimeRange range) {
    std::string traces;
    const auto rows = reader().SpansById(0, range, {Span('1'), Span('2'), Span('3')}, {});
    EXPECT_TRUE(rows);
    for (const SpanRow& row : *rows) traces += ToHex(row.trace)[0];
    return traces;
  };
  EXPECT_EQ(found({now_, now_ + 11}), "12");
  EXPECT_EQ(found({now_ + 1, now_ + 11}), "2");
  EXPECT_EQ(found({now_, now_ + 10}), "1");
  EXPECT_TRUE(reader().SpansById(0, {now_, now_ + 11}, {}, {})->empty());
}

TEST_F(ReaderTest, LinksAreThoseOfTheSelectionInTheTimeOfTheirProfiles) {
  BatchBuilder batch;
  const auto linked = [](const char* leaf, char trace, char span) {
    return BatchBuilder::Sample{
        .stack = {leaf, "main"}, .value = 2, .trace = Hex(trace, 32), .span = Hex(span, 16)};
  };
  batch.Add({.time_ns = now_}, {linked("a", '1', '1'), {.stack = {"b", "main"}, .value = 5}});
  batch.Add({.time_ns = now_ + 60 * kNsPerSecond}, {linked("a", '2', '2')});
  batch.Add({.service = "other", .time_ns = now_}, {linked("a", '3', '3')});
  Write(batch.Request("a"));
  Flush();
  const auto traces = [&](TimeRange range) {
    std::string out;
    const auto links = reader().Links(Of("shop", range), {}, {});
    EXPECT_TRUE(links) << links.error().message();
    for (const LinkRow& link : *links) out += ToHex(link.trace)[0];
    std::ranges::sort(out);
    return out;
  };
  EXPECT_EQ(traces({0, INT64_MAX}), "12");
  EXPECT_EQ(traces({now_ + 1, INT64_MAX}), "2");
  EXPECT_EQ(traces({0, now_}), "");
  EXPECT_TRUE(reader().Links({.tenant = 0, .range = {0, INT64_MAX}}, {}, {})->empty());
}

TEST_F(ReaderTest, LinksWithoutATraceAreFoundByTheSpansOfOne) {
  Write(SpansOf("shop", {{.trace = '1', .span = '1', .start_ns = now_},
                         {.trace = '1', .span = '2', .parent = '1', .start_ns = now_ + 10},
                         {.trace = '2', .span = '3', .start_ns = now_}}));
  BatchBuilder batch;
  std::vector<BatchBuilder::Sample> samples;
  for (const char span : {'1', '2', '3'}) {
    samples.push_back({.stack = {"main"}, .trace = Hex('0', 32), .span = Hex(span, 16)});
  }
  samples.push_back({.stack = {"main"}, .trace = Hex('1', 32), .span = Hex('1', 16)});
  batch.Add({.time_ns = now_}, samples);
  Write(batch.Request("a"));
  Flush();
  const auto spans = [&](TimeRange range) {
    std::string out;
    const auto links = reader().SpanOnlyLinks(0, Trace('1'), range, {});
    EXPECT_TRUE(links) << links.error().message();
    for (const LinkRow& link : *links) {
      EXPECT_EQ(link.trace, profile::TraceId{});
      out += ToHex(link.span)[0];
    }
    std::ranges::sort(out);
    return out;
  };
  EXPECT_EQ(spans({now_, now_ + 11}), "12");
  EXPECT_EQ(spans({now_, now_ + 10}), "1");
}

TEST_F(ReaderTest, TimesOfASpansSamplesComeBack) {
  const auto at = [&](std::int64_t ns) { return static_cast<std::uint64_t>(now_ + ns); };
  BatchBuilder batch;
  batch.Add({.time_ns = now_},
            {{.stack = {"a"},
              .value = 2,
              .trace = Hex('1', 32),
              .span = Hex('1', 16),
              .times = {at(3), at(8)}},
             {.stack = {"b"}, .trace = Hex('1', 32), .span = Hex('1', 16)},  // without times
             {.stack = {"c"}, .trace = Hex('1', 32), .span = Hex('2', 16), .times = {at(4)}}});
  Write(batch.Request("a"));
  Flush();
  SpanRow span{.service = Hash64("shop"), .trace = Trace('1'), .id = Span('1')};
  span.start_ns = now_;
  span.duration_ns = 100;
  const auto rows = reader().TimedLinks(0, span, {});
  ASSERT_TRUE(rows) << rows.error().message();
  ASSERT_EQ(rows->size(), 1U);
  EXPECT_EQ((*rows)[0].value, 2);
  EXPECT_EQ((*rows)[0].times, (std::vector<std::uint64_t>{at(3), at(8)}));
}

TEST_F(ReaderTest, ObservationsAreCountedByStepAndOffsetInTheirSecond) {
  const auto at = [&](std::int64_t ms) { return static_cast<std::uint64_t>(now_ + ms * kMs); };
  BatchBuilder batch;
  batch.Add({.time_ns = now_}, {{.stack = {"a"}, .value = 3, .times = {at(0), at(19), at(20)}},
                                {.stack = {"b"}, .value = 2, .times = {at(5), at(1999)}},
                                {.stack = {"c"}, .value = 7}});
  Write(batch.Request("a"));
  Flush();
  const auto cells = [&](TimeRange range) {
    std::vector<std::tuple<std::int64_t, std::uint32_t, std::int64_t>> out;
    const auto rows = reader().Offsets(Of("shop", range), {kNsPerSecond, now_}, 20 * kMs, {});
    EXPECT_TRUE(rows) << rows.error().message();
    for (const OffsetCell& c : *rows) {
      out.emplace_back((c.step_start_ns - now_) / kNsPerSecond, c.offset, c.count);
    }
    return out;
  };
  using Cells = decltype(cells({}));
  EXPECT_EQ(cells({now_, now_ + 10 * kNsPerSecond}), (Cells{{0, 0, 3}, {0, 1, 1}, {1, 49, 1}}));
  EXPECT_EQ(cells({now_, now_ + kNsPerSecond}), (Cells{{0, 0, 3}, {0, 1, 1}}));
  EXPECT_TRUE(reader().Offsets({.tenant = 0, .range = {0, 1}}, {1, 0}, 1, {})->empty());
}

TEST_F(ReaderTest, AFileIsNamedByTheDictionariesAskedForOnly) {
  BatchBuilder batch;
  batch.Add({.time_ns = now_}, {{.stack = {"it's \\ odd"}}});
  batch.Add({.service = "other", .time_ns = now_}, {{.stack = {"work"}}});
  Write(batch.Request("a"));
  Flush();
  const auto names = [&](const std::string& service, const std::string& file) {
    std::vector<DictionaryKey> keys;
    for (const SeriesSelection& s : Of(service).selections) keys.push_back(s.dictionary);
    const auto named = reader().NamesFile(keys, file, {});
    EXPECT_TRUE(named) << named.error().message();
    return named && *named;
  };
  EXPECT_TRUE(names("shop", "it's \\ odd.cc"));
  EXPECT_TRUE(names("other", "work.cc"));
  EXPECT_FALSE(names("shop", "work.cc"));
  EXPECT_FALSE(names("nobody", "work.cc"));
}

TEST_F(ReaderTest, RequestsAreSpansThatAreServedOrBegunByNobody) {
  std::vector<TestSpan> spans;
  for (int i = 1; i <= 9; ++i) {  // served, 1 to 9 ms
    spans.push_back({.trace = '1',
                     .span = static_cast<char>('0' + i),
                     .parent = 'f',
                     .start_ns = now_,
                     .duration_ns = i * kMs,
                     .kind = 2,
                     .status = static_cast<std::uint8_t>(i == 3 ? 2 : 0)});
  }
  spans.push_back({.span = 'a', .parent = '1', .start_ns = now_, .duration_ns = 900 * kMs});
  spans.push_back({.span = 'b', .start_ns = now_ - 1, .duration_ns = 900 * kMs});  // too early
  Write(SpansOf("web", spans));
  Write(SpansOf("job", {{.span = 'c', .start_ns = now_, .duration_ns = 4 * kMs}}));
  Flush();
  const auto rows = reader().Latencies(0, {now_, now_ + 1}, {});
  ASSERT_TRUE(rows) << rows.error().message();
  std::map<std::string, LatencyRow> by_service;
  for (const LatencyRow& row : *rows) by_service[row.service_name] = row;
  ASSERT_EQ(by_service.size(), 2U);
  EXPECT_EQ(by_service["web"].requests, 9);
  EXPECT_EQ(by_service["web"].errors, 1);
  EXPECT_EQ(by_service["web"].median_ns, 5 * kMs);
  EXPECT_EQ(by_service["web"].p99_ns, 9 * kMs);
  EXPECT_EQ(by_service["job"].median_ns, 4 * kMs);
}

TEST_F(ReaderTest, SumsAreByTypeAndStackWithinTheRange) {
  BatchBuilder batch;
  batch.Add({.time_ns = now_}, {{.stack = {"a"}, .value = 3}, {.stack = {"b"}, .value = 4}});
  batch.Add({.time_ns = now_, .type = "other"}, {{.stack = {"a"}, .value = 50}});
  batch.Add({.time_ns = now_ + 10}, {{.stack = {"a"}, .value = 5}});
  Write(batch.Request("a"));
  Flush();
  SampleQuery query = Of("shop", {now_, now_ + 11});
  const auto types = reader().Types({query.selections.at(0).dictionary}, {});
  ASSERT_TRUE(types);
  ASSERT_EQ(types->size(), 2U);
  const auto values = [&] {
    std::vector<std::int64_t> out;
    const auto sums = reader().SumStacks(query, {});
    EXPECT_TRUE(sums) << sums.error().message();
    for (const StackSum& sum : *sums) out.push_back(sum.value);
    std::ranges::sort(out);
    return out;
  };
  using Values = std::vector<std::int64_t>;
  EXPECT_EQ(values(), (Values{4, 8, 50}));
  const bool first_is_other = (*types)[0].details.sample_type == "other";
  query.selections[0].types = {(*types)[first_is_other ? 1 : 0].type};
  EXPECT_EQ(values(), (Values{4, 8}));
  query.range.to_ns = now_ + 10;
  EXPECT_EQ(values(), (Values{3, 4}));
}

}  // namespace
}  // namespace wherefore::store
