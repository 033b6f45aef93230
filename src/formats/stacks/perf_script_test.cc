#include "formats/stacks/perf_script.h"

#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "formats/testing.h"
#include "profile/batch_tree.h"
#include "profile/type_id.h"

namespace wherefore::formats {
namespace {

using testing::Shared;

DecodedProfiles Decode(const std::string& text, const StacksContext& context = {}) {
  EXPECT_TRUE(IsPerfScript(text)) << text;
  auto decoded = DecodePerfScript(Shared(text), context);
  EXPECT_TRUE(decoded) << decoded.error().message();
  if (!decoded) return {};
  EXPECT_TRUE(decoded->data.Validate());
  return *std::move(decoded);
}

// "leaf@module<caller; label=value" -> value x observations, of one profile.
std::map<std::string, std::string> Rows(const profile::Batch& b, const profile::Profile& p) {
  std::map<std::string, std::string> rows;
  for (std::size_t i = p.first_sample; i < p.first_sample + p.sample_count; ++i) {
    std::string row;
    for (const profile::Id frame : b.StackFrames(b.samples.stack[i])) {
      const profile::Mapping& mapping = b.mappings[b.frames[frame].mapping];
      std::string levels;
      for (const profile::Line& line : b.FrameLines(b.frames[frame])) {
        levels +=
            (levels.empty() ? "" : "+") + std::string(b.Text(b.functions[line.function].name));
      }
      row += (row.empty() ? "" : "<") + levels;
      if (mapping.filename != 0) row += "@" + std::string(b.Text(mapping.filename));
    }
    for (const profile::Id ref : b.AttributeRefs(b.samples.attributes[i])) {
      row += fmt::format("; {}={}", b.Text(b.attributes[ref].key),
                         profile::ValueText(b, b.attributes[ref].value));
    }
    rows[row] = fmt::format("{} x{}", b.samples.value[i], b.samples.count[i]);
  }
  return rows;
}
using RowMap = std::map<std::string, std::string>;

std::string WhyNot(const std::string& text) {
  const auto decoded = DecodePerfScript(Shared(text), {});
  return decoded ? "" : decoded.error().message();
}

// Printed by perf 6.1 of `perf record -g -e cpu-clock`.
TEST(PerfScript, ReadsWhatPerfPrints) {
  const DecodedProfiles decoded = Decode(
      "busy prog 12139 16449.540116:     250000 cpu-clock: \n"
      "\t           14f02 check+0x122 (/usr/lib/ld-linux-x86-64.so.2)\n"
      "\t  7fff32a0b93000 [unknown] ([unknown])\n"
      "\n"
      "busy prog 12139 16449.540868:     250000 cpu-clock: \n"
      "\t            1149 work+0x20 (/tmp/busy prog)\n"
      "\t            1182 main+0x1a (/tmp/busy prog)\n"
      "\n"
      "busy prog 12139 16449.541116:     250000 cpu-clock: \n"
      "\t            1145 work+0x1c (/tmp/busy prog)\n"
      "\t            1182 main+0x1a (/tmp/busy prog)\n"
      "\n",
      {.service = "busy", .labels = {{"host", "a"}}});
  const profile::Batch& b = decoded.data;
  ASSERT_EQ(b.profiles.size(), 1U);
  const profile::Profile& p = b.profiles[0];
  EXPECT_EQ(profile::TypeOf(b, p).Id(), "process_cpu:cpu:nanoseconds:cpu:nanoseconds");
  EXPECT_EQ(p.period, 250'000);
  EXPECT_EQ(p.time_ns, 0U);
  EXPECT_EQ(p.duration_ns, 1'000'000U);
  EXPECT_EQ(profile::ServiceName(b, b.resources[p.resource]), "busy");
  EXPECT_EQ(
      Rows(b, p),
      (RowMap{{"check@/usr/lib/ld-linux-x86-64.so.2<[unknown]; thread.name=busy prog", "250000 x1"},
              {"work@/tmp/busy prog<main@/tmp/busy prog; thread.name=busy prog", "500000 x2"}}));
}

TEST(PerfScript, HeadersComeInManyForms) {
  const std::string frames = "\n\t 1149 work+0x20 (/bin/a)\n\n";
  for (const char* header : {"a 12 1.5: 7 cycles:", "a 12/13 [003] 1.500000: 7 cycles:u: ",
                             "a  -1 [000] 1.5:  7 cycles:ppp:", "a 12 7 cycles:",
                             "   a    12 [001]  1.5:          7 cpu_core/cycles/P:  "}) {
    const DecodedProfiles decoded = Decode(header + frames);
    ASSERT_EQ(decoded.data.profiles.size(), 1U) << header;
    EXPECT_EQ(profile::TypeOf(decoded.data, decoded.data.profiles[0]).Id(),
              "perf:cycles:count:cycles:count")
        << header;
    EXPECT_EQ(Rows(decoded.data, decoded.data.profiles[0]),
              (RowMap{{"work@/bin/a; thread.name=a", "7 x1"}}))
        << header;
  }
  // Names of commands may contain numbers and colons.
  for (const char* comm : {"worker 3 idle", "kworker/u8:1 x", "12 34"}) {
    const DecodedProfiles decoded = Decode(std::string(comm) + " 77/78 1.5: 7 cycles:" + frames);
    EXPECT_EQ(decoded.data.samples.value.at(0), 7) << comm;
  }
}

TEST(PerfScript, WithoutPeriodsSamplesAreCounted) {
  const DecodedProfiles decoded = Decode(
      "a 12 1.5: cpu-clock:\n\t1149 work (/bin/a)\n\na 12 1.6: cpu-clock:\n\t1150 work (/bin/a)\n");
  EXPECT_EQ(profile::TypeOf(decoded.data, decoded.data.profiles[0]).Id(),
            "cpu-clock:samples:count::");
  EXPECT_EQ(Rows(decoded.data, decoded.data.profiles[0]),
            (RowMap{{"work@/bin/a; thread.name=a", "2 x2"}}));
}

TEST(PerfScript, WithoutCallChainsTheFrameIsInTheSameLine) {
  const DecodedProfiles decoded = Decode(
      "               a    12 1.5:         10 cycles:      1149 work+0x20 (/bin/a)\n"
      "            dead    12 1.6:         20 cycles:      1149 work+0x21 (/bin/a)\n"
      "               a    12 1.7:          1 sched:sched_switch: prev_comm=a prev_pid=12\n");
  const profile::Batch& b = decoded.data;
  ASSERT_EQ(b.profiles.size(), 2U);
  EXPECT_EQ(Rows(b, b.profiles[0]), (RowMap{{"work@/bin/a; thread.name=a", "10 x1"},
                                            {"work@/bin/a; thread.name=dead", "20 x1"}}));
  EXPECT_EQ(profile::TypeOf(b, b.profiles[1]).sample_type, "sched:sched_switch");
  EXPECT_EQ(Rows(b, b.profiles[1]), (RowMap{{"; thread.name=a", "1 x1"}}));
}

TEST(PerfScript, FramesSayWhereTheyAre) {
  const DecodedProfiles decoded = Decode(
      "# captured on: today\n"
      "#\n"
      "a 12 1.5: 7 cycles:\n"
      "\t    1149 inner (inlined)\n"
      "\t    1149 middle (inlined)\n"
      "\t    1149 outer+0x9 (/bin/a)\n"
      "\tffffffff8104 do_syscall_64+0x3b ([kernel.kallsyms])\n"
      "\t7f00 [unknown] (/usr/lib/libz.so.1)\n"
      "\t7f01 std::vector<int, std::allocator<int> >::push_back(int const&)+0x1f (/bin/a b)\n"
      "\t7f02 gone (/tmp/x (deleted))\n"
      "\t7f03 operator+(A, B)\n"
      "\t7f04\n"
      "  main.c:12\n"
      "\n");
  EXPECT_EQ(
      Rows(decoded.data, decoded.data.profiles[0]),
      (RowMap{{"inner+middle+outer@/bin/a<do_syscall_64@[kernel.kallsyms]<[libz.so.1]@/usr/lib/"
               "libz.so.1<std::vector<int, std::allocator<int> >::push_back(int const&)@/bin/a b<"
               "gone@/tmp/x (deleted)<operator+(A, B)<[unknown]; thread.name=a",
               "7 x1"}}));
  EXPECT_EQ(decoded.message, "line 13 was left out: it is not a frame");
}

TEST(PerfScript, EveryEventIsAProfile) {
  std::string text;
  for (const char* event : {"10 cycles", "5 instructions", "100 cpu-clock", "90 task-clock"})
    text += fmt::format("a 12 1.5: {}:\n\t1149 work (/bin/a)\n\n", event);
  const DecodedProfiles decoded = Decode(text);
  std::vector<std::string> ids;
  for (const profile::Profile& p : decoded.data.profiles)
    ids.push_back(profile::TypeOf(decoded.data, p).Id());
  // Two clocks measure the same time: only one of them is "cpu".
  EXPECT_EQ(ids, (std::vector<std::string>{
                     "perf:cycles:count:cycles:count", "perf:instructions:count:instructions:count",
                     "process_cpu:cpu:nanoseconds:cpu:nanoseconds",
                     "process_cpu:task-clock:nanoseconds:task-clock:nanoseconds"}));
}

TEST(PerfScript, ThreadsOfAPoolAreOneLabelAndLabelsHaveAnEnd) {
  std::string text;
  for (int i = 0; i < 300; ++i) {
    text += fmt::format("pool-{} 12 1.5: 1 cycles:\n\t1149 work (/bin/a)\n\n", i);
    text += fmt::format("t{0}{0} 12 1.5: 1 cycles:\n\t1149 work (/bin/a)\n\n",
                        static_cast<char>('a' + i % 26) + std::string(1 + i / 26, 'x'));
  }
  const DecodedProfiles decoded = Decode(text);
  const RowMap rows = Rows(decoded.data, decoded.data.profiles[0]);
  EXPECT_EQ(rows.at("work@/bin/a; thread.name=pool-*"), "300 x300");
  EXPECT_LE(decoded.data.attributes.size(), 201U);
  EXPECT_NE(decoded.message.find("more than 200 thread names"), std::string::npos);
}

TEST(PerfScript, WhatIsWrongNamesTheLine) {
  EXPECT_EQ(WhyNot("a 12 1.5: 1 cycles:\n\t1149 work (/bin/a)\n\nnonsense here\n"),
            "line 4: a command, a thread, a time and an event are expected");
  EXPECT_EQ(WhyNot("a 12 1.5: 9223372036854775807 cycles:\n\na 12 1.5: 1 cycles:\n\n"),
            "line 4: the periods of one stack add up to more than 64 bits");
  EXPECT_EQ(WhyNot("# nothing\n"), "no samples in this output of perf script");
  EXPECT_EQ(Decode("a\xff 12 1.5: 1 cycles:\n\t1149 w\xff (/bin/\xff)\n").data.profiles.size(), 1U);
}

TEST(PerfScript, OtherTextsAreNotTakenForIt) {
  for (const char* text : {"main;work 7\n", "main;work 12 cycles: 5\n", "a 12 cycles:\nmain 5\n",
                           "", "# only\n", "a 12\n", "{\"a\":1}", "12 1.5: cycles"})
    EXPECT_FALSE(IsPerfScript(text)) << text;
}

}  // namespace
}  // namespace wherefore::formats
