// Every question of the Reader, asked of the real store and of the one in memory over the same
// generated data: the answers must be the same.
#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "store/memory/test_rows.h"
#include "store/test_generated.h"
#include "store/test_queries.h"

namespace wherefore::store {
namespace {

constexpr TimeRange kAllTime{0, INT64_MAX};

class SameAnswers : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!kEngineLoads) return;
    now_ns = NowUnixNs();
    both = new Both;
    for (TestData* data : {&both->engine, &both->memory}) {
      std::vector<std::string> answers;
      for (profile::WriteRequest& request : Generated(1, now_ns).Requests())
        answers.push_back(data->Write(std::move(request)).message);
      answers.push_back(data->Write(Generated(1, now_ns).Huge()).message);
      data->Flush();
      both->told.push_back(std::move(answers));
    }
  }
  static void TearDownTestSuite() {
    delete both;
    both = nullptr;
  }
  void SetUp() override { WHEREFORE_SKIP_WITHOUT_ENGINE(); }

  enum class Order { kPromised, kAny };
  // `ask` is called with either reader. Returns how many rows there are.
  template <typename Ask>
  std::size_t Same(const std::string& what, Order order, Ask&& ask) {
    const auto engine = ask(both->engine.reader());
    const auto memory = ask(both->memory.reader());
    EXPECT_TRUE(engine) << what << ": " << engine.error().message();
    EXPECT_TRUE(memory) << what << ": " << memory.error().message();
    if (!engine || !memory) return 0;
    auto want = Lines(*engine);
    auto got = Lines(*memory);
    if (order == Order::kAny) {
      std::ranges::sort(want);
      std::ranges::sort(got);
    }
    EXPECT_EQ(want.size(), got.size()) << what;
    const auto [a, b] = std::ranges::mismatch(want, got);
    EXPECT_TRUE(a == want.end() && b == got.end())
        << what << " differs, row " << a - want.begin()
        << "\nengine: " << (a == want.end() ? "none" : *a)
        << "\nmemory: " << (b == got.end() ? "none" : *b);
    return got.size();
  }

  // One row each, with what its resource says: numbers of resources may differ.
  static Result<std::vector<std::vector<std::string>>> WithResources(Result<ServiceSpans> spans) {
    if (!spans) return spans.error();
    std::vector<std::vector<std::string>> rows;
    for (const ServiceSpan& s : spans->spans) {
      rows.push_back({Show(s.service), Show(s.trace), Show(s.id), Show(s.parent), s.name,
                      Show(s.kind), Show(s.start_ns), Show(s.holder),
                      Show(spans->resources[s.resource])});
    }
    return rows;
  }
  static Reader& memory() { return both->memory.reader(); }
  static std::vector<DictionaryKey> Dictionaries() {
    std::vector<DictionaryKey> keys;
    const auto services = memory().ServicesOfAnySignal(0, kAllTime, {});
    for (const ServiceRow& row : *services) keys.push_back(row.dictionary);
    return keys;
  }
  static SampleQuery Everything(TimeRange range = kAllTime) {
    SampleQuery query{.tenant = 0, .range = range, .selections = {}};
    for (const DictionaryKey& key : Dictionaries()) query.selections.push_back({key, {}, {}});
    return query;
  }
  static std::vector<std::uint64_t> TypesOf(const DictionaryKey& key) {
    std::vector<std::uint64_t> types;
    const auto rows = memory().Types({key}, {});
    for (const TypeRow& row : *rows) types.push_back(row.type);
    return types;
  }
  struct Question {
    std::string name;
    SampleQuery query;
  };
  // About profiles and their samples.
  static std::vector<Question> Questions() {
    std::vector<Question> all;
    all.push_back({"nothing", SampleQuery{}});
    all.push_back({"everything", Everything()});
    all.push_back({"a quarter of an hour",
                   Everything({now_ns - 1200 * kNsPerSecond, now_ns - 300 * kNsPerSecond})});
    SampleQuery other = Everything();
    other.tenant = Generated::kOtherTenant;
    all.push_back({"the other tenant", other});
    SampleQuery types = Everything();  // each wants another
    for (std::size_t i = 0; i < types.selections.size(); ++i) {
      const auto known = TypesOf(types.selections[i].dictionary);
      if (!known.empty()) types.selections[i].types = {known[i % known.size()]};
    }
    all.push_back({"types", types});
    for (SeriesSelection& s : types.selections) s.types = TypesOf(types.selections[0].dictionary);
    types.selections.resize(1);
    types.selections[0].types.resize(1);
    all.push_back({"one type of one dictionary", types});
    SampleQuery series = Everything();
    for (std::size_t i = 0; i < series.selections.size(); i += 2)
      series.selections[i].series = {1, 3, static_cast<std::uint32_t>(5 + i)};
    all.push_back({"series", series});
    SampleQuery twice = Everything();
    twice.selections.resize(2);
    twice.selections.push_back(twice.selections[0]);
    twice.selections[0].series = {1};
    twice.selections[2].series = {2, 4};
    all.push_back({"a dictionary twice", twice});
    SampleQuery apart = Everything();  // services and days that are not asked for together
    std::erase_if(apart.selections, [](const SeriesSelection& s) {
      return (s.dictionary.bucket + s.dictionary.service) % 2 == 0;
    });
    all.push_back({"some dictionaries", apart});
    return all;
  }
  // The same, and those about stacks.
  static std::vector<Question> AboutSamples() {
    auto all = Questions();
    SampleQuery listed = Everything();
    listed.selections.resize(3);
    for (SeriesSelection& s : listed.selections) s.stacks = StackSet{{1, 4, 9}, std::nullopt};
    all.push_back({"listed stacks", listed});
    listed.selections[1].stacks = StackSet{{2, 3}, 12};
    listed.selections[2].stacks = StackSet{{}, std::nullopt};
    all.push_back({"all stacks but some", listed});
    listed.selections[0].series = {1, 2};
    listed.selections[2].stacks = std::nullopt;
    all.push_back({"stacks of series", listed});
    return all;
  }
  static std::vector<profile::TraceId> Traces() {
    std::vector<profile::TraceId> traces;
    for (std::size_t i = 0; i <= Generated::kTraces; ++i) traces.push_back(Generated::Trace(i));
    return traces;
  }

  struct Both {
    TestData engine{Kept::kInEngine, true};
    TestData memory{Kept::kInMemory, true};
    std::vector<std::vector<std::string>> told;
  };
  static inline Both* both = nullptr;
  static inline std::int64_t now_ns = 0;
};

TEST_F(SameAnswers, WhatSendersAreTold) {
  EXPECT_EQ(both->told[0], both->told[1]);
  for (TestData* data : {&both->engine, &both->memory}) {
    auto again = Generated(1, now_ns).Requests();
    EXPECT_TRUE(data->Write(std::move(again[0])).repeated);
  }
}

TEST_F(SameAnswers, Names) {
  for (const TimeRange range : {kAllTime, TimeRange{now_ns - kNsPerDay / 24, now_ns},
                                TimeRange{0, now_ns - 50 * kNsPerDay}}) {
    for (const std::uint32_t tenant : {0u, Generated::kOtherTenant, 9u}) {
      Same("services", Order::kPromised, [&](Reader& r) { return r.Services(tenant, range, {}); });
      Same("any signal", Order::kPromised,
           [&](Reader& r) { return r.ServicesOfAnySignal(tenant, range, {}); });
    }
  }
  const auto keys = Dictionaries();
  EXPECT_EQ(keys.size(), 9u + 1u + 2u) << "three days of shop, db and web; huge; only spans";
  EXPECT_GT(Same("types", Order::kPromised, [&](Reader& r) { return r.Types(keys, {}); }), 20u);
  for (const auto parts : {Reader::SeriesParts::kLabels, Reader::SeriesParts::kEncodedToo})
    Same("series of", Order::kPromised, [&](Reader& r) { return r.SeriesOf(keys, parts, {}); });
  Same("dictionaries", Order::kPromised, [&](Reader& r) { return r.Dictionaries(keys, {}); });
  Same("frames of", Order::kPromised, [&](Reader& r) { return r.FramesOf(keys, {}); });
  for (const DictionaryKey& key : keys) {
    for (const std::uint32_t from : {1u, 4u, 1000u}) {
      Same("series", Order::kPromised, [&](Reader& r) { return r.Series(key, from, {}); });
      Same("dictionary", Order::kPromised,
           [&](Reader& r) { return r.Dictionary(key, {from, from + 1, from, 1}, {}); });
    }
  }
  for (const char* file : {"parse.cc", "nowhere.cc"})
    Same("file", Order::kPromised, [&](Reader& r) { return r.NamesFile(keys, file, {}); });
}

TEST_F(SameAnswers, SumsOverStacks) {
  std::size_t rows = 0;
  for (const Question& q : AboutSamples()) {
    rows +=
        Same(q.name + ": stacks", Order::kAny, [&](Reader& r) { return r.SumStacks(q.query, {}); });
    Same(q.name + ": by series", Order::kAny,
         [&](Reader& r) { return r.SumStacksBySeries(q.query, {}); });
    Same(q.name + ": profiles by series", Order::kAny,
         [&](Reader& r) { return r.SumProfiles(q.query, true, {}); });
    Same(q.name + ": profiles", Order::kAny, [&](Reader& r) {
      auto sums = r.SumProfiles(q.query, false, {});
      if (sums) {  // one of those its samples have, whichever
        for (ProfileSum& sum : *sums) sum.series = 0;
      }
      return sums;
    });
  }
  EXPECT_GT(rows, 1000u);
}

TEST_F(SameAnswers, SumsThatDoNotFitStayAtTheirEnd) {
  SampleQuery huge = Everything();
  std::erase_if(huge.selections,
                [](const SeriesSelection& s) { return s.dictionary.service != Hash64("huge"); });
  ASSERT_EQ(huge.selections.size(), 1u);
  EXPECT_EQ(Same("huge", Order::kAny, [&](Reader& r) { return r.SumStacks(huge, {}); }), 3u);
  std::multiset<std::int64_t> values;
  const auto sums = memory().SumStacks(huge, {});
  for (const StackSum& sum : *sums) values.insert(sum.value);
  EXPECT_EQ(values, (std::multiset<std::int64_t>{INT64_MIN, 6, INT64_MAX}));
}

// Both keep data of their own here: what is rolled is never taken back.
TEST(SameHours, BeforeAndAfterLateData) {
  WHEREFORE_SKIP_WITHOUT_ENGINE();
  TestData engine{Kept::kInEngine};
  TestData memory{Kept::kInMemory};
  const std::int64_t now_ns = NowUnixNs();
  const auto write = [&](std::uint32_t seed) {
    for (TestData* data : {&engine, &memory}) {
      int number = 0;
      for (profile::WriteRequest& request : Generated(seed, now_ns).Requests()) {
        request.identity = HashString(fmt::format("{} {}", seed, number++));
        data->Write(std::move(request));
      }
      data->Flush();
    }
  };
  const auto lines = [](auto rows) {
    EXPECT_TRUE(rows) << rows.error().message();
    auto text = Lines(*rows);
    std::ranges::sort(text);
    return text;
  };
  const auto same = [&](bool rolled) {
    SampleQuery query{.tenant = 0, .range = kAllTime, .selections = {}};
    const auto services = memory.reader().Services(0, kAllTime, {});
    for (const ServiceRow& row : *services) query.selections.push_back({row.dictionary, {}, {}});
    EXPECT_EQ(lines(engine.reader().CountSamples(query, {})),
              lines(memory.reader().CountSamples(query, {})));
    const auto hours = lines(engine.reader().Hours(query, {}));
    EXPECT_EQ(hours, lines(memory.reader().Hours(query, {})));
    EXPECT_GT(hours.size(), 5u);
    HourSumQuery sums{.query = query, .parts = {}};
    const auto there = memory.reader().Hours(query, {});
    for (const HourRow& hour : *there) {
      if (hour.revision != 0) sums.parts.push_back({hour.dictionary, hour.hour, hour.revision});
    }
    const auto by_stack = lines(engine.reader().SumHours(sums, {}));
    EXPECT_EQ(by_stack, lines(memory.reader().SumHours(sums, {})));
    EXPECT_EQ(!by_stack.empty(), rolled);
    sums.versions = {"v1", ""};
    EXPECT_EQ(lines(engine.reader().SumHours(sums, {})), lines(memory.reader().SumHours(sums, {})));
    for (SeriesSelection& s : sums.query.selections) {
      const auto types = memory.reader().Types({s.dictionary}, {});
      if (!types->empty()) s.types = {types->at(0).type};
    }
    EXPECT_EQ(lines(engine.reader().SumHours(sums, {})), lines(memory.reader().SumHours(sums, {})));
  };
  write(1);
  same(false);
  for (TestData* data : {&engine, &memory}) data->RollHours();
  same(true);
  write(2);
  same(true);
  for (TestData* data : {&engine, &memory}) data->RollHours();
  same(true);
}

TEST_F(SameAnswers, SumsWithWeights) {
  std::size_t rows = 0;
  for (const Question& q : AboutSamples()) {
    std::vector<ProfileWeight> weights;
    SampleQuery profiles = q.query;
    for (SeriesSelection& s : profiles.selections) s.stacks.reset();
    const auto totals = memory().ProfileTotals(profiles, {});
    for (const ProfileSum& p : *totals) {
      if (p.number % 3 != 0)
        weights.push_back({p.dictionary, p.number, p.time_ns, 1 + p.number % 5});
    }
    rows +=
        Same(q.name, Order::kAny, [&](Reader& r) { return r.WeighStacks(q.query, weights, {}); });
  }
  EXPECT_GT(rows, 500u);
}

TEST_F(SameAnswers, SumsOverTime) {
  for (const Question& q : AboutSamples()) {
    for (const bool spread : {false, true}) {
      const Steps steps{.width_ns = 60 * kNsPerSecond, .phase_ns = 7, .spread = spread};
      Same(q.name + ": from samples", Order::kAny,
           [&](Reader& r) { return r.Timeline(q.query, steps, true, {}); });
    }
    Same(q.name + ": offsets", Order::kPromised, [&](Reader& r) {
      return r.Offsets(q.query, {.width_ns = 60 * kNsPerSecond}, 20'000'000, {});
    });
  }
  for (const Question& q : Questions()) {
    for (const bool spread : {false, true}) {
      const Steps steps{.width_ns = 30 * kNsPerSecond, .phase_ns = 3, .spread = spread};
      Same(q.name + ": from profiles", Order::kAny,
           [&](Reader& r) { return r.Timeline(q.query, steps, false, {}); });
    }
    const Steps steps{.width_ns = 30 * kNsPerSecond, .spread = true};
    Same(q.name + ": shared out", Order::kAny, [&](Reader& r) -> Result<std::vector<SeriesPoint>> {
      WHEREFORE_ASSIGN_OR_RETURN(auto shared, r.ShareOut(q.query, steps, {}));
      return shared.points;
    });
    Same(q.name + ": seen meanwhile", Order::kAny, [&](Reader& r) -> Result<std::vector<SeenRow>> {
      WHEREFORE_ASSIGN_OR_RETURN(auto shared, r.ShareOut(q.query, steps, {}));
      return shared.seen;
    });
  }
  const SampleQuery all = Everything();
  for (Reader* r : {&both->engine.reader(), &both->memory.reader()})
    EXPECT_EQ(r->Timeline(all, {.width_ns = 0}, true, {}).error().code(), Code::kInvalid);
}

TEST_F(SameAnswers, WhenProfilesWereTaken) {
  for (const Question& q : Questions()) {
    for (const auto as : {Reader::SeenAs::kOfEach, Reader::SeenAs::kTogether})
      Same(q.name + ": seen", Order::kAny, [&](Reader& r) { return r.Seen(q.query, as, {}); });
    Same(q.name + ": totals", Order::kAny, [&](Reader& r) { return r.ProfileTotals(q.query, {}); });
    Same(q.name + ": newest", Order::kAny, [&](Reader& r) { return r.Newest(q.query, {}); });
    for (const auto by : {Reader::CoverBy::kType, Reader::CoverBy::kSeries}) {
      Same(q.name + ": coverage", Order::kAny,
           [&](Reader& r) { return r.Coverage(q.query, by, {}); });
    }
  }
}

TEST_F(SameAnswers, SingleProfiles) {
  for (const Question& q : Questions()) {
    for (const std::size_t limit : {0u, 7u})
      Same(q.name, Order::kPromised, [&](Reader& r) { return r.Profiles(q.query, limit, {}); });
  }
  const auto profiles = memory().Profiles(Everything(), 0, {});
  ASSERT_GT(profiles->size(), 300u);
  std::size_t payloads = 0;
  std::size_t with_id = 0;
  for (std::size_t i = 0; i < profiles->size(); i += 3) {
    const ProfileRow& row = (*profiles)[i];
    Same("samples", Order::kAny, [&](Reader& r) { return r.ProfileSamples(row, {}); });
    payloads +=
        Same("payload", Order::kPromised, [&](Reader& r) { return r.OriginalPayload(row, {}); });
    if (row.id == profile::ProfileId{}) continue;
    with_id +=
        Same("by id", Order::kPromised, [&](Reader& r) { return r.ProfileById(0, row.id, {}); });
  }
  EXPECT_GT(payloads, 5u);
  EXPECT_GT(with_id, 30u);
}

TEST_F(SameAnswers, LinkedSamples) {
  std::size_t of_trace = 0;
  std::size_t of_spans = 0;
  for (const profile::TraceId& trace : Traces()) {
    of_trace += Same("of a trace", Order::kAny,
                     [&](Reader& r) { return r.LinkedSamples(0, trace, {}, {}); });
    Same("span only", Order::kAny,
         [&](Reader& r) { return r.SpanOnlyLinks(0, trace, kAllTime, {}); });
    Same("span only, began then", Order::kAny, [&](Reader& r) {
      return r.SpanOnlyLinks(0, trace, {now_ns - 999 * kNsPerSecond, now_ns}, {});
    });
  }
  std::vector<profile::SpanId> spans;
  for (std::uint64_t i = 0; i < 30; i += 2) spans.push_back(Generated::Span(i));
  for (const profile::TraceId& trace : {profile::TraceId{}, Generated::Trace(1)})
    of_spans += Same("of spans", Order::kAny,
                     [&](Reader& r) { return r.LinkedSamples(0, trace, spans, {}); });
  Same("of nothing", Order::kAny, [&](Reader& r) { return r.LinkedSamples(0, {}, {}, {}); });
  for (const Question& q : AboutSamples()) {
    for (const std::uint64_t one_in : {1u, 2u, 3u}) {
      Same(q.name + ": links", Order::kAny,
           [&](Reader& r) { return r.Links(q.query, {one_in}, {}); });
    }
  }
  for (const bool by_span : {false, true}) {
    Same("counted", Order::kAny,
         [&](Reader& r) { return r.SamplesOfTraces(0, Traces(), by_span, {}); });
    Same("counted, none", Order::kAny,
         [&](Reader& r) { return r.SamplesOfTraces(0, {}, by_span, {}); });
  }
  std::size_t timed = 0;
  for (const profile::TraceId& trace : Traces()) {
    const auto rows = memory().Trace(0, trace, {});
    for (const SpanRow& span : *rows) {
      SpanRow wide = span;  // profiles begin before their spans, or a while after
      wide.duration_ns = 3600 * kNsPerSecond;
      timed += Same("timed", Order::kAny, [&](Reader& r) { return r.TimedLinks(0, wide, {}); });
    }
  }
  EXPECT_GT(of_trace, 50u);
  EXPECT_GT(of_spans, 20u);
  EXPECT_GT(timed, 5u);
}

TEST_F(SameAnswers, Spans) {
  std::size_t spans = 0;
  for (const profile::TraceId& trace : Traces()) {
    for (const std::uint32_t tenant : {0u, Generated::kOtherTenant}) {
      spans +=
          Same("trace", Order::kPromised, [&](Reader& r) { return r.Trace(tenant, trace, {}); });
      Same("shape", Order::kPromised, [&](Reader& r) { return r.TraceShape(tenant, trace, {}); });
    }
  }
  EXPECT_GT(spans, 80u);
  std::vector<profile::SpanId> ids;
  for (std::uint64_t i = 0; i < 40; i += 3) ids.push_back(Generated::Span(i));
  for (const TimeRange range : {kAllTime, TimeRange{now_ns - 3600 * kNsPerSecond, now_ns}}) {
    Same("by id", Order::kPromised, [&](Reader& r) { return r.SpansById(0, range, ids, {}); });
    Same("names", Order::kPromised, [&](Reader& r) { return r.SpanNames(0, range, {}); });
    Same("latencies", Order::kAny, [&](Reader& r) { return r.Latencies(0, range, {}); });
    std::set<std::uint64_t> services;
    for (const DictionaryKey& key : Dictionaries()) services.insert(key.service);
    for (const std::uint64_t one_in : {1u, 3u}) {
      const ServiceSpansQuery some{
          .range = range, .services = {services.begin(), services.end()}, .share = {one_in}};
      EXPECT_GT(Same("of services", Order::kAny,
                     [&](Reader& r) { return WithResources(r.SpansOfServices(some, {})); }),
                5u);
      EXPECT_EQ(*both->engine.reader().CountRequests(some, {}),
                *both->memory.reader().CountRequests(some, {}));
    }
  }
  Same("times", Order::kAny, [&](Reader& r) { return r.SpanTimes(0, Traces(), ids, {}); });
  Same("list", Order::kAny, [&](Reader& r) { return r.Traces(0, Traces(), {}); });
  EXPECT_GT(Same("shapes", Order::kPromised,
                 [&](Reader& r) { return r.ShapesOfTraces(0, Traces(), {}); }),
            80u);
  EXPECT_GT(Same("links", Order::kAny, [&](Reader& r) { return r.LinksOfTraces(0, Traces(), {}); }),
            50u);
  Same("links, none", Order::kAny, [&](Reader& r) { return r.LinksOfTraces(0, {}, {}); });
}

TEST_F(SameAnswers, Searches) {
  constexpr std::int64_t kPhase = 7 * kNsPerSecond;
  const SpanSearch all{.range = kAllTime};
  struct Search {
    std::string name;
    SpanSearch search;
  };
  std::vector<Search> searches;
  const auto add = [&](const std::string& name, auto&& change) {
    SpanSearch search = all;
    change(search);
    searches.push_back({name, search});
    search.slowest = true;
    search.most_per_trace = 1;
    search.limit = 5;
    searches.push_back({name + ", one of each", search});
  };
  add("all", [](SpanSearch&) {});
  add("tenant", [](SpanSearch& s) { s.tenant = Generated::kOtherTenant; });
  add("range", [](SpanSearch& s) { s.range = {now_ns - 3600 * kNsPerSecond, now_ns}; });
  add("service", [](SpanSearch& s) { s.service = "db"; });
  add("name", [](SpanSearch& s) { s.name = "GET /"; });
  add("long", [](SpanSearch& s) { s.min_duration_ns = 2 * kNsPerSecond; });
  add("short", [](SpanSearch& s) { s.max_duration_ns = kNsPerSecond; });
  add("failed", [](SpanSearch& s) { s.status_code = 2; });
  add("kind", [](SpanSearch& s) { s.kind = 2; });
  add("roots", [](SpanSearch& s) { s.roots_only = true; });
  add("requests", [](SpanSearch& s) { s.requests_only = true; });
  add("attribute", [](SpanSearch& s) { s.attributes = {{"route", "/pay"}}; });
  add("resource", [](SpanSearch& s) { s.attributes = {{"host", "h1"}, {"route", "/list"}}; });
  add("traces", [](SpanSearch& s) { s.traces = {Generated::Trace(1), Generated::Trace(8)}; });
  std::size_t spans = 0;
  for (const Search& s : searches) {
    spans += Same(s.name + ": spans", Order::kPromised,
                  [&](Reader& r) { return r.SearchSpans(s.search, {}); });
    Same(s.name + ": times", Order::kPromised,
         [&](Reader& r) { return r.FindSpans(s.search, {}); });
    Same(s.name + ": durations", Order::kPromised, [&](Reader& r) {
      return r.Durations(s.search, {.width_ns = 60 * kNsPerSecond, .phase_ns = kPhase}, {});
    });
    Same(s.name + ": traces", Order::kPromised, [&](Reader& r) -> Result<std::vector<std::string>> {
      WHEREFORE_ASSIGN_OR_RETURN(const auto traces, r.FindTraces(s.search, {}));
      return Lines(traces);
    });
  }
  EXPECT_GT(spans, 200u);
}

TEST_F(SameAnswers, WhatThereIs) {
  Same("rows", Order::kPromised, [](Reader& r) -> Result<std::vector<std::string>> {
    WHEREFORE_ASSIGN_OR_RETURN(const auto statistics, r.Statistics({}));
    std::vector<std::string> lines;
    lines.reserve(statistics.rows.size());
    for (const auto& [table, rows] : statistics.rows) lines.push_back(Line(table, rows));
    return lines;
  });
}

TEST_F(SameAnswers, EventsOfAlerts) {
  std::vector<AlertEvent> events;
  for (std::uint64_t i = 0; i < 200; ++i) {
    AlertEvent& event = events.emplace_back();
    event.tenant = i % 5 == 0 ? 3 : 0;
    // Some of the last month, some of the last year, several of one time.
    event.time_ns =
        now_ns - static_cast<std::int64_t>(i / 3) * (i % 2 == 0 ? 1 : 7) * kNsPerDay / 9;
    event.number = i;
    event.kind = i % 4 == 0 ? "silence" : "state";
    event.state = i % 3 == 0 ? "firing" : "it's \\ resolved\n";
    event.fingerprint = i % 7 == 0 ? UINT64_MAX - i % 14 : i % 11;
    event.starts_ns = event.time_ns - 1;
    event.ends_ns = i % 2 == 0 ? 0 : INT64_MAX;
    event.id = i % 4 == 0 ? "a'b" : "";
    event.alert = "Hot";
    event.value = 0.1 * static_cast<double>(i);
    event.low = -1e300;
    event.high = 1e-300;
    event.labels = {{"alertname", "Hot"}, {"team", std::string(i % 3, '\'')}};
    event.detail = "{}";
  }
  for (TestData* data : {&both->engine, &both->memory}) {
    ASSERT_TRUE(data->WriteAlertEvents(events));
    data->Flush();
  }
  const auto same = [&](const std::string& what, const AlertEventQuery& query) {
    return Same(what, Order::kPromised, [&](Reader& r) { return r.AlertEvents(query, {}); });
  };
  EXPECT_EQ(same("all", {}), 200u);
  EXPECT_EQ(same("of a tenant", {.tenant = 3}), 40u);
  EXPECT_EQ(same("of a kind", {.kinds = {"silence"}}), 50u);
  EXPECT_EQ(same("of a kind that needs quotes", {.kinds = {"it's"}}), 0u);
  EXPECT_EQ(same("some", {.limit = 7}), 7u);
  EXPECT_GT(same("the newest of each", {.latest = true}), 10u);
  EXPECT_LT(
      same("the newest states of a tenant", {.tenant = 0, .kinds = {"state"}, .latest = true}),
      20u);
  EXPECT_GT(same("of a time", {.from_ns = now_ns - 2 * kNsPerDay, .to_ns = now_ns}), 5u);
  const auto newest = both->engine.reader().AlertEvents({.limit = 1}, {});
  ASSERT_TRUE(newest);
  EXPECT_EQ(newest->front(), events[2]);
}

TEST_F(SameAnswers, EventsOfRegressions) {
  std::vector<RegressionEvent> events;
  for (std::uint64_t i = 0; i < 100; ++i) {
    RegressionEvent& event = events.emplace_back();
    event.tenant = i % 5 == 0 ? 3 : 0;
    event.time_ns = now_ns - static_cast<std::int64_t>(i / 3) * kNsPerDay / 2;
    event.number = i;
    event.kind = i % 4 == 0 ? "look" : "record";
    event.event = i % 3 == 0 ? "opened" : "it's \\ sharper\n";
    event.state = "open";
    event.id = i % 7 == 0 ? UINT64_MAX - i % 14 : i % 11;
    event.service = "shop";
    event.type = "cpu";
    event.function = "parse";
    event.label = "service.version";
    event.version_before = "v1";
    event.version = "v2";
    event.since_ns = event.time_ns - 1;
    event.until_ns = i % 2 == 0 ? 0 : INT64_MAX;
    event.value = 0.1 * static_cast<double>(i);
    event.low = -1e300;
    event.high = 1e-300;
    event.why = std::string(i % 3, '\'');
    event.facts = {{"callers.0", "main"}, {"note", std::string(i % 3, '"')}};
  }
  for (TestData* data : {&both->engine, &both->memory}) {
    ASSERT_TRUE(data->WriteRegressionEvents(events));
    data->Flush();
  }
  const auto same = [&](const std::string& what, const RegressionEventQuery& query) {
    return Same(what, Order::kPromised, [&](Reader& r) { return r.RegressionEvents(query, {}); });
  };
  EXPECT_EQ(same("all", {}), 100u);
  EXPECT_EQ(same("of a tenant", {.tenant = 3}), 20u);
  EXPECT_LT(same("the newest of each", {.latest = true}), 60u);
  const auto read = both->engine.reader().RegressionEvents({}, {});
  ASSERT_TRUE(read);
  EXPECT_EQ(read->front(), events[2]);
}

TEST_F(SameAnswers, WhoSentSomething) {
  EXPECT_GE(Same("tenants", Order::kPromised, [](Reader& r) { return r.Tenants({}); }), 1u);
}

TEST_F(SameAnswers, NobodyAsksAnyMore) {
  const CancelToken gone;
  gone.Cancel();
  const SampleQuery all = Everything();
  for (Reader* r : {&both->engine.reader(), &both->memory.reader()}) {
    EXPECT_EQ(r->SumStacks(all, gone).error().code(), Code::kCancelled);
    EXPECT_EQ(r->Profiles(all, 0, gone).error().code(), Code::kCancelled);
    EXPECT_EQ(r->Trace(0, Generated::Trace(1), gone).error().code(), Code::kCancelled);
    EXPECT_EQ(r->Dictionary(all.selections[0].dictionary, {}, gone).error().code(),
              Code::kCancelled);
  }
}

TEST_F(SameAnswers, AnAnswerIsMemoryOfItsQuestion) {
  const SampleQuery all = Everything();
  for (Reader* r : {&both->engine.reader(), &both->memory.reader()}) {
    const CancelToken little;
    little.SetMemoryLimit(100);
    EXPECT_EQ(r->SumStacks(all, little).error().code(), Code::kLimit);
    const CancelToken enough;
    enough.SetMemoryLimit(10 << 20);
    EXPECT_TRUE(r->SumStacks(all, enough));
    EXPECT_GT(enough.memory_used(), 1000);
  }
}

}  // namespace
}  // namespace wherefore::store
