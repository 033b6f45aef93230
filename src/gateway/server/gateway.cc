#include "gateway/server/gateway.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/log.h"
#include "gateway/graph/tail_sampler.h"
#include "gateway/profiling/waiting_profiles.h"
#include "journal/file.h"
#include "net/url.h"

namespace wherefore::gateway {
namespace {

constexpr int kGraceSeconds = 5;

// Whether a pyroscope receiver has no port of its own: it answers on the server's main port.
bool UsesMainPort(const ReceiverConfig& receiver, std::uint16_t main_port) {
  if (receiver.kind != ReceiverConfig::Kind::kPyroscope) return false;
  const PortConfig& port = *receiver.http;
  return !port.given || (port.port == main_port && IsLoopbackAddress(port.host));
}

// What certificates and keys say, so that a reload sees new ones in the same files.
std::string StampOf(std::initializer_list<std::string> files) {
  std::string all;
  for (const std::string& file : files) {
    if (file.empty()) continue;
    const auto content = journal::ReadWholeFile(file);
    all += fmt::format("{} {:x};", file, content ? Hash64(*content) : 0);
  }
  return all;
}

}  // namespace

Gateway::Gateway(GatewayOptions options)
    : options_(std::move(options)),
      main_inlet_("main"),
      exporters_([this](const ExporterConfig& config) { return MakeEnd(config); }) {}

Result<std::unique_ptr<Exporter>> Gateway::MakeEnd(const ExporterConfig& config) {
  if (!config.tail && !config.waits) return options_.make_exporter(config.options);
  MutexLock lock(mutex_);
  std::shared_ptr<Inlet>& inlet = tail_inlets_[config.id];
  if (!inlet) inlet = std::make_shared<Inlet>(config.id);
  if (config.waits) {
    return std::make_unique<WaitingProfiles>(config.id, config.conditional, config.options.queue,
                                             *options_.profiling, inlet);
  }
  return std::make_unique<TailSampler>(config.id, *config.tail, config.options.queue, inlet);
}

Gateway::~Gateway() {
  Stop(0);
}

std::vector<PortPlan> Gateway::PlanPorts(const GatewayConfig& config) const {
  std::vector<PortPlan> plans;
  if (!config.has_service) {
    for (const bool grpc : {false, true}) {
      PortPlan plan{.receiver = "otlp", .grpc = grpc, .addresses = options_.addresses};
      plan.settings.port = grpc ? options_.otlp_grpc_port : options_.otlp_http_port;
      plan.of_server = true;
      plans.push_back(std::move(plan));
    }
    return plans;
  }
  for (const auto& [id, receiver] : config.receivers) {
    if (UsesMainPort(receiver, options_.main_port)) continue;
    for (const bool grpc : {false, true}) {
      const auto& port = grpc ? receiver.grpc : receiver.http;
      if (!port) continue;
      plans.push_back(
          {.receiver = id,
           .kind = receiver.kind,
           .grpc = grpc,
           .addresses = AddressesOf(port->host),
           .settings = *port,
           .certificates = StampOf({port->tls_certificate, port->tls_key, port->tls_client_ca})});
    }
  }
  return plans;
}

void Gateway::AddWaits(const GatewayConfig& config,
                       std::map<std::string, ExporterConfig>& ends) const {
  if (options_.profiling == nullptr || options_.profiling->directory().empty()) return;
  std::shared_ptr<const ProfilingConditional> conditional;
  if (config.profiling && config.profiling->conditional) {
    conditional = std::make_shared<const ProfilingConditional>(*config.profiling->conditional);
  }
  for (const PipelineConfig& pipeline : config.pipelines) {
    if (pipeline.signal != formats::Signal::kProfiles) continue;
    for (const std::string& receiver : pipeline.receivers) {
      ExporterConfig wait{.id = WaitId(receiver), .waits = true, .conditional = conditional};
      wait.options.id = wait.id;
      wait.options.queue.directory =
          options_.profiling->directory() + "/queue/" + net::PercentEncode(wait.id);
      // Without it, only for what an earlier configuration left.
      if (!conditional && !std::filesystem::exists(wait.options.queue.directory)) continue;
      if (conditional) wait.canonical = fmt::format("wait {}", conditional->decision_wait_ns);
      ends.emplace(wait.id, std::move(wait));
    }
  }
}

std::string Gateway::MainReceiver(const GatewayConfig& config) const {
  if (!config.has_service) return "pyroscope";
  for (const auto& [id, receiver] : config.receivers) {
    if (UsesMainPort(receiver, options_.main_port)) return id;
  }
  return {};
}

Result<Gateway::PortChange> Gateway::OpenPorts(const std::vector<PortPlan>& plans,
                                               const Ports& open) {
  PortChange change;
  for (const PortPlan& plan : plans) {
    const auto same = std::ranges::find_if(open, [&](const auto& p) { return p->plan() == plan; });
    if (same != open.end()) {
      change.next.push_back(*same);
      continue;
    }
    for (const auto& port : open) {
      // Another receiver, or other settings, on the same port.
      if (!port->plan().SamePort(plan)) continue;
      port->Stop(kGraceSeconds);
      change.made_room.push_back(port);
    }
    auto port = std::make_shared<ReceiverPort>(plan, options_.ports,
                                               plan.of_server ? options_.methods : nullptr);
    if (const Result<> opened = port->Start(); !opened) {
      Undo(change);
      return opened.error();
    }
    change.started.push_back(port);
    change.next.push_back(std::move(port));
  }
  return change;
}

void Gateway::Undo(const PortChange& change) {
  for (const auto& port : change.started) port->Stop(0);
  for (const auto& port : change.made_room) {
    auto again = std::make_shared<ReceiverPort>(
        port->plan(), options_.ports, port->plan().of_server ? options_.methods : nullptr);
    if (const Result<> opened = again->Start(); !opened) {
      Log(LogLevel::kError, "a port could not be opened again",
          {{"receiver", port->plan().Name()}, {"error", opened.error().message()}});
      continue;
    }
    MutexLock lock(mutex_);
    again->inlet().Set(graph_);
    std::ranges::replace(ports_, port, again);
  }
}

Result<> Gateway::CheckAgainstServer(const GatewayConfig& config) const {
  if (config.UsesStore() && options_.store == nullptr) {
    return Error(Code::kInvalid,
                 "a pipeline now leads to the store, which was not opened: restart the server");
  }
  if (!config.has_service) return {};
  const auto is_pprof = [](const auto& receiver) {
    return receiver.second.kind == ReceiverConfig::Kind::kPprof;
  };
  if (!options_.scrape.jobs.empty() && std::ranges::none_of(config.receivers, is_pprof)) {
    return Error(Code::kInvalid, "--scrape needs a `pprof` receiver in a pipeline");
  }
  for (const PortPlan& plan : PlanPorts(config)) {
    if (plan.settings.port == 0 || plan.settings.port != options_.main_port) continue;
    return Error(Code::kInvalid,
                 fmt::format("receiver {} wants port {}, where the page and the API are: give it "
                             "another one, or move those with --http-port",
                             plan.receiver, plan.settings.port));
  }
  return {};
}

Result<> Gateway::Apply(GatewayConfig config) {
  if (!config.has_service) {
    GatewayConfig defaults = DefaultPipelines();
    config.receivers = std::move(defaults.receivers);
    config.exporters = std::move(defaults.exporters);
    config.pipelines = std::move(defaults.pipelines);
  }
  WHEREFORE_RETURN_IF_ERROR(CheckAgainstServer(config));
  Ports open;
  {
    MutexLock lock(mutex_);
    open = ports_;
  }
  WHEREFORE_ASSIGN_OR_RETURN(const PortChange change, OpenPorts(PlanPorts(config), open));
  const Ports& ports = change.next;
  std::map<std::string, ExporterConfig> ends = config.exporters;
  for (auto& [id, end] : ends) {
    const TlsOptions& tls = end.options.tls;
    end.canonical += StampOf({tls.ca_file, tls.certificate_file, tls.key_file});
  }
  ends.insert(config.tails.begin(), config.tails.end());
  AddWaits(config, ends);
  if (const Result<> updated = exporters_.Update(ends); !updated) {
    Undo(change);
    return updated.error();
  }
  if (options_.profiling != nullptr) options_.profiling->Apply(config.profiling);
  auto graph =
      std::make_shared<const Graph>(config, options_.store, exporters_, options_.profiling);
  SetGraph(config, graph, ports);
  UpdateScrapers(config, graph);
  {
    MutexLock lock(mutex_);
    ports_ = ports;
    graph_ = std::move(graph);
  }
  for (const auto& port : open) {
    if (std::ranges::find(ports, port) == ports.end()) port->Stop(kGraceSeconds);
  }
  exporters_.RemoveOthers(ends);
  return {};
}

void Gateway::SetGraph(const GatewayConfig& config, const std::shared_ptr<const Graph>& graph,
                       const Ports& ports) {
  for (const auto& port : ports) port->inlet().Set(graph);
  main_inlet_.Set(graph, MainReceiver(config));
  MutexLock lock(mutex_);
  for (const auto& [id, inlet] : tail_inlets_) inlet->Set(graph);
}

void Gateway::UpdateScrapers(const GatewayConfig& config,
                             const std::shared_ptr<const Graph>& graph) {
  std::map<std::string, std::pair<std::string, ScrapeConfig>> wanted;
  for (const auto& [id, receiver] : config.receivers) {
    if (receiver.kind != ReceiverConfig::Kind::kPprof) continue;
    wanted[id] = {receiver.canonical, receiver.scrape};
  }
  // The jobs of --scrape belong to the first of them.
  if (!wanted.empty()) {
    auto& jobs = wanted.begin()->second.second.jobs;
    jobs.insert(jobs.end(), options_.scrape.jobs.begin(), options_.scrape.jobs.end());
  }
  std::erase_if(wanted, [](const auto& entry) { return entry.second.second.jobs.empty(); });
  Scrapers next;
  Scrapers old;
  {
    MutexLock lock(mutex_);
    old.swap(scrapers_);
  }
  for (auto& [id, what] : wanted) {
    Scraping& scraping = next[id];
    if (const auto there = old.find(id);
        there != old.end() && there->second.canonical == what.first) {
      scraping = there->second;
      old.erase(there);
      scraping.inlet->Set(graph);
      continue;
    }
    scraping.canonical = what.first;
    scraping.inlet = std::make_shared<Inlet>(id);
    scraping.inlet->Set(graph);
    scraping.scraper = std::make_shared<Scraper>(
        Intake(*scraping.inlet, options_.ports.metrics, id), std::move(what.second));
    scraping.scraper->Start();
  }
  for (auto& [id, scraping] : old) scraping.scraper->Stop();
  MutexLock lock(mutex_);
  scrapers_ = std::move(next);
}

void Gateway::Stop(int grace_seconds) {
  Ports ports;
  Scrapers scrapers;
  {
    MutexLock lock(mutex_);
    ports.swap(ports_);
    scrapers.swap(scrapers_);
  }
  for (auto& [id, scraping] : scrapers) scraping.scraper->Stop();
  for (const auto& port : ports) port->Stop(grace_seconds);
}

std::uint16_t Gateway::otlp_port(bool grpc) const {
  MutexLock lock(mutex_);
  for (const auto& port : ports_) {
    if (port->plan().kind == ReceiverConfig::Kind::kOtlp && port->plan().grpc == grpc) {
      return port->port();
    }
  }
  return 0;
}

std::vector<Gateway::PortAddress> Gateway::addresses() const {
  MutexLock lock(mutex_);
  std::vector<PortAddress> all;
  for (const auto& port : ports_) {
    all.push_back({port->plan().receiver, port->plan().grpc, port->Address()});
  }
  return all;
}

std::vector<Status> Gateway::status() const {
  std::vector<Status> all;
  std::shared_ptr<const Graph> graph;
  Ports ports;
  Scrapers scrapers;
  {
    MutexLock lock(mutex_);
    graph = graph_;
    ports = ports_;
    scrapers = scrapers_;
  }
  Status receivers;
  receivers.part = "receivers";
  for (const auto& port : ports) {
    receivers.facts.emplace_back(port->plan().Name(), port->Description());
  }
  // Without pipelines there is nothing to say that every server would not.
  const bool of_server =
      std::ranges::any_of(ports, [](const auto& port) { return port->plan().of_server; });
  if (!of_server) all.push_back(std::move(receivers));
  if (graph && !of_server) all.push_back(graph->status());
  if (options_.profiling != nullptr) {
    for (Status& one : options_.profiling->status()) all.push_back(std::move(one));
  }
  for (Status& exporter : exporters_.status()) all.push_back(std::move(exporter));
  for (const auto& [id, scraping] : scrapers) all.push_back(scraping.scraper->status());
  return all;
}

}  // namespace wherefore::gateway
