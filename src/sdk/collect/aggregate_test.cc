// Sums of events and how they are written: what is where, and what is left out of a profile that
// would be too large.
#include "sdk/collect/aggregate.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "formats/formats.h"
#include "profile/observations.h"
#include "profile/reduced.h"
#include "sdk/unwind/module_map.h"

namespace wherefore::sdk {
namespace {

class AggregateTest : public testing::Test {
 protected:
  AggregateTest() { map_.Update(); }

  void Add(EventKind kind, std::vector<std::uint64_t> stack, std::int64_t value, double count = 1,
           double distance = 1) {
    Event event{};
    event.kind = kind;
    event.value = value;
    event.count = count;
    event.distance = distance;
    event.looks = 1;
    event.detail = ~0U;  // an allocation that is not watched
    event.depth = static_cast<std::uint16_t>(stack.size());
    event.pcs = stack.data();
    event.generation = map_.Modules()->generation;
    sums_.Add(event);
  }

  // Leaf -> value, of the batch's first profile. These addresses belong to no file.
  static std::map<std::string, std::int64_t> Leaves(const profile::Batch& batch) {
    std::map<std::string, std::int64_t> leaves;
    const profile::Profile& p = batch.profiles.at(0);
    for (std::uint32_t i = p.first_sample; i < p.first_sample + p.sample_count; ++i) {
      const profile::Frame& leaf = batch.frames[batch.StackFrames(batch.samples.stack[i])[0]];
      const profile::Id function = batch.FrameLines(leaf)[0].function;
      const std::string_view name = batch.Text(batch.functions[function].name);
      leaves[name == "[generated code]" ? std::to_string(leaf.address) : std::string(name)] +=
          batch.samples.value[i];
    }
    return leaves;
  }

  // What `wherefore check` says about it: "rule path", both errors and warnings.
  static std::vector<std::string> Complaints(profile::Batch batch) {
    if (batch.profiles.empty()) return {};  // is not sent
    batch.resources.resize(2);
    batch.scopes.resize(2);
    std::vector<std::string> complaints;
    for (const formats::Violation& v :
         formats::CheckOtlpProfiles(formats::EncodeOtlpProfiles(batch)))
      complaints.push_back(v.rule + " " + v.path);
    return complaints;
  }

  ModuleMap map_;
  Modules modules_{map_};
  Aggregate sums_{modules_};
};

// Value -> observations, of the batch's first profile.
std::map<std::int64_t, std::int64_t> ObservationsByValue(const profile::Batch& batch) {
  std::map<std::int64_t, std::int64_t> by_value;
  const profile::Profile& p = batch.profiles.at(0);
  for (std::uint32_t i = p.first_sample; i < p.first_sample + p.sample_count; ++i)
    by_value[batch.samples.value[i]] += profile::Observations(batch, p, i);
  return by_value;
}

TEST_F(AggregateTest, TheSmallestStacksOfALargeProfileAddUpToOther) {
  sums_.Enable(Series::kAllocated, true);
  for (std::uint64_t i = 1; i <= 100; ++i)
    Add(EventKind::kAlloc, {i}, static_cast<std::int64_t>(i), 2);
  const profile::Batch all = sums_.Peek(Series::kAllocated, {});
  EXPECT_EQ(Leaves(all).size(), 100U);
  const profile::Batch some = sums_.Peek(Series::kAllocated, {}, 4);
  EXPECT_EQ(Leaves(some), (std::map<std::string, std::int64_t>{
                              {"100", 100}, {"99", 99}, {"98", 98}, {"[other]", 97 * 98 / 2}}));
  ASSERT_EQ(some.profiles.size(), 2U) << "bytes and objects";
  std::int64_t objects = 0;
  std::int64_t observations = 0;
  for (std::uint32_t i = 0; i < 4; ++i) {
    objects += some.samples.value[some.profiles[1].first_sample + i];
    observations +=
        profile::Observations(some, some.profiles[1], some.profiles[1].first_sample + i);
  }
  EXPECT_EQ(objects, 200);
  EXPECT_EQ(observations, 100);
}

TEST_F(AggregateTest, SamplesThatWereTakenAreObservations) {
  sums_.Enable(Series::kBlock, true);
  for (int i = 0; i < 3; ++i) Add(EventKind::kWaiter, {1}, 1'000'000 * i + 1, 7);
  Add(EventKind::kWaiter, {2}, 5);
  const profile::Batch batch = sums_.Take({});
  EXPECT_EQ(ObservationsByValue(batch),
            (std::map<std::int64_t, std::int64_t>{{3'000'003, 3}, {5, 1}}));
  EXPECT_TRUE(sums_.Take({}).profiles.empty());
}

TEST_F(AggregateTest, SamplesTakenAtALargerDistanceAreFewerObservations) {
  sums_.Enable(Series::kAllocated, true);
  for (int i = 0; i < 400; ++i) Add(EventKind::kAlloc, {1}, 500, 1, 500);
  for (int i = 0; i < 10; ++i) Add(EventKind::kAlloc, {2}, 40'000, 1, 40'000);
  // 600,000^2 / (400 * 500^2 + 10 * 40,000^2) = 22.4, a third of them for what a third is.
  EXPECT_EQ(ObservationsByValue(sums_.Peek(Series::kAllocated, {})),
            (std::map<std::int64_t, std::int64_t>{{200'000, 7}, {400'000, 15}}));
  Window window;
  window.periods[static_cast<std::size_t>(Series::kAllocated)] = 100'000;
  EXPECT_EQ(ObservationsByValue(sums_.Peek(Series::kAllocated, window)),
            (std::map<std::int64_t, std::int64_t>{{200'000, 2}, {400'000, 4}}))
      << "what is smaller than the distance in force now may not have been seen";
  window.periods[static_cast<std::size_t>(Series::kAllocated)] = 100'000'000;
  const auto at_least_one = ObservationsByValue(sums_.Peek(Series::kAllocated, window));
  EXPECT_EQ(at_least_one.at(200'000) + at_least_one.at(400'000), 1);
}

TEST_F(AggregateTest, NothingSeenIsAProfileWithItsTypesAndTimeForThoseWhoAsk) {
  const Window window = {.start_ns = 7, .duration_ns = 9, .periods = {0, 0, 0, 5, 512, 1, 1, 1}};
  const profile::Batch heap = sums_.Empty(Series::kInUse, window);
  ASSERT_EQ(heap.profiles.size(), 2U);
  EXPECT_EQ(heap.Text(heap.profiles[0].sample_type.type), "inuse_space");
  EXPECT_EQ(heap.Text(heap.profiles[1].sample_type.type), "inuse_objects");
  for (const profile::Profile& p : heap.profiles) {
    EXPECT_EQ(heap.Text(p.period_type.type), "space");
    EXPECT_EQ(heap.Text(p.period_type.unit), "bytes");
    EXPECT_EQ(p.period, 512);
    EXPECT_EQ(p.time_ns, 7U);
    EXPECT_EQ(p.duration_ns, 9U);
    EXPECT_EQ(p.sample_count, 0U);
  }
  EXPECT_TRUE(sums_.Empty(window).profiles.empty());
  sums_.Enable(Series::kMutex, true);
  EXPECT_EQ(sums_.Empty(window).profiles.size(), 2U);
}

TEST_F(AggregateTest, TheProgramIsTheFirstMapping) {
  sums_.Enable(Series::kCpu, true);
  const auto in_libc = reinterpret_cast<std::uint64_t>(&std::strtoull);
  const auto in_program = reinterpret_cast<std::uint64_t>(&Leaves);
  Add(EventKind::kCpu, {in_libc, in_program}, 1);
  const profile::Batch batch = sums_.Take({});
  ASSERT_EQ(batch.mappings.size(), 3U);
  EXPECT_EQ(batch.Text(batch.mappings[1].filename),
            std::filesystem::read_symlink("/proc/self/exe").string());
  EXPECT_NE(batch.Text(batch.mappings[2].filename).find("libc"), std::string_view::npos);
}

TEST_F(AggregateTest, WhatIsSentKeepsToEveryRule) {
  for (std::size_t i = 0; i < kSeriesCount; ++i) sums_.Enable(static_cast<Series>(i), true);
  sums_.SetLabelKeys({"route", "user"});
  const auto in_libc = reinterpret_cast<std::uint64_t>(&std::strtoull);
  const auto in_program = reinterpret_cast<std::uint64_t>(&Leaves);
  std::vector<std::uint64_t> stack = {in_libc, in_program, 0x1234};
  for (const EventKind kind : {EventKind::kCpu, EventKind::kBlocked, EventKind::kAlloc,
                               EventKind::kHolder, EventKind::kWaiter, EventKind::kThread}) {
    for (const std::uint16_t depth : std::initializer_list<std::uint16_t>{1, 2, 3, 2, 3}) {
      Event event{};
      event.kind = kind;
      event.value = std::int64_t{1'000'000} * depth;
      event.count = 3;
      event.looks = 2;
      event.detail = kind == EventKind::kAlloc ? ~0U : 0;
      event.depth = depth;
      event.pcs = stack.data();
      event.generation = map_.Modules()->generation;
      event.has_span = depth > 1 ? 1 : 0;
      event.trace[0] = event.span[0] = static_cast<std::uint8_t>(depth);
      const std::string labels =
          depth == 3 ? std::string("\1\1x\0\2/a", 7) : std::string("\0\2/a\1\1x", 7);
      std::memcpy(event.labels, labels.data(), labels.size());
      event.label_bytes = depth > 1 ? 7 : 0;
      sums_.Add(event);
    }
  }
  sums_.AddKnown(Series::kCpu, {kCollectorFrame, kProfilerFrame}, 5);
  const Window window = {
      .start_ns = 7, .duration_ns = 9, .periods = {1'000'000, 1, 1, 1, 1, 1, 1, 1}};
  EXPECT_EQ(Complaints(sums_.Peek(window)), std::vector<std::string>());
  for (std::size_t i = 0; i < kSeriesCount; ++i)
    EXPECT_EQ(Complaints(sums_.Peek(static_cast<Series>(i), window, 2)), std::vector<std::string>())
        << i;
}

TEST_F(AggregateTest, LabelsThatAreNotUtf8AreMadeSoAndSamplesThatThenAreTheSameBecomeOne) {
  sums_.Enable(Series::kCpu, true);
  sums_.SetLabelKeys({"route"});
  std::uint64_t pc = 0x1234;
  for (const std::string value : {"/caf\xe9", "/caf\xea", "/caf\xc3\xa9"}) {
    Event event{};
    event.kind = EventKind::kCpu;
    event.value = 10;
    event.count = 1;
    event.depth = 1;
    event.pcs = &pc;
    const std::string labels = std::string(1, '\0') + static_cast<char>(value.size()) + value;
    std::memcpy(event.labels, labels.data(), labels.size());
    event.label_bytes = static_cast<std::uint16_t>(labels.size());
    sums_.Add(event);
  }
  const Window window = {.duration_ns = 1, .periods = {10}};
  EXPECT_EQ(Complaints(sums_.Peek(window)), std::vector<std::string>());
  const profile::Batch batch = sums_.Take(window);
  std::map<std::string, std::int64_t> by_route;
  for (std::uint32_t i = 0; i < batch.profiles.at(0).sample_count; ++i) {
    const profile::Id label = batch.AttributeRefs(batch.samples.attributes[i])[0];
    by_route[std::string(batch.Text(batch.attributes[label].value.text))] += batch.samples.value[i];
  }
  EXPECT_EQ(by_route,
            (std::map<std::string, std::int64_t>{{"/caf\uFFFD", 20}, {"/caf\u00e9", 10}}));
}

TEST_F(AggregateTest, AFileWhoseNameIsNotUtf8CanBeSent) {
  const auto folder =
      std::filesystem::temp_directory_path() / fmt::format("wherefore-\xff-{}", getpid());
  std::filesystem::create_directory(folder);
  const auto copy = folder / "plugin\xe9.so";
  std::filesystem::copy_file(UNWIND_PLUGIN_A, copy);
  void* const plugin = dlopen(copy.c_str(), RTLD_NOW);
  std::filesystem::remove_all(folder);
  ASSERT_NE(plugin, nullptr) << dlerror();
  map_.Update();
  sums_.Enable(Series::kCpu, true);
  Add(EventKind::kCpu, {reinterpret_cast<std::uint64_t>(dlsym(plugin, "PluginRun"))}, 1);
  const Window window = {.duration_ns = 1, .periods = {1}};
  EXPECT_EQ(Complaints(sums_.Peek(window)), std::vector<std::string>());
  const profile::Batch batch = sums_.Take(window);
  ASSERT_EQ(batch.mappings.size(), 2U);
  EXPECT_NE(batch.Text(batch.mappings[1].filename).find("plugin\uFFFD.so"), std::string_view::npos);
  dlclose(plugin);
}

TEST_F(AggregateTest, WhatFoundNoRoomCountsInEverySeriesItWasFor) {
  for (const Series series : {Series::kCpu, Series::kWall, Series::kOffCpu, Series::kAllocated,
                              Series::kMutex, Series::kBlock})
    sums_.Enable(series, true);
  sums_.AddLost({.kind = EventKind::kCpu, .events = 2, .value = 20, .count = 2});
  sums_.AddLost({.kind = EventKind::kBlocked, .events = 3, .value = 300, .count = 3});
  sums_.AddLost({.kind = EventKind::kAlloc, .events = 2, .value = 600'000, .count = 6});
  sums_.AddLost({.kind = EventKind::kHolder, .events = 1, .value = 4000, .count = 7});
  sums_.AddLost({.kind = EventKind::kWaiter,
                 .wait = WaitKind::kSemaphore,
                 .events = 4,
                 .value = 50'000,
                 .count = 9});
  const auto lost = [&](Series series) {
    const profile::Batch batch = sums_.Peek(series, {.duration_ns = 1});
    const auto leaves = Leaves(batch);
    EXPECT_EQ(leaves.size(), 1U);
    EXPECT_TRUE(leaves.contains("[lost samples]"));
    const auto [value, observations] = *ObservationsByValue(batch).begin();
    return std::pair(value, observations);
  };
  using Pair = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(lost(Series::kCpu), Pair(20, 2));
  EXPECT_EQ(lost(Series::kOffCpu), Pair(300, 3));
  EXPECT_EQ(lost(Series::kWall), Pair(320, 5));
  EXPECT_EQ(lost(Series::kAllocated).second, 2);
  EXPECT_EQ(lost(Series::kMutex).second, 1);
  EXPECT_EQ(lost(Series::kBlock).second, 4);
}

TEST_F(AggregateTest, NoMappingThatNoFrameIsIn) {
  sums_.Enable(Series::kCpu, true);
  Add(EventKind::kCpu, {reinterpret_cast<std::uint64_t>(&std::strtoull)}, 1);
  EXPECT_EQ(Complaints(sums_.Take({.duration_ns = 1})), std::vector<std::string>());
}

TEST_F(AggregateTest, SamplesThatLoseTheirLinksBecomeOne) {
  sums_.Enable(Series::kBlock, true);
  std::uint64_t pc = 1;
  for (std::uint8_t i = 1; i <= 3; ++i) {
    Event event{};
    event.kind = EventKind::kWaiter;
    event.value = std::int64_t{10} * i;
    event.count = 2;
    event.depth = 1;
    event.pcs = &pc;
    event.has_span = 1;
    event.trace[0] = event.span[0] = i;
    sums_.Add(event);
  }
  sums_.FilterLinks([](const profile::TraceId& trace) { return trace[0] == 3; });
  const profile::Batch batch = sums_.Take({});
  ASSERT_EQ(batch.profiles.size(), 2U);
  ASSERT_EQ(batch.profiles[0].sample_count, 2U);
  std::map<std::uint32_t, std::pair<std::int64_t, std::int64_t>> by_observations;
  for (std::uint32_t i = 0; i < 2; ++i)
    by_observations[batch.samples.count[i]] = {batch.samples.value[i], batch.samples.value[2 + i]};
  EXPECT_EQ(by_observations[2], (std::pair<std::int64_t, std::int64_t>(10 + 20, 4)));
  EXPECT_EQ(by_observations[1], (std::pair<std::int64_t, std::int64_t>(30, 2)));
}

// wait.kind -> value, of one series; "" for samples without it.
std::map<std::string, std::int64_t> ByWaitKind(Aggregate& sums, Series series) {
  std::map<std::string, std::int64_t> kinds;
  const profile::Batch batch = sums.Peek(series, {.duration_ns = 1});
  const profile::Profile& p = batch.profiles.at(0);
  for (std::uint32_t i = p.first_sample; i < p.first_sample + p.sample_count; ++i) {
    std::string kind;
    for (const profile::Id id : batch.AttributeRefs(batch.samples.attributes[i])) {
      const profile::Attribute& a = batch.attributes[id];
      if (batch.Text(a.key) == "wait.kind") kind += batch.Text(a.value.text);
    }
    kinds[kind] += batch.samples.value[i];
  }
  return kinds;
}

TEST_F(AggregateTest, WaitsSayWhatWasWaitedFor) {
  for (const Series series : {Series::kWall, Series::kOffCpu, Series::kBlock})
    sums_.Enable(series, true);
  // A label of the same name that the host gave is not a second one.
  sums_.SetLabelKeys({"wait.kind"});
  const auto look = [this](long system_call, std::int64_t value, std::string_view label = {}) {
    std::uint64_t pc = 1;
    Event event{};
    event.kind = EventKind::kBlocked;
    event.value = value;
    event.looks = 1;
    event.detail = static_cast<std::uint64_t>(system_call);
    event.depth = 1;
    event.pcs = &pc;
    if (!label.empty()) {
      event.labels[1] = static_cast<std::uint8_t>(label.size());
      label.copy(reinterpret_cast<char*>(event.labels) + 2, label.size());
      event.label_bytes = static_cast<std::uint16_t>(2 + label.size());
    }
    sums_.Add(event);
  };
  look(SYS_futex, 1);
  look(SYS_nanosleep, 2);
  look(SYS_clock_nanosleep, 4);
  look(SYS_pause, 8);
  look(SYS_wait4, 16);
  look(SYS_waitid, 32);
  look(SYS_read, 64, "mine");
  look(SYS_epoll_wait, 128);
  look(-1, 256);  // a page fault
  sums_.AddLost({.kind = EventKind::kBlocked, .events = 1, .value = 512, .count = 1});
  using Kinds = std::map<std::string, std::int64_t>;
  EXPECT_EQ(
      ByWaitKind(sums_, Series::kOffCpu),
      (Kinds{{"lock", 1}, {"sleep", 2 + 4 + 8}, {"child", 48}, {"io", 64 + 128 + 256}, {"", 512}}));
  EXPECT_EQ(ByWaitKind(sums_, Series::kBlock), (Kinds{{"io", 64 + 128 + 256}}));
  EXPECT_EQ(ByWaitKind(sums_, Series::kWall), (Kinds{{"mine", 64}, {"", 1023 - 64}}));
  EXPECT_EQ(Complaints(sums_.Take({.duration_ns = 1})), std::vector<std::string>());
}

TEST_F(AggregateTest, OnlyProfilesThatLostLinksAreMarkedAsReduced) {
  sums_.Enable(Series::kCpu, true);
  sums_.Enable(Series::kBlock, true);
  const auto add = [this](EventKind kind, std::uint8_t trace) {
    std::uint64_t pc = 1;
    Event event{};
    event.kind = kind;
    event.value = 1;
    event.depth = 1;
    event.pcs = &pc;
    event.has_span = trace == 0 ? 0 : 1;
    event.trace[0] = event.span[0] = trace;
    sums_.Add(event);
  };
  const auto reduced = [this] {
    std::string types;
    profile::Batch batch = sums_.Take({.duration_ns = 1});
    for (const profile::Profile& p : batch.profiles) {
      for (const profile::Id id : batch.AttributeRefs(p.attributes)) {
        const profile::Attribute& a = batch.attributes[id];
        if (batch.Text(a.key) == profile::kReducedKey)
          types += fmt::format("{}={} ", batch.Text(p.sample_type.type), batch.Text(a.value.text));
      }
    }
    EXPECT_EQ(Complaints(std::move(batch)), std::vector<std::string>());
    return types;
  };
  const auto filter = [this] {
    sums_.FilterLinks([](const profile::TraceId& trace) { return trace[0] == 1; });
  };
  add(EventKind::kCpu, 1);
  add(EventKind::kCpu, 0);
  add(EventKind::kWaiter, 1);
  add(EventKind::kWaiter, 2);
  filter();
  EXPECT_EQ(reduced(), "delay=conditional contentions=conditional ");
  add(EventKind::kWaiter, 1);
  filter();
  EXPECT_EQ(reduced(), "") << "the mark is of one window";
}

}  // namespace
}  // namespace wherefore::sdk
