// `serve`: gateway, store, query and api in one process.
//
// Threads: main waits for signals; IoThreads run HTTP; gRPC has its own; Workers answer queries and
// decode large bodies, with separate threads for each kind of work; the store has a writer, an
// inserter and an upkeep thread; the scraper has one, and one per target; exporters have theirs.
// Shutdown follows the data: stop scraping and receiving, finish running requests, stop the
// exporters (what they have not sent stays queued), flush the store, close.
#include <malloc.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/adhoc.h"
#include "api/api.h"
#include "api/jaeger.h"
#include "api/pyroscope.h"
#include "api/storeless.h"
#include "base/log.h"
#include "base/memory_budget.h"
#include "base/metrics.h"
#include "cli/alert_sender.h"
#include "cli/backup_root.h"
#include "cli/command.h"
#include "cli/redacted_names.h"
#include "cli/self_profile.h"
#include "cli/serve_addresses.h"
#include "cli/serve_memory.h"
#include "cli/serve_options.h"
#include "cli/side_ports.h"
#include "cli/version.h"
#include "gateway/otlp_receiver.h"
#include "gateway/pyroscope_receiver.h"
#include "gateway/server/gateway.h"
#include "insight/alerts/alerts.h"
#include "insight/regressions/watch.h"
#include "insight/rules.h"
#include "net/connection_limit.h"
#include "net/grpc.h"
#include "net/http.h"
#include "net/tenant.h"
#include "net/unary.h"
#include "net/unread_answers.h"
#include "net/worker_pool.h"
#include "query/catalog.h"
#include "query/context.h"
#include "query/delete_request.h"
#include "store/store.h"
#include "symbols/symbolizer.h"

namespace wherefore::cli {
namespace {

// All parts of a running server, in the order of the data path.
class Server {
 public:
  Server(ServeOptions options, Limits limits) : options_(std::move(options)), limits_(limits) {}

  Result<> Start(gateway::GatewayConfig config) {
    const bool uses_store = config.UsesStore();
    WHEREFORE_ASSIGN_OR_RETURN(rules_, insight::LoadRules(options_.rules));
    if (uses_store) {
      WHEREFORE_RETURN_IF_ERROR(OpenStore());
    } else {
      WHEREFORE_RETURN_IF_ERROR(MakeDataDirectory());
    }
    auto everything = std::make_shared<net::Router>();
    auto grpc = std::make_shared<net::GrpcRouter>();
    WHEREFORE_RETURN_IF_ERROR(MakeGateway(*everything, grpc));
    if (uses_store) {
      WHEREFORE_RETURN_IF_ERROR(MakeAlerts());
      MakeRegressions();
      AddQueries(*everything, *grpc);
    } else {
      api::AddStorelessRoutes(*everything, MakeOperations());
    }
    net::HttpServerOptions main = HttpOptions(options_.http_port);
    main.grpc = std::make_shared<net::GrpcServer>(io_, GrpcOptions(),
                                                  net::Routed(grpc, receiver_->grpc_handler()));
    http_ = std::make_unique<net::HttpServer>(io_, std::move(main), everything);
    WHEREFORE_RETURN_IF_ERROR(http_->Start());
    WHEREFORE_RETURN_IF_ERROR(side_ports_.ServeOpamp(*profiling_, options_.opamp_port));
    WHEREFORE_RETURN_IF_ERROR(Use(std::move(config)));
    AddMemoryMetrics();
    if (alerts_) WHEREFORE_RETURN_IF_ERROR(alerts_->Start());
    if (regressions_) regressions_->Start();
    if (options_.profile_self) WHEREFORE_RETURN_IF_ERROR(ProfileSelf());
    PrintAddresses(Shown(), options_.data);
    return {};
  }

  // Reads the configuration again and goes over to it. A broken one changes nothing.
  Result<> Reload() {
    MutexLock lock(reload_mutex_);
    if (stopping_) return Error(Code::kUnavailable, "the server is stopping");
    Result<> done = [&]() -> Result<> {
      WHEREFORE_ASSIGN_OR_RETURN(gateway::GatewayConfig config, LoadPipelines(options_));
      return Use(std::move(config));
    }();
    if (done) {
      Log(LogLevel::kInfo, "the configuration was loaded again");
    } else {
      Log(LogLevel::kError, "the configuration could not be loaded again; the old one stays",
          {{"error", done.error().message()}});
    }
    return done;
  }

  void Stop() {
    constexpr int kGraceSeconds = 5;
    {
      MutexLock lock(reload_mutex_);  // a reload that has begun ends first
      stopping_ = true;
    }
    self_profile_.Stop();
    if (alerts_) alerts_->Stop();
    if (regressions_) regressions_->Stop();
    if (own_otlp_) own_otlp_->Stop(kGraceSeconds);
    side_ports_.Stop();
    if (gateway_) gateway_->Stop(kGraceSeconds);
    if (http_) http_->Stop(kGraceSeconds);
    if (gateway_) gateway_->StopExporters();
    if (store_) {
      if (const Result<> flushed = store_->Flush(); !flushed) {
        Log(LogLevel::kWarn, "the last rows stay in the log and are inserted at the next start",
            {{"error", flushed.error().message()}});
      }
    }
    RemoveAddresses(options_.data);
  }

 private:
  Result<> OpenStore() {
    store::StoreOptions store_options{.directory = options_.data,
                                      .keep_payload = options_.keep_payload};
    store_options.query_timeout_ns = limits_.query_timeout_ns;
    DivideMemory(store_options, limits_);
    store_options.retention = limits_.retention;
    store_options.roll_waits = {
        .after_ns = limits_.hours_wait_ns,
        .again_ns = limits_.hours_wait_ns,
        .every_ns = std::min(limits_.hours_wait_ns, store_options.roll_waits.every_ns)};
    store_options.flush_interval_ns = limits_.flush_interval_ns;
    WHEREFORE_ASSIGN_OR_RETURN(store_, store::Store::Open(store_options));
    if (!options_.backup_root.empty()) {
      WHEREFORE_ASSIGN_OR_RETURN(backup_root_,
                                 BackupRoot::Open(options_.backup_root, options_.data));
    }
    if (!options_.no_symbols) {
      symbolizer_ = std::make_unique<symbols::Symbolizer>(symbols::SymbolizerOptions{
          .search_path = options_.symbol_path,
          .worker = {"/proc/self/exe", kSymbolsWorker},
          .edit = [this](symbols::ResolvedFrame& frame) { redacted_names_.Edit(frame); }});
    }
    context_ = std::make_unique<query::QueryContext>(store_->reader(), symbolizer_.get(),
                                                     limits_.query_cache_bytes);
    return {};
  }

  // They are judged once the port is known: links name it.
  Result<> MakeAlerts() {
    WHEREFORE_ASSIGN_OR_RETURN(insight::SendAlerts send, MakeAlertSender());
    insight::AlertOptions options{.file = options_.alerts, .send = std::move(send)};
    options.external_url = [this] { return PageUrl(Shown()); };
    options.log = [this](std::span<const store::AlertEvent> events) {
      return store_->WriteAlertEvents(events);
    };
    options.catch_up = [this](const CancelToken& cancel) { return store_->CatchUp(cancel); };
    options.query_memory_bytes = limits_.query_memory_bytes;
    options.evidence = MakeEvidence();
    alerts_ = std::make_unique<insight::Alerts>(*context_, std::move(options));
    return alerts_->Load();
  }

  insight::Evidence MakeEvidence() {
    return {[this](store::Pin pin) { return store_->SetPin(std::move(pin)); }, limits_.evidence_ns};
  }

  void MakeRegressions() {
    insight::RegressionOptions options;
    options.log = [this](std::span<const store::RegressionEvent> events) {
      return store_->WriteRegressionEvents(events);
    };
    options.catch_up = [this](const CancelToken& cancel) { return store_->CatchUp(cancel); };
    options.busy = [this] { return workers_.of(net::WorkKind::kHeavy).IsBusy(); };
    options.query_memory_bytes = limits_.query_memory_bytes;
    options.share = options_.regressions_budget / 100;
    options.evidence = MakeEvidence();
    regressions_ = std::make_unique<insight::Regressions>(*context_, std::move(options));
  }

  // For queues and addresses.json; with a store, the store makes it.
  Result<> MakeDataDirectory() const {
    std::error_code error;
    std::filesystem::create_directories(options_.data, error);
    if (error) return Error(Code::kIo, fmt::format("{}: {}", options_.data, error.message()));
    return {};
  }

  // The receivers and pipelines, and the main port's routes into them.
  Result<> MakeGateway(net::Router& router, const std::shared_ptr<net::GrpcRouter>& grpc) {
    gateway::GatewayOptions options;
    options.ports = {.io = &io_,
                     .http_options = [this] { return HttpOptions(0); },
                     .grpc_options = [this] { return GrpcOptions(); },
                     .metrics = metrics_,
                     .tenants = options_.tenants,
                     .profiling = &profiling_.emplace(gateway::Profiling::Options{
                         .directory = options_.data,
                         .tenants = options_.tenants,
                         .load = {},
                         .store_queue = [this] { return store_ ? store_->QueueShare() : 0.0; }})};
    options.store = store_.get();
    options.make_exporter = gateway::MakeExporter;
    options.addresses = Addresses();
    options.otlp_grpc_port = options_.otlp_grpc_port;
    options.otlp_http_port = options_.otlp_http_port;
    options.methods = grpc;
    options.main_port = options_.http_port;
    options.profiling = options.ports.profiling;
    profiling_->AddApiRoutes(router);
    profiling_->AddOpampRoutes(router);
    WHEREFORE_ASSIGN_OR_RETURN(options.scrape, ReadScrape());
    gateway_ = std::make_unique<gateway::Gateway>(std::move(options));
    receiver_ = std::make_unique<gateway::OtlpReceiver>(
        gateway::Intake(gateway_->main_inlet(), metrics_, "main"),
        gateway::OtlpReceiver::Options{.tenants = options_.tenants});
    pyroscope_ = std::make_unique<gateway::PyroscopeReceiver>(
        gateway::Intake(gateway_->main_inlet(), metrics_, "main"),
        gateway::PyroscopeReceiver::Options{.tenants = options_.tenants});
    receiver_->AddRoutes(router);
    pyroscope_->AddRoutes(router, *grpc);
    router.Add("POST", "/-/reload", [this](const net::HttpRequest&, const net::Respond& respond) {
      const bool taken = workers_.of(net::WorkKind::kUpkeep).Submit([this, respond] {
        const Result<> done = Reload();
        respond(done ? net::HttpResponse{.body = "{}"} : net::JsonError(done.error()));
      });
      if (!taken) respond(net::JsonError(Error(Code::kUnavailable, "busy; ask again")));
    });
    return {};
  }

  void AddQueries(net::Router& router, net::GrpcRouter& grpc) {
    api_ = std::make_unique<api::Api>(*context_, workers_, MakeOperations());
    pyroscope_api_ = std::make_unique<api::PyroscopeApi>(*context_, workers_, MakeOperations());
    adhoc_ = std::make_unique<api::AdHocApi>(workers_, MakeOperations());
    jaeger_ = std::make_unique<api::JaegerApi>(*context_, workers_, MakeOperations());
    api_->AddRoutes(router);
    jaeger_->AddRoutes(router);
    pyroscope_api_->AddRoutes(router, grpc);
    adhoc_->AddRoutes(router, grpc);
  }

  // Goes over to a configuration; on failure the old one stays.
  Result<> Use(gateway::GatewayConfig config) {
    const auto level = config.log_level;
    auto rules = gateway::RulesBeforeStore(config);
    const auto health = config.health_check;
    WHEREFORE_RETURN_IF_ERROR(gateway_->Apply(std::move(config)));
    if (level) SetLogLevel(*level);
    redacted_names_.Set(std::move(rules));
    WHEREFORE_RETURN_IF_ERROR(side_ports_.ServeHealth(health));
    WriteAddresses(Shown(), options_.data);
    return {};
  }

  [[nodiscard]] std::string NotReadyReason() const {
    return store_ ? store_->NotReadyReason() : std::string();
  }

  [[nodiscard]] ShownAddresses Shown() const {
    return {.host = options_.listen,
            .tls = !options_.tls_certificate.empty(),
            .http_port = http_->port(),
            .opamp_port = side_ports_.opamp_port(),
            .receivers = gateway_->addresses()};
  }

  [[nodiscard]] Result<gateway::ScrapeConfig> ReadScrape() const {
    gateway::ScrapeConfig config;
    if (!options_.scrape_config.empty()) {
      WHEREFORE_ASSIGN_OR_RETURN(config, gateway::ReadScrapeConfig(options_.scrape_config));
    }
    for (const std::string& target : options_.scrape) {
      WHEREFORE_ASSIGN_OR_RETURN(gateway::ScrapeJob job, gateway::ParseScrapeTarget(target));
      config.jobs.push_back(std::move(job));
    }
    return config;
  }
  [[nodiscard]] std::vector<std::string> Addresses() const {
    return options_.listen.empty() ? std::vector<std::string>{"127.0.0.1", "::1"}
                                   : std::vector<std::string>{options_.listen};
  }
  [[nodiscard]] net::HttpServerOptions HttpOptions(std::uint16_t port) {
    net::HttpServerOptions o;
    o.addresses = Addresses();
    o.port = port;
    o.connections = connections_;
    o.unread_answers = unread_answers_;
    o.large_bodies = &workers_.of(net::WorkKind::kBody);
    o.allowed_hosts = options_.allowed_hosts;
    o.tls_certificate_file = options_.tls_certificate;
    o.tls_key_file = options_.tls_key;
    o.bearer_token = options_.token;
    return o;
  }
  [[nodiscard]] net::GrpcServerOptions GrpcOptions() {
    net::GrpcServerOptions o;
    o.connections = connections_;
    o.unread_answers = unread_answers_;
    o.large_bodies = &workers_.of(net::WorkKind::kBody);
    o.tls_certificate_file = options_.tls_certificate;
    o.tls_key_file = options_.tls_key;
    o.bearer_token = options_.token;
    return o;
  }

  // Through a port of its own, which is plain and on loopback whatever the others are, and straight
  // into the store.
  Result<> ProfileSelf() {
    if (!store_) {
      return Error(Code::kInvalid, "--profile-self: no pipeline leads to the store");
    }
    self_receiver_ = std::make_unique<gateway::OtlpReceiver>(gateway::Intake(*store_, metrics_),
                                                             gateway::OtlpReceiver::Options{});
    auto router = std::make_shared<net::Router>();
    self_receiver_->AddRoutes(*router);
    net::HttpServerOptions own = HttpOptions(0);
    own.addresses = {"127.0.0.1"};
    own.tls_certificate_file.clear();
    own.tls_key_file.clear();
    own_otlp_ = std::make_unique<net::HttpServer>(io_, own, router);
    WHEREFORE_RETURN_IF_ERROR(own_otlp_->Start());
    return self_profile_.Start(own_otlp_->port(), options_.token);
  }

  // The number of the tenant a query names.
  Result<std::uint32_t> NumberOf(std::string_view name) {
    const profile::Tenant tenant(name);
    if (store_) WHEREFORE_RETURN_IF_ERROR(store_->CheckTenant(tenant));
    return tenant.number;
  }

  Result<api::SqlAnswered> AnswerSql(const api::SqlAsked& asked, const CancelToken& cancel) {
    store::SqlQuestion question{.statement = asked.statement,
                                .tenant = asked.tenant,
                                .range = asked.range,
                                .most_rows = asked.most_rows};
    if (asked.form == api::SqlForm::kCsv) question.format = store::SqlFormat::kCsv;
    if (asked.form == api::SqlForm::kParquet) question.format = store::SqlFormat::kParquet;
    WHEREFORE_ASSIGN_OR_RETURN(store::SqlAnswer answer, store_->Ask(question, cancel));
    return api::SqlAnswered{.body = std::move(answer.body), .cut = answer.cut};
  }

  void AddPinOperations(api::Operations& operations) {
    const auto shown = [](store::Pin pin) {
      return api::PinnedWindow{.id = std::move(pin.id),
                               .service = std::move(pin.service),
                               .range = pin.range,
                               .why = std::move(pin.why),
                               .time_ns = pin.time_ns,
                               .until_ns = pin.until_ns};
    };
    operations.pins = [this,
                       shown](std::uint32_t tenant) -> Result<std::vector<api::PinnedWindow>> {
      WHEREFORE_ASSIGN_OR_RETURN(auto pins, store_->Pins(tenant));
      std::vector<api::PinnedWindow> windows;
      for (store::Pin& pin : pins) windows.push_back(shown(std::move(pin)));
      return windows;
    };
    operations.set_pin = [this, shown](std::uint32_t tenant,
                                       api::PinnedWindow pin) -> Result<api::PinnedWindow> {
      WHEREFORE_ASSIGN_OR_RETURN(store::Pin set, store_->SetPin({.tenant = tenant,
                                                                 .id = {},
                                                                 .service = std::move(pin.service),
                                                                 .range = pin.range,
                                                                 .why = std::move(pin.why)}));
      return shown(std::move(set));
    };
    operations.remove_pin = [this](std::uint32_t tenant, const std::string& id) {
      return store_->RemovePin(tenant, id);
    };
    operations.kept = [this](std::uint32_t tenant) -> Result<std::vector<api::KeptDay>> {
      WHEREFORE_ASSIGN_OR_RETURN(const auto kept, store_->Kept(tenant));
      std::vector<api::KeptDay> days;
      for (const store::KeptBucket& bucket : kept) {
        days.push_back({.kind = std::string(bucket.kind),
                        .day = store::BucketName(bucket.bucket),
                        .bytes = bucket.bytes,
                        .rows = bucket.rows,
                        .goes_ns = bucket.goes_ns,
                        .pinned = bucket.pinned});
      }
      return days;
    };
  }

  api::Operations MakeOperations() {
    api::Operations operations;
    operations.version = kVersion;
    operations.query_memory_bytes = limits_.query_memory_bytes;
    operations.query_timeout_ns = limits_.query_timeout_ns;
    operations.connections = limits_.connections;
    operations.source_roots = options_.source_roots;
    operations.repository_template = options_.repository_template;
    operations.retention_ns = limits_.retention.usual.Of(store::Kind::kSamples);
    operations.rules = rules_;
    operations.alerts = alerts_.get();
    operations.regressions = regressions_.get();
    operations.ports = [this] {
      return api::Operations::Ports{.otlp_grpc = gateway_->otlp_port(true),
                                    .otlp_http = gateway_->otlp_port(false)};
    };
    operations.flush = [this] { return store_->Flush(); };
    operations.catch_up = [this](const CancelToken& cancel) { return store_->CatchUp(cancel); };
    operations.backup = [this](const std::string& target) -> Result<api::BackupSummary> {
      WHEREFORE_ASSIGN_OR_RETURN(std::string folder, backup_root_.Resolve(target));
      WHEREFORE_ASSIGN_OR_RETURN(std::string summary, store_->Backup(folder));
      return api::BackupSummary{.folder = std::move(folder), .summary = std::move(summary)};
    };
    operations.repair = [this](bool really) {
      auto steps = store_->Repair(really);
      if (really) context_->Forget();
      return steps;
    };
    operations.status = [this](std::uint32_t tenant) {
      std::vector<Status> all{metrics_->Report()};
      if (store_) all.push_back(store_->status(tenant));
      // What rules and receivers there are is everybody's.
      if (alerts_ && tenant == profile::Tenant().number) all.push_back(alerts_->status());
      if (regressions_ && tenant == profile::Tenant().number) all.push_back(regressions_->status());
      if (symbolizer_) all.push_back(symbolizer_->status());
      // Pipelines and scraped targets are everybody's, so only who keeps no tenants sees them.
      if (tenant == profile::Tenant().number)
        std::ranges::move(gateway_->status(), std::back_inserter(all));
      return all;
    };
    operations.tenant_of = [this](const net::HttpRequest& request) -> Result<std::uint32_t> {
      return NumberOf(options_.tenants ? request.Header(net::kTenantHeader) : std::string_view());
    };
    operations.require_tenant = [this](const net::Headers& headers) -> Result<std::uint32_t> {
      WHEREFORE_ASSIGN_OR_RETURN(const std::string_view name,
                                 net::RequireTenant(headers, options_.tenants));
      return NumberOf(name);
    };
    if (options_.no_sql) {
      operations.why_no_sql = "SQL is switched off on this server (serve --no-sql)";
    } else if (options_.tenants) {
      operations.why_no_sql =
          "SQL is not answered by a server that keeps tenants apart (--tenants)";
    } else {
      operations.sql = [this](const api::SqlAsked& asked, const CancelToken& cancel) {
        return AnswerSql(asked, cancel);
      };
    }
    operations.not_ready_reason = [this] { return NotReadyReason(); };
    AddPinOperations(operations);
    operations.incomplete = [this](std::uint32_t tenant, const store::TimeRange& range) {
      std::vector<std::string> damaged;
      for (const store::DamagedData& data : store_->Damaged()) {
        if (data.range.from_ns >= range.to_ns || data.range.to_ns <= range.from_ns) continue;
        damaged.push_back(data.For(tenant));
      }
      return fmt::format("{}", fmt::join(damaged, "; "));
    };
    operations.remove = [this](const query::Selection& selection,
                               bool whole_hours) -> Result<api::DeleteSummary> {
      (void)store_->Flush();  // for the names; deleting must work on a full disk
      WHEREFORE_ASSIGN_OR_RETURN(store::DeleteRequest request,
                                 query::ResolveDelete(*context_, selection, CancelToken()));
      request.whole_hours = whole_hours;
      WHEREFORE_ASSIGN_OR_RETURN(const store::DeleteResult done, store_->Delete(request));
      context_->Forget();
      return api::DeleteSummary{
          .samples = done.samples, .profiles = done.profiles, .spans = done.spans};
    };
    return operations;
  }

  ServeOptions options_;
  std::vector<insight::Rule> rules_;
  Limits limits_;
  BackupRoot backup_root_;
  net::IoThreads io_{2};
  std::shared_ptr<net::ConnectionLimit> connections_ =
      std::make_shared<net::ConnectionLimit>(limits_.connections);
  std::shared_ptr<net::UnreadAnswers> unread_answers_ = std::make_shared<net::UnreadAnswers>(
      std::min(kMaxUnread, MemoryBudget::Process().shares().work / 4));
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<symbols::Symbolizer> symbolizer_;
  std::unique_ptr<query::QueryContext> context_;
  std::unique_ptr<insight::Alerts> alerts_;
  std::unique_ptr<insight::Regressions> regressions_;
  std::shared_ptr<gateway::ReceiverMetrics> metrics_ = std::make_shared<gateway::ReceiverMetrics>();
  RedactedNames redacted_names_;
  std::optional<gateway::Profiling> profiling_;
  std::unique_ptr<gateway::Gateway> gateway_;
  std::unique_ptr<gateway::OtlpReceiver> receiver_;        // of the main port
  std::unique_ptr<gateway::PyroscopeReceiver> pyroscope_;  // of the main port
  std::unique_ptr<gateway::OtlpReceiver> self_receiver_;   // with --profile-self
  std::unique_ptr<api::Api> api_;
  std::unique_ptr<api::PyroscopeApi> pyroscope_api_;
  std::unique_ptr<api::AdHocApi> adhoc_;
  std::unique_ptr<api::JaegerApi> jaeger_;
  std::unique_ptr<net::HttpServer> http_;
  SidePorts side_ports_{io_, [this](std::uint16_t port) { return HttpOptions(port); },
                        [this] { return NotReadyReason(); }};
  std::unique_ptr<net::HttpServer> own_otlp_;  // with --profile-self
  Mutex reload_mutex_;                         // one reload at a time
  bool stopping_ GUARDED_BY(reload_mutex_) = false;
  SelfProfile self_profile_;
  // Last, so that they are destroyed first: what they run uses everything above.
  net::Workers workers_;
};

// Waits for SIGINT or SIGTERM; SIGHUP loads the configuration again.
int WaitForStop(const sigset_t& signals, Server& server) {
  constexpr timespec kTidyInterval{.tv_sec = 5, .tv_nsec = 0};
  while (true) {
    const int signal_number = sigtimedwait(&signals, nullptr, &kTidyInterval);
    if (signal_number < 0) {
      ReturnFreeMemory();
    } else if (signal_number == SIGHUP) {
      (void)server.Reload();  // logs what is wrong
    } else {
      return signal_number;
    }
  }
}

int Serve(ServeOptions options) {
  if (const Result<> valid = options.Validate(); !valid) return Fail(valid.error());
  static const std::map<std::string, LogLevel> kLevels = {{"debug", LogLevel::kDebug},
                                                          {"info", LogLevel::kInfo},
                                                          {"warn", LogLevel::kWarn},
                                                          {"error", LogLevel::kError}};
  SetLogLevel(kLevels.at(options.log_level));
  const Result<Limits> limits = options.limits.Read();
  if (!limits) return Fail(limits.error());
  Result<gateway::GatewayConfig> config = LoadPipelines(options);
  if (!config) return Fail(config.error());
  // Blocked before any thread starts, so that only this thread receives them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  umask(kPrivateMask);

  MemoryBudget::Process().SetLimit(limits->memory_bytes);
  KeepFreeMemorySmall(limits->memory_bytes);
  MemoryBudget::Process().SetReclaim([] { malloc_trim(0); });
  Server server(std::move(options), *limits);
  if (const Result<> started = server.Start(*std::move(config)); !started) {
    server.Stop();
    return Fail(started.error()) == kUsage ? kUsage : kFailed;
  }
  Log(LogLevel::kInfo, "serving");
  const int signal_number = WaitForStop(signals, server);
  Log(LogLevel::kInfo, "stopping", {{"signal", signal_number}});
  server.Stop();
  Log(LogLevel::kInfo, "stopped");
  return kFine;
}

}  // namespace

void AddServe(CLI::App& app, Context& context) {
  CLI::App* command = NewCommand(
      app, "serve", "Run the server: receive, store and query profiles and traces",
      {"wherefore serve", "wherefore serve --data /var/lib/wherefore --retention 30d",
       "wherefore serve --retention spans=3d,links=7d,samples=30d,hours=400d",
       "wherefore serve --scrape shop=http://localhost:6060   # a Go program's net/http/pprof",
       "wherefore serve --listen 0.0.0.0 --token-file /etc/wherefore/token",
       "wherefore serve --config wherefore.toml   # option names as keys: retention = \"7d\"",
       "wherefore serve --config collector.yaml   # receivers, processors, exporters, pipelines"});
  auto o = std::make_shared<ServeOptions>();
  o->AddTo(*command);
  command->callback([&context, command, o] {
    context.run = [&context, command, o]() -> int {
      if (const Result<> read = ReadServeFiles(*command, context.token, *o); !read)
        return Fail(read.error());
      return Serve(*o);
    };
  });
}

}  // namespace wherefore::cli
