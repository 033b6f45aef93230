#include "sdk/config/remote_options.h"

#include <gtest/gtest.h>

namespace wherefore::sdk {
namespace {

Options After(std::string_view yaml, const Options& local = {}) {
  const Result<RemoteOptions> remote = RemoteOptions::Read(yaml);
  EXPECT_TRUE(remote) << remote.error().message();
  return remote ? remote->Over(local) : local;
}

std::string Complaint(std::string_view yaml) {
  const Result<RemoteOptions> remote = RemoteOptions::Read(yaml);
  return remote ? "none" : remote.error().message();
}

TEST(RemoteOptions, TakesTheFilesPeopleHave) {
  const Options o = After(
      "profiling:\n"
      "  # CPU profiling\n"
      "  cpu:\n    enabled: true\n    sample_rate: 50  # samples per second\n"
      "  memory:\n    sample_rate: 1MB\n"
      "  conditional:\n    slow_request_threshold: 1s\n    cpu_threshold_percent: 80\n"
      "    profile_errors: true\n"
      "  max_stack_depth: 64\n  max_profile_size: 5MB\n"
      "  load_shedding:\n    enabled: true\n    cpu_threshold: 90%\n");
  EXPECT_EQ(o.of(Type::kCpu), (TypeOptions{true, 50}));
  EXPECT_EQ(o.of(Type::kHeap), (TypeOptions{true, 1e6}));
  EXPECT_EQ(o.conditional, (Conditional{1'000'000'000, 0.8, true}));
  EXPECT_EQ(o.max_stack_depth, 64U);
  EXPECT_EQ(o.max_profile_bytes, 5'000'000);
  EXPECT_TRUE(o.load_shedding.enabled);
  EXPECT_FALSE(After("profiling: {enabled: false}").enabled);
}

TEST(RemoteOptions, WhatItDoesNotSayIsAsItWasHere) {
  Options local;
  local.of(Type::kWall) = {false, 7};
  local.enabled = false;
  const Options o = After("profiling:\n  cpu: off\n", local);
  EXPECT_FALSE(o.of(Type::kCpu).enabled);
  EXPECT_EQ(o.of(Type::kWall), (TypeOptions{false, 7}));
  EXPECT_FALSE(o.enabled);
  for (const char* const nothing : {"", "# nothing\n", "profiling:\n", "profiling: {}\n"})
    EXPECT_EQ(After(nothing, local).types, local.types) << nothing;
}

TEST(RemoteOptions, ATypeOfItsOwnCountsOverTheListOfTypes) {
  const Options o = After("profiling:\n  heap: {enabled: true}\n  types: [cpu, block]\n");
  std::string on;
  for (std::size_t i = 0; i < kTypeCount; ++i)
    on += o.types[i].enabled ? std::string(TypeName(static_cast<Type>(i))) + " " : "";
  EXPECT_EQ(on, "cpu heap block ");
}

TEST(RemoteOptions, NeverATypeThatTheCodeSwitchedOffNorMoreOfTheBudget) {
  Options local;
  local.of(Type::kHeap).enabled = false;
  local.off_by_code[static_cast<std::size_t>(Type::kHeap)] = true;
  local.of(Type::kWall).enabled = false;  // by the environment: the server may
  local.max_overhead = 0.02;
  const Options more = After("profiling: {types: all, max_overhead: 50%}", local);
  EXPECT_FALSE(more.of(Type::kHeap).enabled);
  EXPECT_TRUE(more.of(Type::kWall).enabled);
  EXPECT_EQ(more.max_overhead, 0.02);
  EXPECT_EQ(After("profiling: {max_overhead_percent: 0.5}", local).max_overhead, 0.005);
}

TEST(RemoteOptions, OtherKeysAreLeftOutAndNamed) {
  const auto remote = RemoteOptions::Read(
      "profiling:\n  endpoint: http://evil\n  output_file: /etc/passwd\n  pprof: 6060\n"
      "  headers: {a: b}\n  resource: {a: b}\n  service_name: x\n  disabled: true\n  remote: off\n"
      "  state_dir: /tmp\n  log_level: off\n  ca_file: /x\n  upload_interval: 1h\n"
      "  tracing: {enabled: off}\n  opamp_endpoint: http://evil\n  manual_start: on\n"
      "  nonsense: 1\n  cpu: {nonsense: 1, sample_rate: 10}\n");
  ASSERT_TRUE(remote);
  EXPECT_EQ(remote->ignored().size(), 17U);
  Options o = remote->Over({});
  EXPECT_EQ(o.of(Type::kCpu).rate, 10);
  EXPECT_EQ(o.endpoint, Options().endpoint);
  EXPECT_EQ(o.output_file, "");
  EXPECT_EQ(o.pprof_port, -1);
  EXPECT_FALSE(o.disabled);
  EXPECT_TRUE(o.remote);
  EXPECT_TRUE(o.tracing);
  EXPECT_TRUE(o.resource.empty());
}

TEST(RemoteOptions, ABrokenFileIsRefusedWithItsLine) {
  EXPECT_EQ(Complaint("profiling:\n  cpu:\n    sample_rate: lots\n"),
            "line 3: cpu.sample_rate: 'lots' is not samples per second, from 0.001 to 10000");
  EXPECT_TRUE(Complaint("profiling:\n  types: [cpu, gpu]\n").starts_with("line 2: types: "));
  EXPECT_TRUE(Complaint("profiling:\n  cpu: &x 1\n").starts_with("line 2: "));
  EXPECT_EQ(Complaint("profiling:\n  cpu: on\n  cpu: off\n"),
            "line 3: 'cpu' is there already, in line 2");
  EXPECT_EQ(Complaint("other: {cpu: on}\n"), "there is no profiling: block");
  EXPECT_EQ(Complaint("profiling: yes\n"), "line 1: profiling: 'yes' is no block");
  EXPECT_EQ(Complaint(std::string(100'000, '#')), "100000 bytes; 65536 are allowed");
}

TEST(RemoteOptions, WhatIsWrittenReadsBackAsTheSame) {
  Options o;
  o.enabled = false;
  o.of(Type::kCpu) = {false, 12.5};
  o.of(Type::kHeap) = {true, 1'000'001};
  o.of(Type::kMutex) = {true, 1'234'567};
  o.of(Type::kThreads) = {true, 0.5};
  o.conditional = {1'500'000'000, 0.25, true};
  o.load_shedding = {true, 0.9, 123'456'789};
  o.adaptive = {true, 0.5, 0};
  o.max_stack_depth = 33;
  o.max_profile_bytes = 70'000;
  o.max_overhead = 0.005;
  const Options back = After(WriteRemoteOptions(o), {});
  EXPECT_EQ(back.enabled, o.enabled);
  EXPECT_EQ(back.types, o.types);
  EXPECT_EQ(back.conditional, o.conditional);
  EXPECT_EQ(back.load_shedding, o.load_shedding);
  EXPECT_EQ(back.adaptive, o.adaptive);
  EXPECT_EQ(back.max_stack_depth, 33U);
  EXPECT_EQ(back.max_profile_bytes, 70'000);
  EXPECT_EQ(back.max_overhead, 0.005);
}

}  // namespace
}  // namespace wherefore::sdk
