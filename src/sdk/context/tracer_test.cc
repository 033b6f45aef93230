#include "wherefore/tracer.h"

#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/text.h"
#include "formats/formats.h"
#include "formats/wire/gzip.h"
#include "sdk/context/tracer.h"
#include "sdk/net/test_server.h"
#include "sdk/platform/log.h"

namespace wherefore::sdk {
namespace {

constexpr RuntimeStatistics kStatistics = {.heap = {{.bytes = 1000, .objects = 20}}, .threads = 3};
RuntimeStatistics g_statistics = kStatistics;

std::int64_t ThreadCpuTime() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return used.tv_sec * kNsPerSecond + used.tv_nsec;
}

// A tracer that sends to a real server on loopback.
class TracerTest : public testing::Test {
 protected:
  void SetUp() override { options_.traces_url = server_.url() + "/v1/traces"; }
  void TearDown() override {
    Stop();
    g_statistics = kStatistics;
  }

  void Start() {
    exporter_ = std::make_unique<Exporter>(options_);
    ASSERT_TRUE(exporter_->Start());
    Tracer::Global().SetResource({{"service.name", "svc"}});
    Tracer::Global().Start(options_, *exporter_, [] { return g_statistics; });
  }
  void Stop() {
    Tracer::Global().Stop();
    if (exporter_ != nullptr) exporter_->Stop(MonotonicNs() + 10 * kNsPerSecond);
  }
  // Everything that arrived, decoded by the server's own decoder.
  std::vector<profile::SpanBatch> Arrived() {
    Stop();
    std::vector<profile::SpanBatch> out;
    for (const TestServer::Request& request : server_.requests()) {
      auto decoded = formats::DecodeOtlpTraces(
          std::make_shared<const std::string>(formats::Gunzip(request.body, 1 << 24).value()));
      EXPECT_TRUE(decoded);
      EXPECT_EQ(decoded->rejected, 0U) << decoded->message;
      out.push_back(std::move(decoded->data));
    }
    return out;
  }
  profile::SpanBatch OnlyBatch() {
    auto all = Arrived();
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? profile::SpanBatch() : std::move(all[0]);
  }
  // Those that the program set.
  static std::string Attributes(const profile::SpanBatch& batch, profile::Range range) {
    std::string out;
    for (const profile::Attribute& a : batch.OwnAttributes(range)) {
      if (batch.Text(a.key) == kThreadIdKey || batch.Text(a.key) == kSpanCpuKey) continue;
      out += fmt::format(
          "{}={}{} ", batch.Text(a.key), batch.Text(a.value.text),
          a.value.kind == profile::Value::Kind::kString ? "" : fmt::format("{}", a.value.number));
    }
    return out;
  }

  static std::optional<std::int64_t> Number(const profile::SpanBatch& batch,
                                            const profile::Span& span, std::string_view key) {
    for (const profile::Attribute& a : batch.OwnAttributes(span.attributes)) {
      if (batch.Text(a.key) == key) return a.value.number;
    }
    return std::nullopt;
  }

  TestServer server_;
  Options options_;
  std::unique_ptr<Exporter> exporter_;
};

TEST_F(TracerTest, SpansArriveWithEverythingTheyCarry) {
  Start();
  const std::int64_t before = NowUnixNs();
  {
    Span request("handle-request", SpanKind::kServer,
                 Extract("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"));
    request.Set("http.route", "/items").Set("items", 12).Set("share", 0.5).Set("ok", true);
    request.Set("items", 13);
    Span child("process-data");
    child.AddEvent("cache miss", "key", "k1").SetStatus(SpanStatus::kError, "broken");
    EXPECT_EQ(CurrentSpan().span_id[0], child.context().span_id[0]);
    EXPECT_EQ(Inject(child.context()).substr(0, 36), "00-0af7651916cd43dd8448eb211c80319c-");
  }
  EXPECT_FALSE(IsValid(CurrentSpan()));
  const profile::SpanBatch batch = OnlyBatch();
  ASSERT_EQ(batch.spans.size(), 2U);
  const profile::Span& child = batch.spans[0];
  const profile::Span& request = batch.spans[1];
  EXPECT_EQ(batch.Text(request.name), "handle-request");
  EXPECT_EQ(request.kind, 2);
  EXPECT_EQ(ToHex(request.trace), "0af7651916cd43dd8448eb211c80319c");
  EXPECT_EQ(ToHex(request.parent), "b7ad6b7169203331");
  EXPECT_EQ(Attributes(batch, request.attributes),
            "http.route=/items items=13 share=4602678819172646912 ok=1 ");
  EXPECT_EQ(child.parent, request.id);
  EXPECT_EQ(child.status_code, 2);
  EXPECT_EQ(batch.Text(child.status_message), "broken");
  ASSERT_EQ(child.events.count, 1U);
  EXPECT_EQ(Attributes(batch, batch.events[child.events.begin].attributes), "key=k1 ");
  EXPECT_GE(request.start_ns, static_cast<std::uint64_t>(before));
  EXPECT_GE(request.end_ns, child.end_ns);
  EXPECT_EQ(Attributes(batch, batch.resources[request.resource].attributes), "service.name=svc ");
}

TEST_F(TracerTest, TextsThatAreNotUtf8AreMadeSo) {
  Start();
  Span("sp\xff")
      .Set("k\xff", 1)
      .Set("text", "v\xfe")
      .AddEvent("e\xff", "key\xff", "\xff")
      .SetStatus(SpanStatus::kError, "m\xff");
  const profile::SpanBatch batch = OnlyBatch();  // one that is not UTF-8 is rejected
  ASSERT_EQ(batch.spans.size(), 1U);
  const profile::Span& span = batch.spans[0];
  EXPECT_EQ(batch.Text(span.name), "sp\uFFFD");
  EXPECT_EQ(batch.Text(span.status_message), "m\uFFFD");
  EXPECT_EQ(Attributes(batch, span.attributes), "k\uFFFD=1 text=v\uFFFD ");
  ASSERT_EQ(span.events.count, 1U);
  EXPECT_EQ(batch.Text(batch.events[span.events.begin].name), "e\uFFFD");
  EXPECT_EQ(Attributes(batch, batch.events[span.events.begin].attributes), "key\uFFFD=\uFFFD ");
}

TEST_F(TracerTest, WithoutATracerTheCallersTraceIsPassedOn) {
  const SpanContext parent = Extract("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  Span span("x", SpanKind::kServer, parent);
  EXPECT_EQ(Inject(span.context()), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  Span inner("y");
  inner.Set("ignored", 1).AddEvent("e").SetStatus(SpanStatus::kOk);
  EXPECT_EQ(Inject(inner.context()), Inject(parent));
}

TEST_F(TracerTest, UnsampledTracesHaveIdsButAreNotSent) {
  options_.trace_ratio = 0;
  Start();
  {
    Span root("root");
    EXPECT_TRUE(IsValid(root.context()));
    EXPECT_EQ(root.context().flags, 0);
    EXPECT_TRUE(IsValid(CurrentSpan()));
    Span child("child");
    EXPECT_EQ(child.context().flags, 0);
    // The caller decides over the ratio.
    Span called("called", SpanKind::kServer,
                Extract("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"));
    EXPECT_EQ(called.context().flags, 1);
  }
  const profile::SpanBatch batch = OnlyBatch();
  ASSERT_EQ(batch.spans.size(), 1U);
  EXPECT_EQ(batch.Text(batch.spans[0].name), "called");
}

TEST_F(TracerTest, TheRatioHolds) {
  options_.trace_ratio = 0.25;
  Start();
  int sampled = 0;
  for (int i = 0; i < 4000; ++i) {
    const Span root("root");
    sampled += root.context().flags & 1;
  }
  EXPECT_NEAR(sampled, 1000, 150);  // 5 sigma
}

TEST_F(TracerTest, LimitsAreCountedInTheSpan) {
  Start();
  {
    Span span("limits");
    for (int i = 0; i < 200; ++i) span.Set(fmt::format("k{}", i).c_str(), i).AddEvent("e");
    span.Set("long", std::string(10'000, 'x'));
  }
  const profile::SpanBatch batch = OnlyBatch();
  ASSERT_EQ(batch.spans.size(), 1U);
  EXPECT_EQ(batch.spans[0].attributes.count, 128U);
  EXPECT_EQ(batch.spans[0].dropped_attributes, 73U);
  EXPECT_EQ(batch.spans[0].dropped_events, 72U);
}

TEST_F(TracerTest, RuntimeStatisticsOnEverySpanOrWhenAsked) {
  options_.runtime_stats = true;
  Start();
  {
    const Span span("x");
  }
  const profile::SpanBatch batch = OnlyBatch();
  ASSERT_EQ(batch.spans.size(), 1U);
  EXPECT_EQ(Attributes(batch, batch.spans[0].attributes),
            "runtime.heap_alloc=1000 runtime.heap_objects=20 runtime.threads=3 ");
}

TEST_F(TracerTest, RuntimeStatisticsThatAreNotKnownAreNotThere) {
  g_statistics = {.heap = std::nullopt, .threads = 3};
  Start();
  {
    Span span("heap is off");
    span.AddRuntimeStatistics();
  }
  const profile::SpanBatch batch = OnlyBatch();
  ASSERT_EQ(batch.spans.size(), 1U);
  EXPECT_EQ(Attributes(batch, batch.spans[0].attributes), "runtime.threads=3 ");
}

TEST_F(TracerTest, ABatchGoesOutWithinAboutASecond) {
  Start();
  {
    const Span span("x");
  }
  EXPECT_TRUE(server_.WaitFor(1));
}

TEST_F(TracerTest, TooManySpansAtOnceAreDroppedAndCounted) {
  Start();
  const std::uint64_t before = Tracer::Global().dropped();
  std::size_t ended = 0;
  while (Tracer::Global().dropped() == before && ended < 2'000'000) {
    const Span span("x");
    ++ended;
  }
  std::size_t arrived = 0;
  for (const profile::SpanBatch& batch : Arrived()) arrived += batch.spans.size();
  EXPECT_EQ(arrived + (Tracer::Global().dropped() - before), ended);
}

TEST_F(TracerTest, ASpanOfOneThreadSaysItsCpuTimeAndThread) {
  Start();
  std::int64_t used = 0;
  int tid = 0;
  wherefore_span* moved = nullptr;
  // A thread of its own has made no readings yet.
  std::thread([&] {
    tid = gettid();
    const std::int64_t before = ThreadCpuTime();
    {
      const Span span("burn");
      while (ThreadCpuTime() - before < 20'000'000) continue;
      usleep(20'000);
    }
    used = ThreadCpuTime() - before;
    Span("own").Set("thread.id", 42);
    moved = wherefore_span_start("moved", WHEREFORE_INTERNAL, nullptr);
  }).join();
  std::thread([&] { wherefore_span_end(moved); }).join();
  const profile::SpanBatch batch = OnlyBatch();
  ASSERT_EQ(batch.spans.size(), 3U);
  const profile::Span& burn = batch.spans[0];
  EXPECT_EQ(Number(batch, burn, kThreadIdKey), tid);
  const auto cpu = Number(batch, burn, kSpanCpuKey);
  ASSERT_TRUE(cpu);
  EXPECT_NEAR(static_cast<double>(*cpu), static_cast<double>(used), 2e6);
  EXPECT_GE(burn.end_ns - burn.start_ns, static_cast<std::uint64_t>(*cpu) + 20'000'000);
  EXPECT_EQ(Number(batch, batch.spans[1], kThreadIdKey), 42);
  EXPECT_FALSE(Number(batch, batch.spans[1], kSpanCpuKey)) << "42 is not the thread it is of";
  EXPECT_FALSE(Number(batch, batch.spans[2], kSpanCpuKey)) << "it ended on another thread";
}

TEST_F(TracerTest, CpuTimeIsReadAtMostAThousandTimesASecond) {
  Start();
  // On a thread of its own, whose first second begins here.
  std::thread([] {
    const std::int64_t end = MonotonicNs() + kNsPerSecond / 2;
    for (int i = 0; i < 3000 && MonotonicNs() < end; ++i) Span("x").End();
  }).join();
  std::size_t all = 0;
  std::size_t with = 0;
  for (const profile::SpanBatch& batch : Arrived()) {
    all += batch.spans.size();
    for (const profile::Span& span : batch.spans) with += Number(batch, span, kSpanCpuKey) ? 1 : 0;
  }
  EXPECT_EQ(all, 3000U);
  EXPECT_EQ(with, Tracer::kMostReadings / 2);
}

TEST_F(TracerTest, WhatARequestIsAndWhereItsParentIs) {
  options_.conditional.slow_request_ns = 3600 * kNsPerSecond;
  Start();
  LinkFilter& links = Tracer::Global().links();
  const auto trace_of = [](const SpanContext& span) {
    LinkFilter::TraceId trace{};
    std::memcpy(trace.data(), span.trace_id, trace.size());
    return trace;
  };
  // Judged, and thus a request, is a span after whose end its trace loses its links.
  const auto is_request = [&](const char* name, SpanKind kind, SpanContext parent) {
    LinkFilter::TraceId trace{};
    {
      const Span span(name, kind, parent);
      trace = trace_of(span.context());
    }
    return !links.Keeps(trace);
  };
  EXPECT_TRUE(is_request("root", SpanKind::kInternal, {}));
  const SpanContext remote{.trace_id = {9}, .span_id = {8}, .flags = 1};
  EXPECT_TRUE(is_request("remote", SpanKind::kInternal, remote));
  {
    // A parent of another tracer in this process, whose request we do not know.
    const SpanContext other{.trace_id = {5}, .span_id = {4}, .flags = 1};
    const SpanScope scope(other);
    EXPECT_FALSE(is_request("inside another tracer's", SpanKind::kInternal, {}));
    EXPECT_TRUE(is_request("consumer", SpanKind::kConsumer, {}));
  }
  SpanContext local{};
  {
    options_.conditional = {};
    Tracer::Global().SetConditional({});
    const Span span("local");
    local = span.context();
    Tracer::Global().SetConditional({.slow_request_ns = 3600 * kNsPerSecond});
  }
  std::thread([&] {
    EXPECT_FALSE(is_request("on another thread", SpanKind::kInternal, local));
    EXPECT_TRUE(is_request("server", SpanKind::kServer, local));
  }).join();
  const profile::SpanBatch batch = OnlyBatch();
  std::map<std::string, std::uint32_t> places;
  for (const profile::Span& span : batch.spans)
    places[std::string(batch.Text(span.name))] = span.flags >> 8;
  EXPECT_EQ(places, (std::map<std::string, std::uint32_t>{{"root", 1},
                                                          {"remote", 3},
                                                          {"inside another tracer's", 0},
                                                          {"consumer", 0},
                                                          {"local", 1},
                                                          {"on another thread", 1},
                                                          {"server", 1}}));
}

TEST_F(TracerTest, OnlyRequestsThatQualifyKeepTheirLinks) {
  options_.conditional.errors = true;
  Start();
  const auto trace_of = [](const Span& span) {
    LinkFilter::TraceId trace{};
    std::memcpy(trace.data(), span.context().trace_id, trace.size());
    return trace;
  };
  LinkFilter& links = Tracer::Global().links();
  LinkFilter::TraceId good{};
  LinkFilter::TraceId bad{};
  {
    Span request("fine");
    good = trace_of(request);
    {
      const Span child("child");
    }
    EXPECT_TRUE(links.Keeps(good)) << "not over yet";
  }
  {
    Span request("failed");
    bad = trace_of(request);
    {
      const Span child("child");
    }
    request.SetStatus(SpanStatus::kError);
  }
  EXPECT_FALSE(links.Keeps(good));
  EXPECT_TRUE(links.Keeps(bad));
  EXPECT_TRUE(links.Keeps(LinkFilter::TraceId{1, 2, 3})) << "unknown";
}

TEST_F(TracerTest, AFastRequestDoesNotUndoWhatAnotherOfItsTraceHasEarned) {
  options_.conditional.errors = true;
  Start();
  const SpanContext caller{.trace_id = {7}, .span_id = {8}, .flags = 1};
  const auto request = [&](SpanStatus status) {
    Span span("request", SpanKind::kServer, caller);
    span.SetStatus(status);
  };
  const LinkFilter::TraceId trace{7};
  LinkFilter& links = Tracer::Global().links();
  request(SpanStatus::kOk);
  EXPECT_FALSE(links.Keeps(trace));
  request(SpanStatus::kError);
  EXPECT_TRUE(links.Keeps(trace));
  request(SpanStatus::kOk);
  EXPECT_TRUE(links.Keeps(trace));
}

TEST(LinkFilter, OneRequestThatQualifiesKeepsTheLinksOfItsTrace) {
  LinkFilter links;
  const LinkFilter::TraceId trace{1};
  links.End(trace, true);
  links.End(trace, false);
  EXPECT_TRUE(links.Keeps(trace));
  const LinkFilter::TraceId other{2};
  links.End(other, false);
  EXPECT_FALSE(links.Keeps(other));
  links.End(other, true);
  links.End(other, false);
  EXPECT_TRUE(links.Keeps(other));
}

TEST(LinkFilter, ARequestThatHasNotEndedKeepsItsLinksWhateverOthersOfItsTraceDid) {
  LinkFilter links;
  const LinkFilter::TraceId trace{1};
  links.Begin(trace);
  links.Begin(trace);
  links.End(trace, false);
  EXPECT_TRUE(links.Keeps(trace));
  links.End(trace, false);
  EXPECT_FALSE(links.Keeps(trace));
}

TEST(LinkFilter, ARequestQualifiesByTheCpuTimeOfItsTrace) {
  LinkFilter links;
  const LinkFilter::TraceId trace{1};
  links.AddCpu(trace, 1000);  // not known yet: nobody's
  links.Begin(trace);
  links.AddCpu(trace, 30);  // by two threads, in two windows
  links.AddCpu(trace, 30);
  links.End(trace, false, 100);
  EXPECT_FALSE(links.Keeps(trace, 0.8));
  EXPECT_TRUE(links.Keeps(trace, 0.6));
  EXPECT_FALSE(links.Keeps(trace, 0));
  links.AddCpu(trace, 20);  // samples that were on their way
  EXPECT_TRUE(links.Keeps(trace, 0.8));
  const LinkFilter::TraceId other{2};
  links.Begin(other);
  links.Begin(other);
  links.End(other, false, 1000);
  links.AddCpu(other, 90);
  links.End(other, false, 100);  // the short one of the two was busy
  EXPECT_TRUE(links.Keeps(other, 0.8));
}

TEST(LinkFilter, RemembersAsManyTracesAsItSays) {
  const auto trace = [](std::size_t number) {
    LinkFilter::TraceId id{};
    std::memcpy(id.data(), &number, sizeof(number));
    return id;
  };
  LinkFilter links;
  // Judged again and again, each still takes one place.
  for (int round = 0; round < 3; ++round) {
    links.End(trace(1), false);
    links.End(trace(2), true);
    links.End(trace(2), false);
  }
  for (std::size_t i = 3; i <= LinkFilter::kRemembered; ++i) links.End(trace(i), false);
  EXPECT_FALSE(links.Keeps(trace(1)));
  EXPECT_FALSE(links.Keeps(trace(3)));
  links.End(trace(LinkFilter::kRemembered + 1), false);  // the oldest goes, and no other
  EXPECT_TRUE(links.Keeps(trace(1)));
  EXPECT_FALSE(links.Keeps(trace(3)));
  links.End(trace(2), false);
  EXPECT_TRUE(links.Keeps(trace(2)));
  for (std::size_t i = 0; i < LinkFilter::kRemembered; ++i)
    links.End(trace((std::size_t{1} << 32) + i), true);
  links.End(trace(2), false);  // forgotten: judged anew
  EXPECT_FALSE(links.Keeps(trace(2)));
}

TEST_F(TracerTest, AForkedChildTracesOnItsOwn) {
  Start();
  {
    const Span span("parent");
  }
  const pid_t child = fork();
  if (child == 0) {
    exporter_->AbandonInChild();
    Tracer::Global().AbandonInChild();
    exporter_->AfterFork();
    Tracer::Global().SetResource({{"service.name", "child"}});
    {
      const Span span("child");
    }
    Tracer::Global().Flush();
    _exit(exporter_->Flush(MonotonicNs() + 10 * kNsPerSecond) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  std::set<std::string> ids;
  std::multiset<std::string> names;
  for (const profile::SpanBatch& batch : Arrived()) {
    for (const profile::Span& span : batch.spans) {
      ids.insert(ToHex(span.id));
      names.insert(std::string(batch.Text(span.name)));
    }
  }
  EXPECT_EQ(names, (std::multiset<std::string>{"child", "parent"}));
  EXPECT_EQ(ids.size(), 2U);
}

TEST(Traceparent, ReadsAndWrites) {
  const std::string good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  EXPECT_EQ(Inject(Extract(good)), good);
  EXPECT_EQ(Inject(Extract("  " + good + "\t")), good);
  EXPECT_EQ(Inject(Extract("cc" + good.substr(2) + "-more")), good);
  EXPECT_EQ(Inject(SpanContext{}), "");
  for (const std::string& bad : std::vector<std::string>{
           std::string(), std::string("00"), good + "-more", good.substr(1), "ff" + good.substr(2),
           "00-00000000000000000000000000000000-b7ad6b7169203331-01",
           "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
           "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
           "00-0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331-01"}) {
    EXPECT_FALSE(IsValid(Extract(bad))) << bad;
  }
}

}  // namespace
}  // namespace wherefore::sdk
