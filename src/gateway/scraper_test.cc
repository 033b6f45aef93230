// Relabelling, the configuration, and the scraper against a real HTTP server.
#include "gateway/scraper.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "formats/stacks/stack_batch.h"
#include "gateway/test_sink.h"
#include "net/http.h"
#include "profile/type_id.h"

namespace wherefore::gateway {
namespace {

LabelMap Relabelled(const RelabelRule::Spec& spec, LabelMap labels) {
  const auto rule = RelabelRule::Make(spec);
  EXPECT_TRUE(rule) << rule.error().message();
  if (!rule->Apply(labels)) return {{"dropped", "yes"}};
  return labels;
}

TEST(Relabel, ReplaceExpandsGroups) {
  EXPECT_EQ(Relabelled({.source_labels = {"a", "b"},
                        .target_label = "c",
                        .regex = "(.+);(?P<x>.+)",
                        .replacement = "${x}-$1$$"},
                       {{"a", "1"}, {"b", "2"}}),
            (LabelMap{{"a", "1"}, {"b", "2"}, {"c", "2-1$"}}));
  EXPECT_EQ(Relabelled({.source_labels = {"a"}, .target_label = "c", .regex = "x"}, {{"a", "1"}}),
            (LabelMap{{"a", "1"}}))
      << "no match, no change";
  EXPECT_EQ(Relabelled({.target_label = "a", .replacement = ""}, {{"a", "1"}}), (LabelMap{}));
}

TEST(Relabel, EveryActionDoesItsOwn) {
  const LabelMap labels = {{"env", "Prod"}, {"meta_zone", "eu"}};
  const LabelMap dropped = {{"dropped", "yes"}};
  EXPECT_EQ(Relabelled({.source_labels = {"env"}, .regex = "Pr.*", .action = "keep"}, labels),
            labels);
  EXPECT_EQ(Relabelled({.source_labels = {"env"}, .regex = "Pr", .action = "keep"}, labels),
            dropped);
  EXPECT_EQ(Relabelled({.source_labels = {"env"}, .regex = "Prod", .action = "drop"}, labels),
            dropped);
  EXPECT_EQ(Relabelled({.regex = "meta_(.+)", .action = "labelmap"}, labels),
            (LabelMap{{"env", "Prod"}, {"meta_zone", "eu"}, {"zone", "eu"}}));
  EXPECT_EQ(Relabelled({.regex = "meta_.*", .action = "labeldrop"}, labels),
            (LabelMap{{"env", "Prod"}}));
  EXPECT_EQ(Relabelled({.regex = "meta_.*", .action = "labelkeep"}, labels),
            (LabelMap{{"meta_zone", "eu"}}));
  EXPECT_EQ(
      Relabelled({.source_labels = {"env"}, .target_label = "env", .action = "lowercase"}, labels)
          .at("env"),
      "prod");
  EXPECT_EQ(
      Relabelled({.source_labels = {"env"}, .target_label = "meta_zone", .action = "keepequal"},
                 labels),
      dropped);
  EXPECT_LT(std::stoi(Relabelled({.source_labels = {"env"},
                                  .target_label = "shard",
                                  .modulus = 4,
                                  .action = "hashmod"},
                                 labels)
                          .at("shard")),
            4);
}

TEST(Relabel, WrongRulesAreRefused) {
  EXPECT_FALSE(RelabelRule::Make({.action = "explode"}));
  EXPECT_FALSE(RelabelRule::Make({.regex = "(", .action = "keep"}));
  EXPECT_FALSE(RelabelRule::Make({.action = "replace"}));
  EXPECT_FALSE(RelabelRule::Make({.target_label = "x", .action = "hashmod"}));
}

TEST(ScrapeConfig, JobsTargetsAndKindsAreRead) {
  const auto config = ParseScrapeConfig(R"(
global:
  scrape_interval: 30s
scrape_configs:
  - job_name: shop
    scrape_timeout: 5s
    static_configs:
      - targets: ['127.0.0.1:6060', '127.0.0.1:6061']
        labels: {service_name: shop, env: prod}
    relabel_configs:
      - source_labels: [__address__]
        regex: '.*:6061'
        action: drop
    profiling_config:
      path_prefix: /app
      pprof_config:
        block: {enabled: false}
        fgprof: {path: /debug/fgprof, delta: true}
)",
                                        "scrape.yml");
  ASSERT_TRUE(config) << config.error().message();
  const ScrapeJob& job = config->jobs.at(0);
  EXPECT_EQ(job.interval_ns, 30'000'000'000);
  EXPECT_EQ(job.timeout_ns, 5'000'000'000);
  const auto targets = TargetsOf(job, {});
  ASSERT_EQ(targets.size(), 1u);
  EXPECT_EQ(targets[0].url, "http://127.0.0.1:6060/app");
  EXPECT_EQ(targets[0].labels, (LabelMap{{"env", "prod"},
                                         {"instance", "127.0.0.1:6060"},
                                         {"job", "shop"},
                                         {"service_name", "shop"}}));
  const auto block = std::ranges::find(job.kinds, "block", &ScrapeKind::name);
  EXPECT_FALSE(block->enabled);
  EXPECT_TRUE(job.kinds.back().timed);
}

TEST(ScrapeConfig, MistakesAreNamedWithTheirLine) {
  const auto wrong = [](const std::string& text) {
    const auto config = ParseScrapeConfig(text, "scrape.yml");
    return config ? "" : config.error().message();
  };
  EXPECT_EQ(wrong("scrape_configs:\n  - job_name: a\n    interval: 3s\n"),
            "scrape.yml:3:5: unknown key `interval`; there is: job_name, scheme, scrape_interval, "
            "scrape_timeout, bearer_token, static_configs, file_sd_configs, relabel_configs, "
            "profiling_config");
  EXPECT_NE(wrong("scrape_configs:\n  - scheme: http\n").find("job_name"), std::string::npos);
  EXPECT_NE(wrong("scrape_configs: [").find("scrape.yml:1:"), std::string::npos);
  EXPECT_EQ(wrong("scrape_configs: {a: b}"),
            "scrape.yml:1:17: `scrape_configs`: expected a list, not a map");
  EXPECT_EQ(
      wrong("scrape_configs:\n  - job_name: a\n    static_configs:\n      - targets: 'x:1'\n"),
      "scrape.yml:4:18: `targets`: expected a list, not the text \"x:1\"");
  EXPECT_NE(wrong("scrape_configs:\n  - job_name: a\n    relabel_configs:\n      - action: odd\n")
                .find("scrape.yml:4:"),
            std::string::npos);
}

TEST(ScrapeConfig, ATargetOnTheCommandLine) {
  const auto job = ParseScrapeTarget("shop=http://127.0.0.1:6060");
  ASSERT_TRUE(job);
  EXPECT_EQ(TargetsOf(*job, {}).at(0).labels.at("service_name"), "shop");
  EXPECT_EQ(TargetsOf(*job, {}).at(0).url, "http://127.0.0.1:6060");
  EXPECT_FALSE(ParseScrapeTarget("nonsense"));
}

// A program that serves pprof: mutex contentions that grow by 10 with every request.
class Program {
 public:
  Program() {
    auto router = std::make_shared<net::Router>();
    router->Add("GET", "/debug/pprof/mutex",
                [this](const net::HttpRequest&, const net::Respond& respond) {
                  net::HttpResponse response;
                  response.content_type = "application/octet-stream";
                  response.body = Mutex(++requests_ * 10);
                  respond(std::move(response));
                });
    router->Add("GET", "/debug/pprof/profile",
                [](const net::HttpRequest&, const net::Respond& respond) {
                  net::HttpResponse response;
                  response.status = 500;
                  response.body = "cpu profiling already in use";
                  respond(std::move(response));
                });
    server_.emplace(io_, net::HttpServerOptions{}, router);
    EXPECT_TRUE(server_->Start());
  }
  [[nodiscard]] std::string address() const {
    return "127.0.0.1:" + std::to_string(server_->port());
  }
  std::atomic<int> requests_ = 0;

 private:
  static std::string Mutex(int value) {
    auto text = std::make_shared<const std::string>("main;lock");
    formats::StackBatch batch(text);
    batch.AddFolded(*text, value);
    return *formats::EncodePprof(batch
                                     .Finish({.type = "contentions",
                                              .unit = "count",
                                              .period_type = "contentions",
                                              .period_unit = "count",
                                              .period = 1})
                                     ->data);
  }
  net::IoThreads io_{1};
  std::optional<net::HttpServer> server_;
};

template <typename Condition>
bool Eventually(Condition condition) {
  for (int i = 0; i < 1000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

// Atomically: a half-written file would be a problem of its own.
void ReplaceFile(const std::filesystem::path& file, const std::string& text) {
  const std::filesystem::path fresh = file.string() + ".fresh";
  std::ofstream(fresh) << text;
  std::filesystem::rename(fresh, file);
}

TEST(Scraper, DifferencesArriveTroublesAreReportedAndFilesAreWatched) {
  Program program;
  FakeSink sink;
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("scraper_test." + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::filesystem::path file = folder / "targets.json";
  ScrapeJob job;
  job.name = "shop";
  job.interval_ns = 200'000'000;
  job.timeout_ns = 30'000'000'000;  // a busy machine must not cause a timeout
  job.files = {(folder / "*.json").string()};
  for (ScrapeKind& kind : job.kinds) kind.enabled = kind.name == "mutex";
  Scraper scraper(Intake(sink, std::make_shared<ReceiverMetrics>()), {{job}});
  scraper.Start();
  EXPECT_EQ(scraper.status().facts.at(0).second, "0, 0 of them healthy");
  ReplaceFile(file, R"([{"targets": [")" + program.address() + R"("], "labels": {"env": "x"}}])");

  std::vector<profile::WriteRequest> requests;
  ASSERT_TRUE(Eventually([&] {
    for (auto& request : sink.Take()) requests.push_back(std::move(request));
    return requests.size() >= 3;
  }));
  std::vector<std::int64_t> sums;
  for (const auto& request : requests) {
    const auto& batch = std::get<profile::Batch>(request.data);
    EXPECT_EQ(profile::TypeOf(batch, batch.profiles.at(0)).Id(),
              "mutex:contentions:count:contentions:count");
    std::int64_t sum = 0;
    for (const std::int64_t value : batch.samples.value) sum += value;
    sums.push_back(sum);
  }
  EXPECT_EQ(sums[0], 0) << "the first one sets the base";
  EXPECT_EQ(sums[1], 10);
  EXPECT_EQ(sums[2], 10);
  EXPECT_TRUE(scraper.status().problems.empty());

  ReplaceFile(file, R"([{"targets": ["127.0.0.1:1"]}])");
  EXPECT_TRUE(Eventually([&] { return scraper.status().problems.size() == 1; }));
  EXPECT_NE(scraper.status().problems[0].what.find("127.0.0.1:1"), std::string::npos);
  ReplaceFile(file, "[{");
  EXPECT_TRUE(Eventually([&] { return scraper.status().problems.size() == 2; }))
      << "the target stays while its file cannot be read";
  const std::int64_t before = MonotonicNs();
  scraper.Stop();
  EXPECT_LT(MonotonicNs() - before, 2'000'000'000);
  std::filesystem::remove_all(folder);
}

TEST(Scraper, AnAnswerThatIsNoProfileIsAProblem) {
  Program program;
  FakeSink sink;
  auto job = ParseScrapeTarget("http://" + program.address());
  ASSERT_TRUE(job);
  job->interval_ns = 100'000'000;
  for (ScrapeKind& kind : job->kinds) kind.enabled = kind.name == "process_cpu";
  Scraper scraper(Intake(sink, std::make_shared<ReceiverMetrics>()), {{*job}});
  scraper.Start();
  EXPECT_TRUE(Eventually([&] { return scraper.status().problems.size() == 1; }));
  EXPECT_NE(scraper.status().problems[0].what.find("answered 500: cpu profiling already in use"),
            std::string::npos);
}

}  // namespace
}  // namespace wherefore::gateway
