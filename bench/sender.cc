// bench_load: sends the load to a running server and prints, as JSON, exactly what was sent and how
// long it took.
//
// Closed loop (default): every connection sends the next request as soon as it has its answer. Open
// loop (--rate): requests are due at fixed times whatever the server does, and latency counts from
// the due time, so that a slow server cannot hide by slowing the sender.
//
// Only accepted requests count in the totals; refused ones are counted by status and not sent
// again.
#include <algorithm>
#include <map>

#include <CLI/CLI.hpp>

#include "base/clock.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "http_client.h"
#include "load.h"
#include "recode.h"

namespace wherefore::bench {
namespace {

struct Options {
  Shape shape;
  std::string host = "127.0.0.1";
  std::uint16_t port = 4318;
  std::size_t connections = 32;
  std::int64_t steps = 720;        // profiles of every instance
  std::int64_t step_seconds = 10;  // between two of them
  std::int64_t start_ns = 0;       // of the first profile; 0: every profile starts 10 s ago
  std::int64_t first_step = 0;     // so that a second run sends other profiles
  double rate = 0;                 // profiles a second; 0: closed loop
  std::size_t keep_links = 40;
  std::string format = "otlp";
  std::string write;  // write one request to this file instead of sending
};

struct ServiceTotals {
  std::int64_t profiles = 0, samples = 0, total = 0;
  std::vector<std::int64_t> self;  // by function
};

struct KeptLink {
  Link link;
  int service;
};

class Sender {
 public:
  explicit Sender(const Options& options)
      : options_(options),
        load_(options.shape),
        writer_(load_),
        count_(options.steps * options.shape.services * options.shape.instances),
        in_flight_(options.connections),
        totals_(static_cast<std::size_t>(options.shape.services)),
        posters_(options.host, options.port, options.connections,
                 [this](std::size_t connection, int status, std::string_view body) {
                   Answered(connection, status, body);
                 }) {
    for (ServiceTotals& t : totals_)
      t.self.resize(static_cast<std::size_t>(options.shape.functions));
    for (std::size_t i = 0; i < options.connections; ++i) idle_.push_back(i);
  }

  void Run() {
    const std::int64_t own_cpu = ProcessCpuNs();
    begin_ns_ = MonotonicNs();
    Prepare();
    while (next_ < count_ || idle_.size() < options_.connections) {
      SendWhatIsDue();
      std::int64_t wait = -1;
      if (options_.rate > 0 && next_ < count_ && !idle_.empty())
        wait = std::max<std::int64_t>(Due(next_) - MonotonicNs(), 0);
      posters_.Run(wait);
    }
    seconds_ = static_cast<double>(MonotonicNs() - begin_ns_) / 1e9;
    cpu_seconds_ = static_cast<double>(ProcessCpuNs() - own_cpu) / 1e9;
  }

  [[nodiscard]] std::string Report();

 private:
  struct InFlight {
    Content content;
    int service = 0;
    std::int64_t begin_ns = 0;
  };

  [[nodiscard]] std::int64_t Due(std::int64_t number) const {
    return begin_ns_ + static_cast<std::int64_t>(static_cast<double>(number) * 1e9 / options_.rate);
  }

  // Prepares the next request ahead of time: making it must not count as the server's latency.
  void Prepare() {
    body_.clear();
    if (next_ >= count_) return;
    const Shape& shape = options_.shape;
    const std::int64_t per_step = std::int64_t{shape.services} * shape.instances;
    const std::int64_t step = next_ / per_step;
    const auto place = static_cast<int>(next_ % per_step);
    prepared_.service = place % shape.services;
    // Instances do not all start at the same moment.
    const std::int64_t step_ns = options_.step_seconds * kNsPerSecond;
    const std::int64_t offset = place * (10 * kNsPerSecond / per_step);
    const std::int64_t time = options_.start_ns == 0 ? NowUnixNs() - 10 * kNsPerSecond
                                                     : options_.start_ns + step * step_ns + offset;
    writer_.Write(prepared_.service, place / shape.services, options_.first_step + step, time,
                  body_, prepared_.content);
    if (options_.format != "otlp") {
      Recoded recoded = options_.format == "jfr" ? AsJfr(body_) : AsPprof(body_);
      path_ = std::move(recoded.path);
      body_ = std::move(recoded.body);
    }
    first_time_ = first_time_ == 0 ? time : std::min(first_time_, time);
    last_time_ = std::max(last_time_, time);
  }

  void SendWhatIsDue() {
    while (next_ < count_ && !idle_.empty()) {
      const std::int64_t now = MonotonicNs();
      if (options_.rate > 0 && Due(next_) > now) return;
      const std::size_t connection = idle_.back();
      idle_.pop_back();
      std::swap(in_flight_[connection], prepared_);
      in_flight_[connection].begin_ns = options_.rate > 0 ? Due(next_) : now;
      bytes_ += body_.size();
      posters_.Post(connection, path_, body_);
      ++next_;
      Prepare();
    }
  }

  void Answered(std::size_t connection, int status, std::string_view body) {
    const InFlight& request = in_flight_[connection];
    latencies_.push_back(MonotonicNs() - request.begin_ns);
    idle_.push_back(connection);
    if (status != 200) {
      if (refused_[status]++ == 0) fmt::print(stderr, "answer {}: {}\n", status, body);
      return;
    }
    // The message of a full success is empty.
    if (!body.empty()) ++partial_;
    ServiceTotals& totals = totals_[static_cast<std::size_t>(request.service)];
    ++totals.profiles;
    totals.samples += static_cast<std::int64_t>(request.content.leaves.size());
    totals.total += request.content.total;
    for (const auto& [function, value] : request.content.leaves) totals.self[function] += value;
    ++accepted_;
    // Some links, spread over the run.
    const auto every = std::max<std::int64_t>(
        count_ / static_cast<std::int64_t>(std::max<std::size_t>(options_.keep_links, 1)), 1);
    if (accepted_ % every == 0 && links_.size() < options_.keep_links &&
        !request.content.links.empty())
      links_.push_back({request.content.links.front(), request.service});
  }

  void ReportServices(JsonWriter& json);

  const Options& options_;
  Load load_;
  RequestWriter writer_;
  std::int64_t count_;
  std::int64_t next_ = 0;
  std::string path_ = "/v1development/profiles";
  std::string body_;
  InFlight prepared_;
  std::vector<InFlight> in_flight_;
  std::vector<std::size_t> idle_;
  std::vector<std::int64_t> latencies_;
  std::vector<ServiceTotals> totals_;
  std::vector<KeptLink> links_;
  std::map<int, std::int64_t> refused_;
  std::int64_t accepted_ = 0, partial_ = 0;
  std::size_t bytes_ = 0;
  std::int64_t begin_ns_ = 0, first_time_ = 0, last_time_ = 0;
  double seconds_ = 0, cpu_seconds_ = 0;
  HttpPosters posters_;
};

void Sender::ReportServices(JsonWriter& json) {
  constexpr std::size_t kHottest = 3;
  json.Key("services").BeginArray();
  for (std::size_t i = 0; i < totals_.size(); ++i) {
    const ServiceTotals& t = totals_[i];
    const Service& service = load_.service(static_cast<int>(i));
    json.BeginObject().Field("name", service.name).Field("profiles", t.profiles);
    json.Field("samples", t.samples).Field("total", t.total).Key("self").BeginObject();
    std::vector<std::size_t> order(t.self.size());
    for (std::size_t f = 0; f < order.size(); ++f) order[f] = f;
    const std::size_t top = std::min(kHottest, order.size());
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(top), order.end(),
                      [&](std::size_t a, std::size_t b) { return t.self[a] > t.self[b]; });
    for (std::size_t f = 0; f < top; ++f)
      json.Field(service.function_names[order[f]], t.self[order[f]]);
    json.EndObject().EndObject();
  }
  json.EndArray();
}

std::string Sender::Report() {
  std::string out;
  JsonWriter json(out);
  std::int64_t samples = 0;
  std::int64_t total = 0;
  for (const ServiceTotals& t : totals_) {
    samples += t.samples;
    total += t.total;
  }
  json.BeginObject().Field("profiles", accepted_).Field("samples", samples).Field("total", total);
  json.Field("sent", next_).Field("partial", partial_).Key("refused").BeginObject();
  for (const auto& [status, count] : refused_) json.Field(std::to_string(status), count);
  json.EndObject().Field("bytes", bytes_).Field("seconds", seconds_);
  json.Field("cpu_seconds", cpu_seconds_);
  json.Field("first_time_ns", std::to_string(first_time_));
  json.Field("last_time_ns", std::to_string(last_time_));
  std::ranges::sort(latencies_);
  json.Key("latency_ms").BeginObject();
  for (const auto& [name, share] :
       {std::pair{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"max", 1.}}) {
    if (latencies_.empty()) break;
    const auto last = static_cast<double>(latencies_.size() - 1);
    json.Field(name, static_cast<double>(latencies_[static_cast<std::size_t>(last * share)]) / 1e6);
  }
  json.EndObject();
  ReportServices(json);
  json.Key("links").BeginArray();
  for (const KeptLink& kept : links_) {
    json.BeginObject().Field("trace", ToHex(kept.link.trace)).Field("span", ToHex(kept.link.span));
    json.Field("service", load_.service(kept.service).name).Field("value", kept.link.value);
    json.EndObject();
  }
  json.EndArray().EndObject();
  return out;
}

int WriteOne(const Options& options) {
  const Load load(options.shape);
  RequestWriter writer(load);
  std::string body;
  Content content;
  writer.Write(0, 0, options.first_step, options.start_ns, body, content);
  std::FILE* file = std::fopen(options.write.c_str(), "wb");
  if (file == nullptr) return 3;
  const bool written = std::fwrite(body.data(), 1, body.size(), file) == body.size();
  return std::fclose(file) == 0 && written ? 0 : 3;
}

int Main(int argc, char** argv) {
  Options o;
  CLI::App app("Sends the benchmark's load to a running server");
  app.add_option("--host", o.host)->capture_default_str();
  app.add_option("--port", o.port)->capture_default_str();
  app.add_option("--connections", o.connections)->capture_default_str();
  app.add_option("--services", o.shape.services)->capture_default_str();
  app.add_option("--instances", o.shape.instances)->capture_default_str();
  app.add_option("--functions", o.shape.functions)->capture_default_str();
  app.add_option("--stacks", o.shape.stacks)->capture_default_str();
  app.add_option("--samples", o.shape.samples)->capture_default_str();
  app.add_option("--seed", o.shape.seed)->capture_default_str();
  app.add_option("--model", o.shape.model, "narrow: stacks share most of their paths; wide: half")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, Model>{{"narrow", Model::kNarrow}, {"wide", Model::kWide}}));
  app.add_option("--prefix", o.shape.prefix, "Service names begin with this")
      ->capture_default_str();
  app.add_option("--steps", o.steps, "Profiles per instance")->capture_default_str();
  app.add_option("--step-seconds", o.step_seconds, "Between two of them")->capture_default_str();
  app.add_option("--first-step", o.first_step)->capture_default_str();
  app.add_option("--start-ns", o.start_ns, "Time of the first profile; 0: now")
      ->capture_default_str();
  app.add_option("--rate", o.rate, "Profiles per second; 0: closed loop")->capture_default_str();
  app.add_option("--format", o.format, "otlp, or as Pyroscope's clients send it: pprof, jfr")
      ->check(CLI::IsMember({"otlp", "pprof", "jfr"}))
      ->capture_default_str();
  app.add_option("--write", o.write, "Write the first request to this file and end");
  CLI11_PARSE(app, argc, argv);
  if (!o.write.empty()) return WriteOne(o);
  Sender sender(o);
  sender.Run();
  fmt::print("{}\n", sender.Report());
  return 0;
}

}  // namespace
}  // namespace wherefore::bench

int main(int argc, char** argv) {
  return wherefore::bench::Main(argc, argv);
}
