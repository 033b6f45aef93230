// Configurations as people write them: what is understood, and what is said about mistakes.
#include "gateway/config/gateway_config.h"

#include <optional>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "settings/yaml.h"

namespace wherefore::gateway {

using namespace settings;  // trees with places
namespace {

// The shape of the file most people begin with.
constexpr std::string_view kCollector = R"(receivers:
  otlp:
    protocols:
      grpc:
        endpoint: 0.0.0.0:4317
      http:
        endpoint: 0.0.0.0:4318
  otlp/profiles:
    protocols:
      grpc:
        endpoint: 0.0.0.0:4327
processors:
  batch:
    timeout: 1s
  resource:
    attributes:
    - key: service.name
      from_attribute: service.name
      action: upsert
exporters:
  otlphttp/traces:
    endpoint: https://otlp.example.com
    headers:
      x-token: ${SOME_TOKEN}
  otlphttp/pyroscope:
    endpoint: http://pyroscope:4040
service:
  pipelines:
    traces:
      receivers: [otlp]
      processors: [batch, resource]
      exporters: [otlphttp/traces]
    profiles:
      receivers: [otlp/profiles]
      processors: [batch]
      exporters: [otlphttp/pyroscope]
)";

struct Read {
  GatewayConfig config;
  Problems problems;
  [[nodiscard]] std::string text() const {
    std::string all;
    for (const Problem& p : problems.list()) all += p.Text() + "\n";
    return all;
  }
};

Read ReadText(std::string_view yaml) {
  Read read;
  auto root = ParseYaml(yaml, "c.yaml", read.problems);
  if (!root) return read;
  ReplaceReferences(*root, [](const std::string&) { return std::nullopt; }, read.problems);
  read.config = ReadGatewayConfig(*root, "/data", read.problems);
  return read;
}

std::string Replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out(text);
  const std::size_t at = out.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return out.replace(at, from.size(), to);
}

TEST(GatewayConfig, TheUsualFile) {
  const Read read = ReadText(kCollector);
  ASSERT_FALSE(read.problems.failed()) << read.text();
  EXPECT_EQ(read.text(), "c.yaml:24:16: the variable SOME_TOKEN is not set; it counts as empty\n");
  const GatewayConfig& c = read.config;
  EXPECT_TRUE(c.has_service);
  EXPECT_FALSE(c.UsesStore());
  EXPECT_EQ(c.receivers.at("otlp").grpc->port, 4317);
  EXPECT_EQ(c.receivers.at("otlp").http->host, "0.0.0.0");
  EXPECT_EQ(c.receivers.at("otlp/profiles").grpc->port, 4327);
  EXPECT_FALSE(c.receivers.at("otlp/profiles").http);
  const ExporterOptions& traces = c.exporters.at("otlphttp/traces").options;
  EXPECT_TRUE(traces.headers.empty());  // the variable is not set: not sent
  EXPECT_EQ(traces.timeout_ns, 30'000'000'000);
  EXPECT_EQ(traces.queue.directory, "/data/queue/otlphttp%2Ftraces");
  ASSERT_TRUE(traces.queue.batch);
  EXPECT_EQ(traces.queue.batch->timeout_ns, 1'000'000'000);
  EXPECT_EQ(traces.queue.batch->min_size, 8192u);
  ASSERT_EQ(c.pipelines.size(), 2u);
  EXPECT_EQ(c.pipelines[0].signal, formats::Signal::kTraces);
}

TEST(GatewayConfig, MistakesAreNamedWhereTheyAre) {
  const auto wrong = [](std::string_view from, std::string_view to) {
    return ReadText(Replaced(kCollector, from, to)).text();
  };
  EXPECT_TRUE(wrong("    timeout: 1s", "    send_bach_size: 5")
                  .contains("c.yaml:14:5: unknown key `send_bach_size`; did you mean "
                            "`send_batch_size`?"));
  EXPECT_TRUE(wrong("exporters: [otlphttp/traces]", "exporters: [otlphttp/trace]")
                  .contains("c.yaml:32:19: exporter `otlphttp/trace` is not defined; did you mean "
                            "`otlphttp/traces`?"));
  EXPECT_TRUE(wrong("  otlp:\n", "  otpl:\n")
                  .contains("c.yaml:2:3: receivers: there is no type "
                            "`otpl`; did you mean `otlp`?"));
  EXPECT_TRUE(wrong("timeout: 1s", "timeout: 1").contains("c.yaml:14:14: `timeout`"));
  EXPECT_TRUE(
      wrong("    traces:\n", "    metrics:\n")
          .contains("c.yaml:29:5: pipeline `metrics`: this server takes profiles and traces "
                    "only"));
  EXPECT_TRUE(wrong("[batch, resource]", "[batch, batch]").contains("named twice"));
  EXPECT_TRUE(wrong("receivers: [otlp]", "receivers: []").contains("has no receiver"));
  EXPECT_TRUE(wrong("0.0.0.0:4327", "0.0.0.0:4317").contains("both want port 4317"));
  EXPECT_TRUE(wrong("http://pyroscope:4040", "http://localhost:4318").contains("of this server"));
  EXPECT_TRUE(wrong("http://pyroscope:4040", "pyroscope:4040").contains("c.yaml:25:3: `endpoint`"));
  EXPECT_TRUE(wrong("action: upsert", "action: upsort").contains("`action`: expected one of"));
  EXPECT_TRUE(wrong("processors:\n  batch:", "connectors:\n  x:\nprocessors:\n  batch:")
                  .contains("connectors"));
  EXPECT_TRUE(wrong("service:\n", "servise:\n").contains("did you mean `service`?"));
}

TEST(GatewayConfig, EveryMistakeIsNamed) {
  const Read read = ReadText(
      "receivers:\n  otlp:\n    protocol:\nexporters:\n  fille:\nservice:\n"
      "  pipelines:\n    logs:\n");
  EXPECT_EQ(read.problems.list().size(), 4u) << read.text();
}

TEST(GatewayConfig, QueuesAsExportersSay) {
  const Read read = ReadText(R"(
receivers: {otlp: {protocols: {grpc: }}}
processors: {batch: {timeout: 5s}}
exporters:
  otlp:
    endpoint: next:4317
    tls: {insecure: true}
    sending_queue: {queue_size: 1000, batch: {min_size: 10, sizer: bytes}, storage: file_storage/q}
  otlp_grpc/plain:
    endpoint: other:4317
    sending_queue: {enabled: false}
    retry_on_failure: {max_elapsed_time: 5m}
  wherefore:
extensions:
  file_storage/q: {directory: /q}
service:
  extensions: [file_storage/q]
  pipelines:
    profiles: {receivers: [otlp], processors: [batch], exporters: [otlp, otlp_grpc/plain, wherefore]}
)");
  ASSERT_FALSE(read.problems.failed()) << read.text();
  EXPECT_TRUE(read.config.UsesStore());
  const ExporterOptions& queued = read.config.exporters.at("otlp").options;
  EXPECT_EQ(queued.queue.size, 1000u);
  EXPECT_EQ(queued.queue.sizer, Sizer::kRequests);
  EXPECT_EQ(queued.queue.batch->min_size, 10u);
  EXPECT_EQ(queued.queue.directory, "/q/otlp");
  EXPECT_TRUE(queued.tls.insecure);
  EXPECT_EQ(queued.timeout_ns, 5'000'000'000);
  const ExporterOptions& plain = read.config.exporters.at("otlp_grpc/plain").options;
  EXPECT_TRUE(plain.queue.wait_for_result);
  EXPECT_EQ(plain.queue.size, std::uint64_t{1} << 30);
  EXPECT_EQ(plain.queue.sizer, Sizer::kBytes);
  EXPECT_EQ(plain.queue.batch->timeout_ns, 5'000'000'000);
  EXPECT_EQ(plain.retry.max_elapsed_ns, 300'000'000'000);
}

TEST(GatewayConfig, UnusedComponentsAreNotStarted) {
  const Read read = ReadText(R"(
receivers:
  otlp: {protocols: {http: }}
  pyroscope:
exporters: {wherefore: , debug: , otlphttp: {endpoint: http://x}}
extensions: {bearertokenauth: {token: abc}, zpages: , health_check: }
service:
  extensions: [zpages]
  telemetry: {logs: {level: warn, encoding: json}, resource: {a: b}}
  pipelines: {traces: {receivers: [otlp], exporters: [debug]}}
)");
  ASSERT_FALSE(read.problems.failed()) << read.text();
  EXPECT_EQ(read.config.receivers.size(), 1u);
  EXPECT_EQ(read.config.exporters.size(), 1u);
  EXPECT_FALSE(read.config.health_check);
  EXPECT_EQ(read.config.log_level, LogLevel::kWarn);
  EXPECT_EQ(read.config.receivers.at("otlp").http->port, 4318);
}

TEST(GatewayConfig, Processors) {
  const auto problems_of = [](const std::string& processors) {
    return ReadText("processors:\n" + processors).text();
  };
  EXPECT_EQ(problems_of("  filter: {trace_conditions: ['span.name == \"x\"']}\n"), "");
  EXPECT_TRUE(problems_of("  filter:\n    trace_conditions: ['span.nam == \"x\"']\n")
                  .contains("c.yaml:3:24: `trace_conditions`: at character 1"));
  EXPECT_EQ(problems_of("  memory_limiter: {check_interval: 1s, limit_mib: 100}\n"), "");
  EXPECT_TRUE(problems_of("  memory_limiter: {limit_mib: 100}\n").contains("`check_interval`"));
  EXPECT_TRUE(problems_of("  redaction: {allow_all_keys: true}\n").contains("use `redact`"));
  EXPECT_TRUE(problems_of("  redact: {patterns: ['(']}\n").contains("not a regular expression"));
  EXPECT_EQ(problems_of("  redact:\n  redact/x: {patterns: [card], allow: [scorecard]}\n"), "");
  EXPECT_TRUE(problems_of("  probabilistic_sampler:\n").contains("`sampling_percentage`"));
  EXPECT_EQ(
      problems_of("  tail_sampling: {decision_wait: 10s, policies: [{name: a, type: and, and: "
                  "{and_sub_policy: [{name: b, type: latency, latency: {threshold_ms: 5}}, "
                  "{name: c, type: status_code, status_code: {status_codes: [ERROR]}}]}}, "
                  "{name: d, type: string_attribute, string_attribute: {key: k, values: "
                  "['^a'], enabled_regex_matching: true}}]}\n"),
      "");
  EXPECT_TRUE(problems_of("  tail_sampling: {policies: [{name: a, type: latncy}]}\n")
                  .contains("`type`: expected one of"));
  EXPECT_EQ(problems_of("  rate_limit: {samples_per_second: 100, bytes_per_second: 1MB}\n"), "");
  EXPECT_EQ(problems_of("  attributes: {actions: [{key: a, value: 5, action: insert}, {pattern: "
                        "'^x', action: delete}]}\n"),
            "");
  EXPECT_TRUE(problems_of("  attributes: {actions: [{key: a, action: insert}]}\n")
                  .contains("needs `value`"));
}

TEST(GatewayConfig, ReceiversWithTokensAndScrapeJobs) {
  const Read read = ReadText(R"(
receivers:
  otlp: {protocols: {grpc: {auth: {authenticator: bearertokenauth}, max_recv_msg_size_mib: 8}}}
  pyroscope: {protocols: {http: {endpoint: '[::1]:4041'}}}
  pprof:
    remote: {endpoint: 'http://localhost:6060', collection_interval: 30s}
    scrape_configs: [{job_name: shop, static_configs: [{targets: ['a:1', 'b:2']}]}]
exporters: {wherefore: }
extensions: {bearertokenauth: {token: abc}}
service:
  extensions: [bearertokenauth]
  pipelines: {profiles: {receivers: [otlp, pyroscope, pprof], exporters: [wherefore]}}
)");
  ASSERT_FALSE(read.problems.failed()) << read.text();
  EXPECT_EQ(read.config.receivers.at("otlp").grpc->token, "abc");
  EXPECT_EQ(read.config.receivers.at("otlp").grpc->max_bytes, 8u << 20);
  EXPECT_EQ(read.config.receivers.at("pyroscope").http->host, "::1");
  ASSERT_EQ(read.config.receivers.at("pprof").scrape.jobs.size(), 2u);
  EXPECT_EQ(read.config.receivers.at("pprof").scrape.jobs[0].name, "shop");
  EXPECT_EQ(read.config.receivers.at("pprof").scrape.jobs[1].interval_ns, 30'000'000'000);
}

TEST(GatewayConfig, Profiling) {
  const Read read = ReadText(R"(profiling:
  cpu: {enabled: true, sample_rate: 100}
  memory: {enabled: true, sample_rate: 512KB}
  conditional: {slow_request_threshold: 1s, cpu_threshold_percent: 80, profile_errors: true}
  max_stack_depth: 64
  max_profile_size: 10MB
  upload_interval: 10s
  load_shedding: {enabled: true, cpu_threshold: 90%}
  adaptive: {base_rate: 100, max_rate: 200}
)");
  ASSERT_FALSE(read.problems.failed()) << read.text();
  const ProfilingSettings& p = *read.config.profiling;
  EXPECT_EQ(p.by_type.at("cpu").rate, 100);
  EXPECT_EQ(p.by_type.at("heap").rate, 512'000);
  EXPECT_EQ(p.by_type.at("heap").rate_text, "512KB");
  EXPECT_EQ(p.conditional->slow_request_ns, 1'000'000'000);
  EXPECT_DOUBLE_EQ(*p.conditional->cpu, 0.8);
  EXPECT_EQ(p.max_stack_depth, 64u);
  EXPECT_EQ(p.max_profile_bytes, 10'000'000);
  EXPECT_DOUBLE_EQ(p.load_shedding->cpu, 0.9);
  EXPECT_EQ(p.adaptive->max_rate, 200);
  EXPECT_FALSE(read.config.has_service);
  EXPECT_TRUE(read.config.UsesStore());
  EXPECT_TRUE(ReadText("profiling: {cpu: {sample_rat: 5}}").text().contains("`sample_rate`?"));
}

TEST(GatewayConfig, ServeOptionsByName) {
  const Read read = ReadText("wherefore: {http_port: 4041, symbol-path: [/a, /b]}\n");
  ASSERT_EQ(read.config.serve.size(), 2u);
  EXPECT_EQ(read.config.serve[0].name, "http-port");
  EXPECT_EQ(read.config.serve[1].values, (std::vector<std::string>{"/a", "/b"}));
}

// Any damage to a good file: no crash, and what is refused names a line.
TEST(GatewayConfig, MutatedFiles) {
  std::mt19937_64 random(17);
  const auto upto = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n)(random);
  };
  constexpr std::string_view kPieces[] = {
      "\n", "  ", ": ", "- ", "[",    "]",          "{",    "}", "&a ", "*a",   "${",  "'",
      "\"", "|",  "%",  "\t", "null", "9999999999", "<<: ", "#", "? ",  "!!x ", "\xc3"};
  std::size_t refused = 0;
  for (int round = 0; round < 10'000; ++round) {
    std::string text(kCollector);
    for (std::size_t change = upto(3); change <= 3; ++change) {
      const std::size_t at = upto(text.size() - 1);
      switch (upto(3)) {
        case 0:
          text.erase(at, upto(20));
          break;
        case 1:
          text.insert(at, kPieces[upto(std::size(kPieces) - 1)]);
          break;
        case 2:
          text[at] = static_cast<char>(upto(255));
          break;
        default:
          text.insert(at, text.substr(upto(text.size() - 1), upto(60)));
      }
    }
    const Read read = ReadText(text);
    refused += read.problems.failed() ? 1 : 0;
    for (const Problem& p : read.problems.list()) ASSERT_GE(p.place.line, 1) << p.what << text;
  }
  EXPECT_GT(refused, 5'000u);
}

}  // namespace
}  // namespace wherefore::gateway
