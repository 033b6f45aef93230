// bench_forward: what forwarding the load costs, on one thread: merging, then gzip, zstd. Prints
// CPU seconds per million samples, and what is left of the bytes.
//
// With --to URL it sends through a real exporter (queue on disk, batches, gzip) to a server, and
// prints the CPU time of this whole process, and the total of all values sent.
#include <filesystem>
#include <future>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/clock.h"
#include "base/gzip.h"
#include "formats/formats.h"
#include "formats/otlp/merge.h"
#include "gateway/export/exporter.h"
#include "load.h"
#include "net/compression.h"

namespace wherefore::bench {
namespace {

struct Options {
  int services = 20;
  int requests = 680;
  int together = 68;
  std::string to;
  std::string kind = "otlphttp";
  std::int64_t time_ns = NowUnixNs();
  std::string queue = "/tmp/wherefore-bench-queue";
};

class Requests {
 public:
  explicit Requests(const Options& options) : load_({.services = options.services}) {
    RequestWriter writer(load_);
    Content content;
    for (int i = 0; i < options.requests; ++i) {
      std::string& request = all_.emplace_back();
      writer.Write(i % options.services, i / options.services % 5, i, options.time_ns, request,
                   content);
      bytes_ += request.size();
      total_ += content.total;
    }
  }
  [[nodiscard]] const std::vector<std::string>& all() const { return all_; }
  [[nodiscard]] double samples() const {
    return static_cast<double>(all_.size()) * load_.shape().samples;
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::int64_t total() const { return total_; }

 private:
  Load load_;
  std::vector<std::string> all_;
  std::size_t bytes_ = 0;
  std::int64_t total_ = 0;
};

// CPU seconds per million samples of `work`, which returns how many bytes it made.
template <typename Work>
void Print(const char* name, const Requests& requests, Work work) {
  const std::int64_t begin = ProcessCpuNs();
  const std::size_t bytes = work();
  const double seconds = static_cast<double>(ProcessCpuNs() - begin) / 1e9;
  fmt::print("{:24} {:8.2f} CPU s per million samples, {:5.1f} % of the bytes\n", name,
             seconds / requests.samples() * 1e6,
             100.0 * static_cast<double>(bytes) / static_cast<double>(requests.bytes()));
}

void PrintSteps(const Options& options, const Requests& requests) {
  std::vector<std::string> merged;
  Print("merge", requests, [&] {
    std::size_t bytes = 0;
    for (std::size_t at = 0; at < requests.all().size(); at += options.together) {
      const auto end = std::min(at + options.together, requests.all().size());
      const std::vector<std::string_view> views(requests.all().begin() + at,
                                                requests.all().begin() + end);
      merged.push_back(*formats::MergeOtlp(formats::Signal::kProfiles, views));
      bytes += merged.back().size();
    }
    return bytes;
  });
  const auto pack = [](const std::vector<std::string>& bodies, auto compress) {
    std::size_t bytes = 0;
    for (const std::string& body : bodies) bytes += compress(body).size();
    return bytes;
  };
  const auto gzip = [](int level) {
    return [level](const std::string& body) { return Gzip(body, level); };
  };
  Print("gzip of merged", requests, [&] { return pack(merged, gzip(6)); });
  Print("gzip -1 of merged", requests, [&] { return pack(merged, gzip(1)); });
  Print("zstd of merged", requests,
        [&] { return pack(merged, [](const std::string& body) { return net::Zstd(body); }); });
  Print("gzip of unmerged", requests, [&] { return pack(requests.all(), gzip(6)); });
}

// The exporter's whole path, as the gateway uses it for requests it does not change.
Result<> Send(const Options& options, const Requests& requests) {
  gateway::ExporterOptions exporter_options;
  exporter_options.id = options.kind + "/bench";
  using Kind = gateway::ExporterOptions::Kind;
  exporter_options.kind = options.kind == "otlp"        ? Kind::kOtlpGrpc
                          : options.kind == "pyroscope" ? Kind::kPyroscope
                                                        : Kind::kOtlpHttp;
  exporter_options.endpoint = options.to;
  exporter_options.queue.directory = options.queue;
  exporter_options.queue.batch = gateway::BatchOptions{};
  WHEREFORE_ASSIGN_OR_RETURN(const auto exporter, gateway::MakeExporter(exporter_options));
  WHEREFORE_RETURN_IF_ERROR(exporter->Start());
  std::vector<profile::WriteRequest> writes;
  for (const std::string& body : requests.all()) {
    profile::WriteRequest& write = writes.emplace_back();
    const auto shared = std::make_shared<const std::string>(body);
    WHEREFORE_ASSIGN_OR_RETURN(auto decoded, formats::DecodeOtlpProfiles(shared));
    write.data = std::move(decoded.data);
    write.otlp_bytes = shared;
    write.identity = HashString(body);
    write.arrival_ns = NowUnixNs();
  }
  const std::int64_t begin = ProcessCpuNs();
  std::promise<void> all_queued;
  std::atomic<std::size_t> left = writes.size();
  std::atomic<std::size_t> refused = 0;
  for (profile::WriteRequest& write : writes) {
    exporter->Write(std::move(write), [&](const Result<profile::WriteAnswer>& answer) {
      if (!answer) ++refused;
      if (--left == 0) all_queued.set_value();
    });
  }
  all_queued.get_future().wait();
  while (exporter->status().facts.at(0).second != "0")
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const double seconds = static_cast<double>(ProcessCpuNs() - begin) / 1e9;
  for (const auto& [name, value] : exporter->status().facts) fmt::print("{}: {}\n", name, value);
  exporter->Stop();
  fmt::print("queue, merge, gzip, send {:8.2f} CPU s per million samples; {} refused; total {}\n",
             seconds / requests.samples() * 1e6, refused.load(), requests.total());
  return {};
}

}  // namespace

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("what forwarding the benchmark's load costs");
  app.add_option("--services", options.services);
  app.add_option("--requests", options.requests);
  app.add_option("--together", options.together, "requests that are merged");
  app.add_option("--to", options.to, "endpoint of a server: send through an exporter");
  app.add_option("--time", options.time_ns, "of the profiles, ns; the same again: repeats");
  app.add_option("--kind", options.kind, "of the exporter")
      ->check(CLI::IsMember({"otlphttp", "otlp", "pyroscope"}));
  app.add_option("--queue", options.queue, "the exporter's directory");
  CLI11_PARSE(app, argc, argv);
  const Requests requests(options);
  if (options.to.empty()) {
    PrintSteps(options, requests);
    return 0;
  }
  if (const auto sent = Send(options, requests); !sent) {
    fmt::print(stderr, "{}\n", sent.error().message());
    return 1;
  }
  return 0;
}

}  // namespace wherefore::bench

int main(int argc, char** argv) {
  return wherefore::bench::Main(argc, argv);
}
