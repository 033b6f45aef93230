// Who says whether a service is profiled, what SDKs are told, and what outlives the server.
#include "gateway/profiling/control.h"

#include <fstream>
#include <limits>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/test_directory.h"
#include "settings/yaml.h"

namespace wherefore::gateway {

using namespace settings;  // trees with places
namespace {

ProfilingSettings Settings(const std::string& yaml) {
  Problems problems;
  const auto root = ParseYaml(yaml, "c.yaml", problems);
  ProfilingSettings settings = ReadProfiling(root.value_or(Node()), problems);
  EXPECT_FALSE(problems.failed()) << problems.error().message();
  return settings;
}

TEST(ProfilingControl, FileBelowAllBelowService) {
  ProfilingControl control("");
  EXPECT_TRUE(control.IsOn("", "shop"));
  EXPECT_EQ(control.Block("", "shop"), "") << "nobody said anything";
  control.SetFile(Settings("enabled: false"));
  EXPECT_FALSE(control.IsOn("", "shop"));
  ASSERT_TRUE(control.Set("", "", {.enabled = true}));
  EXPECT_TRUE(control.IsOn("", "shop"));
  ASSERT_TRUE(control.Set("", "shop", {.enabled = false}));
  EXPECT_FALSE(control.IsOn("", "shop"));
  EXPECT_TRUE(control.IsOn("", "other"));
  EXPECT_FALSE(control.IsOn("acme", "other")) << "another tenant's word; the file's holds";
}

TEST(ProfilingControl, AWordWithAnEndGivesWay) {
  ProfilingControl control("");
  ASSERT_TRUE(control.Set("", "shop", {.enabled = false}));
  ASSERT_TRUE(
      control.Set("", "shop", {.enabled = true, .until_ns = NowUnixNs() + 60 * kNsPerSecond}));
  EXPECT_TRUE(control.IsOn("", "shop"));
  ASSERT_TRUE(control.Set("", "shop", {.enabled = true, .until_ns = NowUnixNs() - 1}));
  EXPECT_FALSE(control.IsOn("", "shop")) << "as before";
}

TEST(ProfilingControl, IsKeptOverRestarts) {
  const TestDirectory directory;
  const std::string path = directory.path() + "/profiling.json";
  {
    ProfilingControl control(path);
    control.Open();
    ASSERT_TRUE(control.Set("", "a \"service\"", {.enabled = false}));
    ASSERT_TRUE(control.Set("acme", "", {.sample_rate = 250, .types = {{"cpu", "heap"}}}));
    ASSERT_TRUE(control.Set("acme", "x", {.until_ns = NowUnixNs() + 60 * kNsPerSecond}));
  }
  ProfilingControl again(path);
  again.Open();
  EXPECT_FALSE(again.IsOn("", "a \"service\""));
  const auto words = again.Words("acme");
  ASSERT_EQ(words.size(), 2u);
  EXPECT_EQ(words[0].second.sample_rate, 250);
  EXPECT_EQ(words[0].second.types, (std::vector<std::string>{"cpu", "heap"}));
  EXPECT_GT(words[1].second.until_ns, NowUnixNs());
  std::ofstream(path) << "{\"words\": [{\"enabled\": 7}]}";
  ProfilingControl damaged(path);
  damaged.Open();
  EXPECT_TRUE(damaged.IsOn("", "a \"service\""));
  EXPECT_TRUE(std::ifstream(path + ".bad").good());
}

TEST(ProfilingControl, NothingChangesIfItCannotBeKept) {
  ProfilingControl control("/nowhere/at/all/profiling.json");
  EXPECT_FALSE(control.Set("", "shop", {.enabled = false}));
  EXPECT_TRUE(control.IsOn("", "shop"));
}

TEST(ProfilingControl, TheBlockThatIsServed) {
  const auto file = Settings(
      "cpu: {enabled: true, sample_rate: 100}\n"
      "memory: {enabled: true, sample_rate: 512KB}\n"
      "conditional: {slow_request_threshold: 1s, cpu_threshold_percent: 80, profile_errors: true}\n"
      "max_stack_depth: 64\n"
      "max_profile_size: 10MB\n"
      "upload_interval: 10s\n"
      "load_shedding: {enabled: true, cpu_threshold: 90%}\n");
  const std::string block = ProfilingBlock(file, nullptr, false);
  EXPECT_EQ(block,
            "profiling:\n  enabled: true\n  cpu:\n    enabled: true\n    sample_rate: 100\n"
            "  heap:\n    enabled: true\n    sample_rate: 512KB\n"
            "  conditional:\n    slow_request_threshold: 1000ms\n    cpu_threshold_percent: 80\n"
            "    profile_errors: true\n  max_stack_depth: 64\n  max_profile_size: 10000000\n"
            "  upload_interval: 10000ms\n"
            "  load_shedding:\n    enabled: true\n    cpu_threshold: 90%\n");
  // What we serve is what we read.
  Problems problems;
  const auto root = ParseYaml(block, "served", problems);
  ASSERT_TRUE(root && !problems.failed());
  EXPECT_EQ(ProfilingBlock(ReadProfiling(*root->Find("profiling"), problems), nullptr, false),
            block);
  EXPECT_FALSE(problems.failed());
}

TEST(ProfilingControl, AdaptiveRates) {
  const auto file = Settings("adaptive: {base_rate: 100, max_rate: 150}");
  const auto rate = [&](std::optional<double> asked, bool pressure) {
    const ProfilingWord word{.sample_rate = asked};
    const std::string block = ProfilingBlock(file, &word, pressure);
    const std::size_t at = block.find("sample_rate: ");
    return at == std::string::npos ? 0 : std::stod(block.substr(at + 13));
  };
  EXPECT_EQ(rate({}, false), 100);
  EXPECT_EQ(rate({}, true), 50);
  EXPECT_EQ(rate(120, false), 120);
  EXPECT_EQ(rate(1000, false), 150) << "never above max";
  EXPECT_EQ(rate(1000, true), 150) << "half of what was asked, still above max";
  EXPECT_EQ(rate(120, true), 60);
}

TEST(ProfilingControl, RequestsAreRead) {
  const auto all = ReadProfilingRequest(R"({"sample_rate": 250, "types": ["cpu"], "for": "10m"})");
  ASSERT_TRUE(all) << all.error().message();
  EXPECT_EQ(all->word.sample_rate, 250);
  EXPECT_EQ(all->for_ns, 600 * kNsPerSecond);
  EXPECT_TRUE(ReadProfilingRequest(""));
  EXPECT_TRUE(ReadProfilingRequest("{}"));
  for (const char* const bad : {R"({"rate": 5})", R"({"sample_rate": "fast"})",
                                R"({"types": ["x"]})", R"({"for": 5})", "[1]", "{"}) {
    const auto read = ReadProfilingRequest(bad);
    EXPECT_FALSE(read) << bad;
    EXPECT_EQ(read.error().code(), Code::kInvalid) << bad;
  }
}

}  // namespace
}  // namespace wherefore::gateway
