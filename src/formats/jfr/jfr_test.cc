#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "formats/formats.h"
#include "formats/jfr/names.h"
#include "formats/jfr/testing.h"
#include "formats/registry.h"
#include "formats/testing.h"
#include "formats/wire/gzip.h"
#include "formats/wire/protobuf.h"
#include "profile/observations.h"
#include "profile/type_id.h"

namespace wherefore::formats {
namespace {

using profile::Batch;
using testing::JfrBytes;
using testing::JfrWriter;
using testing::ReadFile;
using testing::Shared;

enum : std::uint8_t { kExecution = 100, kWall, kNewTlab, kMonitor, kSetting, kOdd };

// The agent's events: common fields, then their own.
void DefineEvents(JfrWriter& w) {
  using F = JfrWriter::Field;
  const auto sample = [](std::vector<F> own) {
    std::vector<F> fields = {{"startTime", JfrWriter::kLong},
                             {"sampledThread", JfrWriter::kThread, true},
                             {"stackTrace", JfrWriter::kStackTrace, true},
                             {"state", JfrWriter::kThreadState, true}};
    fields.insert(fields.end(), own.begin(), own.end());
    for (const char* name : {"spanId", "spanName", "contextId", "traceIdHi", "traceIdLo"}) {
      fields.push_back({name, JfrWriter::kLong});
    }
    return fields;
  };
  w.Define(kExecution, "jdk.ExecutionSample", sample({}));
  w.Define(kWall, "profiler.WallClockSample", sample({{"samples", JfrWriter::kInt}}));
  w.Define(kNewTlab, "jdk.ObjectAllocationInNewTLAB", sample({{"tlabSize", JfrWriter::kLong}}));
  w.Define(kMonitor, "jdk.JavaMonitorEnter", sample({{"duration", JfrWriter::kLong}}));
  w.Define(kSetting, "jdk.ActiveSetting",
           {{"id", JfrWriter::kLong}, {"name", JfrWriter::kString}, {"value", JfrWriter::kString}});
  for (const auto& [key, name] : std::map<int, std::string>{
           {1, "STATE_RUNNABLE"}, {2, "STATE_SLEEPING"}, {3, "STATE_DEFAULT"}}) {
    w.Constant(JfrWriter::kThreadState, key, w.Bytes().Text(name));
  }
  w.Constant(JfrWriter::kFrameType, 1, w.Bytes().Text("JIT compiled"));
  w.Constant(JfrWriter::kThread, 7, w.Bytes().Text("os").Long(1).Text("pool-1-thread-12"));
}

struct Sample {
  int stack = 1;
  int state = 3;
  int thread = 0;
  std::int64_t own = -1;  // -1: the event has no field of its own
  std::int64_t span = 0;
  std::int64_t span_name = 0;
  std::int64_t context = 0;
  std::int64_t trace_high = 0;
  std::int64_t trace_low = 0;
};

void Add(JfrWriter& w, int type, const Sample& s) {
  JfrBytes b = w.Bytes().Long(123).Long(s.thread).Long(s.stack).Long(s.state);
  if (s.own >= 0 && type == kWall) b.Int(s.own);
  if (s.own >= 0 && type != kWall) b.Long(s.own);
  b.Long(s.span).Long(s.span_name).Long(s.context).Long(s.trace_high).Long(s.trace_low);
  w.Event(type, b);
}

void Setting(JfrWriter& w, std::int64_t id, std::string_view name, std::string_view value) {
  w.Event(kSetting, w.Bytes().Long(id).Text(name).Text(value));
}

void AddShop(JfrWriter& w) {
  DefineEvents(w);
  w.Method(1, "Shop", "main");
  w.Method(2, "java/util/Arrays", "copyOf");
  w.Stack(1, {{2, 30}, {1, 12}});
  w.Stack(2, {{1, 13}});
}

DecodedProfiles Decode(const std::string& bytes, const JfrContext& context = {}) {
  auto decoded = DecodeJfr(Shared(bytes), context);
  EXPECT_TRUE(decoded) << decoded.error().message();
  if (!decoded) return {};
  EXPECT_TRUE(decoded->data.Validate());
  return std::move(*decoded);
}
std::string WhyNot(const std::string& bytes, const JfrContext& context = {}) {
  const auto decoded = DecodeJfr(Shared(bytes), context);
  EXPECT_FALSE(decoded);
  return decoded ? "" : decoded.error().message();
}

// Type id -> sum of values.
std::map<std::string, std::int64_t> Totals(const Batch& b) {
  std::map<std::string, std::int64_t> out;
  for (const profile::Profile& p : b.profiles) {
    for (std::size_t i = p.first_sample; i < p.first_sample + p.sample_count; ++i) {
      out[profile::TypeOf(b, p).Id()] += b.samples.value[i];
    }
  }
  return out;
}

constexpr const char* kCpuId = "process_cpu:cpu:nanoseconds:cpu:nanoseconds";
constexpr const char* kWallId = "wall:wall:nanoseconds:wall:nanoseconds";

// "leaf:line;caller:line {key=value,...} span trace" -> value, of the profile with this id.
std::map<std::string, std::int64_t> Samples(const Batch& b, std::string_view id) {
  std::map<std::string, std::int64_t> out;
  for (const profile::Profile& p : b.profiles) {
    if (profile::TypeOf(b, p).Id() != id) continue;
    for (std::size_t i = p.first_sample; i < p.first_sample + p.sample_count; ++i) {
      std::string text;
      for (const profile::Id f : b.StackFrames(b.samples.stack[i])) {
        const profile::Line& line = b.FrameLines(b.frames[f])[0];
        text += fmt::format("{}:{};", b.Text(b.functions[line.function].name), line.line);
      }
      for (const profile::Id a : b.AttributeRefs(b.samples.attributes[i])) {
        const profile::Attribute& attribute = b.attributes[a];
        text += fmt::format(" {}={}", b.Text(attribute.key), b.Text(attribute.value.text));
      }
      if (b.samples.link[i] != 0) {
        const profile::Link& link = b.links[b.samples.link[i]];
        text += fmt::format(" span {} trace {}", ToHex(link.span), ToHex(link.trace));
      }
      out[text] += b.samples.value[i];
    }
  }
  return out;
}

TEST(Jfr, ReadsBothFormsOfIntegers) {
  for (const bool compressed : {true, false}) {
    JfrWriter w(compressed);
    AddShop(w);
    Add(w, kExecution, {.stack = 1});
    Add(w, kExecution, {.stack = 2});
    Add(w, kExecution, {.stack = 1});
    const DecodedProfiles decoded = Decode(w.Finish());
    EXPECT_EQ(decoded.message, "");
    const std::map<std::string, std::int64_t> expected = {
        {"java/util/Arrays.copyOf:30;Shop.main:12;", 20'000'000}, {"Shop.main:13;", 10'000'000}};
    EXPECT_EQ(Samples(decoded.data, kCpuId), expected) << compressed;
    EXPECT_EQ(decoded.data.profiles[0].time_ns, JfrWriter::kStartNs);
    EXPECT_EQ(decoded.data.profiles[0].duration_ns, JfrWriter::kDurationNs);
    EXPECT_EQ(decoded.data.profiles[0].period, 10'000'000);
  }
}

TEST(Jfr, ChunksAddUpAlthoughTheirNumbersDiffer) {
  JfrWriter first;
  AddShop(first);
  Add(first, kExecution, {.stack = 1});
  JfrWriter second(false);
  DefineEvents(second);
  second.Method(5, "Shop", "main");
  second.Method(9, "java/util/Arrays", "copyOf");
  second.Stack(77, {{9, 30}, {5, 12}});
  Add(second, kExecution, {.stack = 77});
  const DecodedProfiles decoded = Decode(first.Finish() + second.Finish());
  const std::map<std::string, std::int64_t> expected = {
      {"java/util/Arrays.copyOf:30;Shop.main:12;", 20'000'000}};
  EXPECT_EQ(Samples(decoded.data, kCpuId), expected);
}

TEST(Jfr, WallClockSamplesAreWallTimeAndRunningOnesCpuTime) {
  JfrWriter w;
  AddShop(w);
  Add(w, kWall, {.state = 1, .own = 3});
  Add(w, kWall, {.state = 2, .own = 5});
  Add(w, kNewTlab, {.own = 100});
  Setting(w, 0, "event", "wall");  // after the events it is about
  const DecodedProfiles decoded = Decode(w.Finish(), {.sample_rate = 50});
  const std::map<std::string, std::int64_t> expected = {
      {kCpuId, 60'000'000},
      {kWallId, 160'000'000},
      {"memory:alloc_in_new_tlab_objects:count:space:bytes", 1},
      {"memory:alloc_in_new_tlab_bytes:bytes:space:bytes", 100}};
  EXPECT_EQ(Totals(decoded.data), expected);
}

TEST(Jfr, WithoutTheWallSettingWallClockSamplesAreNoCpuTime) {
  JfrWriter w;
  AddShop(w);
  Setting(w, 0, "event", "cpu");
  Add(w, kWall, {.state = 1, .own = 3});
  Add(w, kExecution, {.state = 2});  // asleep
  Add(w, kExecution, {.state = 3});
  const std::map<std::string, std::int64_t> expected = {{kCpuId, 10'000'000},
                                                        {kWallId, 30'000'000}};
  EXPECT_EQ(Totals(Decode(w.Finish()).data), expected);
}

TEST(Jfr, DurationsAreConvertedFromTicks) {
  JfrWriter w(true, 24'000'000);
  AddShop(w);
  Add(w, kMonitor, {.own = 24'000'000 + 12});
  Add(w, kMonitor, {.own = 24});
  const std::map<std::string, std::int64_t> expected = {
      {"mutex:contentions:count:mutex:count", 2},
      {"mutex:delay:nanoseconds:mutex:count", 1'000'000'500 + 1'000}};
  EXPECT_EQ(Totals(Decode(w.Finish()).data), expected);
}

// LabelsSnapshot with a context 4 {controller=job} and the string 9 "GET /".
std::string Labels() {
  std::string out;
  PbfWriter root(out);
  for (const auto& [id, text] :
       std::map<int, std::string>{{1, "controller"}, {2, "job"}, {9, "GET /"}}) {
    PbfWriter entry(root, 2);
    entry.add_int64(1, id);
    entry.add_string(2, text);
  }
  PbfWriter entry(root, 1);
  entry.add_int64(1, 4);
  PbfWriter context(entry, 2);
  PbfWriter label(context, 1);
  label.add_int64(1, 1);
  label.add_int64(2, 2);
  label.commit();
  context.commit();
  entry.commit();
  return out;
}

TEST(Jfr, SpansAndContextsBecomeLinksAndAttributes) {
  JfrWriter w;
  AddShop(w);
  Add(w, kExecution,
      {.stack = 2,
       .thread = 7,
       .span = 0x1122334455667788,
       .span_name = 9,
       .context = 4,
       .trace_high = 1,
       .trace_low = 2});
  Add(w, kExecution, {.stack = 2, .span = -2});
  const std::string labels = Labels();
  const DecodedProfiles decoded = Decode(w.Finish(), {.labels_snapshot = labels});
  EXPECT_EQ(decoded.message, "");
  const std::map<std::string, std::int64_t> expected = {
      {"Shop.main:13; controller=job span_name=GET / thread.name=pool-*-thread-* "
       "span 1122334455667788 trace 00000000000000010000000000000002",
       10'000'000},
      {"Shop.main:13; span fffffffffffffffe trace 00000000000000000000000000000000", 10'000'000}};
  EXPECT_EQ(Samples(decoded.data, kCpuId), expected);
}

TEST(Jfr, WhatASampleRefersToMayBeMissing) {
  JfrWriter w;
  AddShop(w);
  w.Stack(3, {{99, 1}});
  Add(w, kExecution, {.stack = 0});
  Add(w, kExecution, {.stack = 55, .context = 8});
  Add(w, kExecution, {.stack = 3});
  const DecodedProfiles decoded = Decode(w.Finish());
  const std::map<std::string, std::int64_t> expected = {{"", 20'000'000},
                                                        {"[unknown]:1;", 10'000'000}};
  EXPECT_EQ(Samples(decoded.data, kCpuId), expected);
  EXPECT_EQ(decoded.message,
            "stack trace 55 is not in the recording; context 8 is not among the labels");
}

TEST(Jfr, UnknownEventsAndFieldsAreSteppedOver) {
  for (const bool compressed : {true, false}) {
    JfrWriter w(compressed);
    AddShop(w);
    w.Define(40, "my.Empty", {});
    w.Define(41, "my.Pair", {{"a", JfrWriter::kInt}, {"none", 40}, {"f", JfrWriter::kFloat}});
    w.Define(kOdd, "my.Event", {{"x", 41}});
    w.Define(kExecution, "jdk.ExecutionSample",
             {{"pairs", 41, false, true},
              {"nothing", 40, false, true},
              {"names", JfrWriter::kString, false, true},
              {"stackTrace", JfrWriter::kStackTrace, true},
              {"state", JfrWriter::kString}});  // not the type we know: ignored
    w.Event(kOdd, w.Bytes().Raw("what this is nobody can say"));
    JfrBytes b = w.Bytes().Int(2).Int(-7).Fixed(1, 4).Int(900).Fixed(1, 4).Int(1'000'000'000);
    b.Int(5).Byte(0).Byte(1).Text("x").Text("latin", 5).Text("chars", 4);
    w.Event(kExecution, b.Long(2).Byte(2).Long(3));
    const std::map<std::string, std::int64_t> expected = {{"Shop.main:13;", 10'000'000}};
    EXPECT_EQ(Samples(Decode(w.Finish()).data, kCpuId), expected) << compressed;
  }
}

TEST(Jfr, TextsComeInFiveForms) {
  JfrWriter w;
  DefineEvents(w);
  const auto named = [&](std::int64_t key, const JfrBytes& name) {
    w.Constant(JfrWriter::kSymbol, key, name);
    w.Constant(JfrWriter::kMethod, key, w.Bytes().Long(0).Long(key).Byte(0));
    w.Stack(key, {{key, 0}});
    Add(w, kExecution, {.stack = static_cast<int>(key)});
  };
  w.Constant(JfrWriter::kString, 3, w.Bytes().Text("pooled"));
  w.Constant(JfrWriter::kString, 4, w.Bytes().Byte(2).Long(4));  // refers to itself
  named(1, w.Bytes().Text("utf8 \xc3\xa9"));
  named(2, w.Bytes().Text("latin \xe9", 5));
  named(3, w.Bytes().Byte(2).Long(3));
  named(4, w.Bytes().Byte(4).Int(3).Integer(0xd83d, 2).Integer(0xde00, 2).Integer('x', 2));
  named(5, w.Bytes().Text("bad \xff"));
  named(6, w.Bytes().Byte(2).Long(4));
  const DecodedProfiles decoded = Decode(w.Finish());
  EXPECT_EQ(decoded.message, "'.bad \xef\xbf\xbd' was not UTF-8");
  std::vector<std::string> names;
  for (const auto& [name, value] : Samples(decoded.data, kCpuId)) names.push_back(name);
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{".bad \xef\xbf\xbd:0;", ".latin \xc3\xa9:0;",
                                             ".pooled:0;", ".utf8 \xc3\xa9:0;",
                                             ".\xf0\x9f\x98\x80x:0;", "[unknown]:0;"}));
}

TEST(Jfr, ThePeriodIsTheSendersOrTheRecordings) {
  JfrWriter w;
  AddShop(w);
  Add(w, kExecution, {});
  Setting(w, kExecution, "period", "20 ms");
  const std::string bytes = w.Finish();
  EXPECT_EQ(Totals(Decode(bytes, {.sample_rate = 0}).data)[kCpuId], 20'000'000);
  EXPECT_EQ(Totals(Decode(bytes, {.sample_rate = 100}).data)[kCpuId], 10'000'000);
}

TEST(Jfr, TheContextGivesServiceLabelsAndTime) {
  JfrWriter w;
  AddShop(w);
  Setting(w, 0, "event", "itimer");
  Add(w, kExecution, {});
  const DecodedProfiles decoded =
      Decode(w.Finish(),
             {.service = "shop", .labels = {{"env", "test"}}, .from_ns = 1'000, .until_ns = 5'000});
  const Batch& b = decoded.data;
  std::map<std::string, std::string> labels;
  for (const profile::Attribute& a : b.OwnAttributes(b.resources[1].attributes)) {
    labels[std::string(b.Text(a.key))] = b.Text(a.value.text);
  }
  EXPECT_EQ(labels, (std::map<std::string, std::string>{
                        {"service.name", "shop"}, {"env", "test"}, {"jfr_event", "itimer"}}));
  EXPECT_EQ(b.profiles[0].time_ns, 1'000U);
  EXPECT_EQ(b.profiles[0].duration_ns, 4'000U);
}

TEST(Jfr, MadeUpClassNamesAreMadeStable) {
  const std::map<std::string, std::string> expected = {
      {"Main$$Lambda$172.0x00007f0a12345678", "Main$$Lambda_"},
      {"Main$$Lambda$124+0x00000008000c1440/1627857534", "Main$$Lambda_"},
      {"Main$$Lambda/0x00007f0a12345678", "Main$$Lambda_"},
      {"Main$$LambdaHolder", "Main$$LambdaHolder"},
      {"jdk/internal/reflect/GeneratedMethodAccessor31",
       "jdk/internal/reflect/GeneratedMethodAccessor_"},
      {"jdk/internal/reflect/GeneratedMethodAccessorX",
       "jdk/internal/reflect/GeneratedMethodAccessorX"},
      {"Order$$EnhancerBySpringCGLIB$$1f2e3d", "Order$$EnhancerBySpringCGLIB$$_"},
      {"libzstd-jni-1.5.1-16931311898282279136.so", "libzstd-jni-1.5.1-_.so"},
      {"/tmp/libamazonCorrettoCryptoProvider109b39cf33c563eb.so",
       "libamazonCorrettoCryptoProvider_.so"},
      {"libasyncProfiler-linux-x64-94af16d95b27e7e3346a51e8d43e744de92a62a3.so",
       "libasyncProfiler-linux-x64-_.so"},
      {"libc.so.6", "libc.so.6"},
      {"", ""}};
  for (const auto& [name, stable] : expected) EXPECT_EQ(StableClassName(name), stable) << name;
}

TEST(Jfr, ThreadsOfAPoolShareAName) {
  EXPECT_EQ(ThreadGroupName("pool-3-thread-17"), "pool-*-thread-*");
  EXPECT_EQ(ThreadGroupName("C2 CompilerThread0"), "C2 CompilerThread*");
  EXPECT_EQ(ThreadGroupName("[tid=4711]"), "[tid=*]");
  EXPECT_EQ(ThreadGroupName("main"), "main");
  EXPECT_EQ(ThreadGroupName(""), "");
}

TEST(Jfr, OfManyThreadNamesTheFirstAreKept) {
  JfrWriter w;
  AddShop(w);
  for (int i = 0; i < 300; ++i) {
    const std::string name = {static_cast<char>('a' + i / 26), static_cast<char>('a' + i % 26)};
    w.Constant(JfrWriter::kThread, 100 + i, w.Bytes().Text("").Long(i).Text(name));
    Add(w, kExecution, {.thread = 100 + i});
  }
  const DecodedProfiles decoded = Decode(w.Finish());
  EXPECT_EQ(Samples(decoded.data, kCpuId).size(), 201U);
  EXPECT_EQ(Totals(decoded.data)[kCpuId], 3'000'000'000);
  EXPECT_NE(decoded.message.find("more than 200 thread names"), std::string::npos)
      << decoded.message;
}

TEST(Jfr, DamageIsRefusedWithItsPlace) {
  JfrWriter w;
  AddShop(w);
  Add(w, kExecution, {});
  const std::string good = w.Finish();
  EXPECT_EQ(WhyNot(""), "JFR: the file is empty");
  EXPECT_EQ(WhyNot(good + "FLR"),
            fmt::format("JFR: chunk 1, header at offset {}: it ends early", good.size()));
  std::string bad = good;
  bad[5] = 3;
  EXPECT_EQ(WhyNot(bad), "JFR: chunk 0, header at offset 0: version 3.1 is not one of 2.x");
  bad = good;
  bad.replace(8, 8, std::string(8, '\0'));
  EXPECT_EQ(WhyNot(bad),
            "JFR: chunk 0, header at offset 0: its size is 0: the recording was not finished");
  bad = good;
  bad[31] = 1;  // offset of the metadata
  EXPECT_NE(WhyNot(bad).find("chunk 0, metadata event at offset"), std::string::npos);
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(DecodeJfr(Shared(good.substr(0, size)), {})) << size;
  }
  w.Event(kExecution, w.Bytes().Long(1));
  EXPECT_NE(WhyNot(w.Finish()).find("jdk.ExecutionSample is shorter than its fields"),
            std::string::npos);
  EXPECT_NE(WhyNot(good, {.labels_snapshot = "\x0a\xff"}).find("labels: entry 0"),
            std::string::npos);
}

TEST(Jfr, ClassesThatContainThemselvesAreRefused) {
  JfrWriter w;
  AddShop(w);
  w.Define(50, "my.Loop", {{"again", 50}});
  EXPECT_NE(WhyNot(w.Finish()).find("class 'my.Loop' contains itself"), std::string::npos);
  JfrWriter deep;
  AddShop(deep);
  for (int i = 0; i < 200; ++i) deep.Define(200 + i, "my.Deep", {{"next", 201 + i}});
  EXPECT_NE(WhyNot(deep.Finish()).find("nested too deeply"), std::string::npos);
  JfrWriter list;
  AddShop(list);
  list.Define(50, "my.List", {{"items", 50, false, true}});
  JfrBytes nested = list.Bytes();
  for (int i = 0; i < 100'000; ++i) nested.Int(1);
  list.Constant(50, 1, nested);
  EXPECT_NE(WhyNot(list.Finish()).find("my.List does not fit"), std::string::npos);
}

// Each of these asks for far more work or memory than its size.
TEST(Jfr, SmallFilesCannotAskForMuch) {
  JfrWriter laughs;
  AddShop(laughs);
  laughs.Define(299, "my.None", {});
  for (int i = 0; i < 25; ++i) {
    laughs.Define(300 + i, "my.Two", {{"a", 299 + i}, {"b", 299 + i}});
  }
  laughs.Define(kOdd, "my.Big", {{"all", 324, false, true}});
  laughs.Constant(kOdd, 1, laughs.Bytes().Int(0x7fffffff));
  Add(laughs, kExecution, {});
  EXPECT_EQ(Totals(Decode(laughs.Finish()).data)[kCpuId], 10'000'000);

  JfrWriter names;
  DefineEvents(names);
  names.Constant(JfrWriter::kSymbol, 1, names.Bytes().Text(std::string(1'000'000, 'x')));
  names.Constant(JfrWriter::kClass, 1, names.Bytes().Long(0).Long(1));
  for (int i = 0; i < 1000; ++i) {
    names.Constant(JfrWriter::kSymbol, 10 + i, names.Bytes().Text(std::to_string(i)));
    names.Constant(JfrWriter::kMethod, 1 + i, names.Bytes().Long(1).Long(10 + i).Byte(0));
    names.Stack(1 + i, {{1 + i, 1}});
    Add(names, kExecution, {.stack = 1 + i});
  }
  EXPECT_NE(WhyNot(names.Finish()).find("too much memory"), std::string::npos);
}

TEST(Jfr, IsRecognisedCompressedOrNot) {
  const std::string gz = ReadFile("tests/golden/java_agent_wall.jfr.gz");
  for (const std::string& bytes : {gz, *Gunzip(gz, 1 << 20)}) {
    const Format* const format = Recognise(bytes);
    ASSERT_NE(format, nullptr);
    EXPECT_EQ(format->name, "JFR");
  }
}

// Recorded with io.pyroscope:agent 2.9.2 (machine events removed) and with the JDK's recorder; the
// expected sums are those of `jfr print --json`.
TEST(JfrGolden, JavaAgentWallClock) {
  const std::string labels = ReadFile("tests/golden/java_agent_wall.labels.gz");
  const DecodedProfiles decoded =
      Decode(ReadFile("tests/golden/java_agent_wall.jfr.gz"), {.labels_snapshot = labels});
  EXPECT_EQ(decoded.message, "");
  const std::map<std::string, std::int64_t> expected = {
      {kCpuId, 3'660'000'000},
      {kWallId, 49'020'000'000},
      {"memory:alloc_in_new_tlab_objects:count:space:bytes", 272},
      {"memory:alloc_in_new_tlab_bytes:bytes:space:bytes", 71'303'168},
      {"mutex:contentions:count:mutex:count", 8},
      {"mutex:delay:nanoseconds:mutex:count", 16'630'634},
      {"block:contentions:count:block:count", 4},
      {"block:delay:nanoseconds:block:count", 6'146'650},
      {"memory:live:count:objects:count", 272}};
  EXPECT_EQ(Totals(decoded.data), expected);
}

TEST(JfrGolden, JavaAgentTimerWithSpans) {
  const std::string labels = ReadFile("tests/golden/java_agent_itimer.labels.gz");
  const DecodedProfiles decoded =
      Decode(ReadFile("tests/golden/java_agent_itimer.jfr.gz"), {.labels_snapshot = labels});
  EXPECT_EQ(decoded.message, "");
  const std::map<std::string, std::int64_t> expected = {
      {kCpuId, 2'760'000'000},
      {"memory:alloc_in_new_tlab_objects:count:space:bytes", 450},
      {"memory:alloc_in_new_tlab_bytes:bytes:space:bytes", 117'964'800},
      {"mutex:contentions:count:mutex:count", 4},
      {"mutex:delay:nanoseconds:mutex:count", 12'121'938},
      {"block:contentions:count:block:count", 3},
      {"block:delay:nanoseconds:block:count", 13'277'032},
      {"memory:live:count:objects:count", 163}};
  EXPECT_EQ(Totals(decoded.data), expected);
  std::int64_t checkout = 0;
  std::int64_t cart = 0;
  std::int64_t price = 0;
  for (const auto& [text, value] : Samples(decoded.data, kCpuId)) {
    if (text.find("Shop.price:") != std::string::npos) price += value;
    if (text.find(" controller=checkout span_name=POST /checkout thread.name=request-* "
                  "span 1122334455667788 trace 0af7651916cd43dd8448eb211c80319c") !=
        std::string::npos) {
      checkout += value;
    }
    if (text.find(" span_name=GET /cart thread.name=request-* span f0000000000000aa") !=
        std::string::npos) {
      cart += value;
    }
  }
  EXPECT_EQ(price, 2'710'000'000);
  EXPECT_EQ(checkout, 410'000'000);
  EXPECT_EQ(cart, 130'000'000);
}

TEST(JfrGolden, JdkRecorder) {
  const DecodedProfiles decoded =
      Decode(ReadFile("tests/golden/jdk_recorder.jfr.gz"), {.sample_rate = 0});
  EXPECT_EQ(decoded.message, "");
  const std::map<std::string, std::int64_t> expected = {
      {kCpuId, 71 * 20'000'000},
      {"memory:alloc_in_new_tlab_objects:count:space:bytes", 246},
      {"memory:alloc_in_new_tlab_bytes:bytes:space:bytes", 85'323'392},
      {"memory:alloc_outside_tlab_objects:count:space:bytes", 55},
      {"memory:alloc_outside_tlab_bytes:bytes:space:bytes", 126'792},
      {"memory:alloc_sample_objects:count:space:bytes", 57},
      {"memory:alloc_sample_bytes:bytes:space:bytes", 91'661'504},
      {"mutex:contentions:count:mutex:count", 3},
      {"mutex:delay:nanoseconds:mutex:count", 23'102'056},
      {"block:contentions:count:block:count", 1},
      {"block:delay:nanoseconds:block:count", 4'849'166}};
  EXPECT_EQ(Totals(decoded.data), expected);
}

TEST(JfrGolden, SurvivesTheWayThroughOtlp) {
  const std::string labels = ReadFile("tests/golden/java_agent_wall.labels.gz");
  const DecodedProfiles decoded =
      Decode(ReadFile("tests/golden/java_agent_wall.jfr.gz"), {.labels_snapshot = labels});
  const auto again = DecodeOtlpProfiles(Shared(EncodeOtlpProfiles(decoded.data)));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->rejected, 0U) << again->message;
  EXPECT_EQ(Totals(again->data), Totals(decoded.data));
  EXPECT_EQ(Samples(again->data, kWallId), Samples(decoded.data, kWallId));
  const auto observations = [](const profile::Batch& batch) {
    std::map<std::string, std::int64_t> sums;
    for (const profile::Profile& p : batch.profiles) {
      for (std::size_t i = 0; i < p.sample_count; ++i)
        sums[TypeOf(batch, p).Id()] += profile::Observations(batch, p, p.first_sample + i);
    }
    return sums;
  };
  EXPECT_EQ(observations(again->data), observations(decoded.data));
}

}  // namespace
}  // namespace wherefore::formats
