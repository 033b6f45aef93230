// `serve`: gateway, store, query and api in one process.
//
// Threads: main waits for signals; IoThreads run HTTP; gRPC has its own; Workers answer queries and
// decode large bodies, with separate threads for each kind of work; the store has a writer, an
// inserter and an upkeep thread; the scraper has one, and one per target. Shutdown follows the
// data: stop scraping and receiving, finish running requests, flush the store, close.
#include <malloc.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/adhoc.h"
#include "api/api.h"
#include "api/jaeger.h"
#include "api/pyroscope.h"
#include "base/ascii.h"
#include "base/log.h"
#include "base/memory_budget.h"
#include "base/metrics.h"
#include "base/text.h"
#include "cli/backup_root.h"
#include "cli/command.h"
#include "cli/self_profile.h"
#include "cli/serve_limits.h"
#include "cli/token.h"
#include "cli/version.h"
#include "gateway/otlp_receiver.h"
#include "gateway/pyroscope_receiver.h"
#include "gateway/scraper.h"
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

struct ServeOptions {
  std::string data = "data";
  std::string store = "embedded";
  std::string listen;
  std::uint16_t http_port = 4040;
  std::uint16_t otlp_grpc_port = 4317;
  std::uint16_t otlp_http_port = 4318;
  LimitOptions limits;
  std::string backup_root;
  std::vector<std::string> scrape;
  std::string scrape_config;
  bool tenants = false;
  bool keep_payload = false;
  std::vector<std::string> symbol_path;
  bool no_symbols = false;
  std::string token;
  std::string token_file;
  bool no_token = false;
  std::string tls_certificate;
  std::string tls_key;
  std::vector<std::string> allowed_hosts;
  std::vector<std::string> source_roots;
  std::string repository_template;
  bool profile_self = false;
  std::string log_level = "info";
};

bool IsLoopback(const std::string& address) {
  return address.empty() || address == "localhost" || address == "::1" ||
         address.starts_with("127.");
}

Result<> Validate(const ServeOptions& o) {
  if (o.store != "embedded") {
    return Error(Code::kInvalid, fmt::format("--store {}: only 'embedded' is supported", o.store));
  }
  if (!IsLoopback(o.listen) && o.token.empty() && !o.no_token) {
    return Error(Code::kInvalid,
                 fmt::format("--listen {} lets other machines in: give --token-file FILE (or "
                             "WHEREFORE_TOKEN), or --no-token",
                             o.listen));
  }
  if (!o.repository_template.empty() && !o.repository_template.starts_with("https://") &&
      !o.repository_template.starts_with("http://")) {
    return Error(Code::kInvalid,
                 fmt::format("--repository-template {}: expected an http(s) address such as "
                             "https://host/{{service}}/blob/{{version}}/{{path}}#L{{line}}",
                             o.repository_template));
  }
  if (o.tls_certificate.empty() != o.tls_key.empty()) {
    return Error(Code::kInvalid, "--tls-certificate and --tls-key go together");
  }
  return {};
}

// All parts of a running server, in the order of the data path.
class Server {
 public:
  Server(ServeOptions options, Limits limits) : options_(std::move(options)), limits_(limits) {}

  Result<> Start() {
    store::StoreOptions store_options{.directory = options_.data,
                                      .keep_payload = options_.keep_payload};
    store_options.query_timeout_ns = limits_.query_timeout_ns;
    DivideMemoryOf(store_options);
    store_options.retention_ns = limits_.retention_ns;
    store_options.flush_interval_ns = limits_.flush_interval_ns;
    WHEREFORE_ASSIGN_OR_RETURN(store_, store::Store::Open(store_options));
    if (!options_.backup_root.empty()) {
      WHEREFORE_ASSIGN_OR_RETURN(backup_root_,
                                 BackupRoot::Open(options_.backup_root, options_.data));
    }
    if (!options_.no_symbols) {
      symbolizer_ = std::make_unique<symbols::Symbolizer>(symbols::SymbolizerOptions{
          .search_path = options_.symbol_path, .worker = {"/proc/self/exe", kSymbolsWorker}});
    }
    context_ =
        std::make_unique<query::QueryContext>(store_->reader(), symbolizer_.get(), CacheBytes());
    receiver_ = std::make_unique<gateway::OtlpReceiver>(
        gateway::Intake(*store_, metrics_),
        gateway::OtlpReceiver::Options{.tenants = options_.tenants});
    pyroscope_ = std::make_unique<gateway::PyroscopeReceiver>(
        gateway::Intake(*store_, metrics_),
        gateway::PyroscopeReceiver::Options{.tenants = options_.tenants});
    WHEREFORE_ASSIGN_OR_RETURN(gateway::ScrapeConfig scrape, ReadScrape());
    scraper_ =
        std::make_unique<gateway::Scraper>(gateway::Intake(*store_, metrics_), std::move(scrape));
    api_ = std::make_unique<api::Api>(*context_, workers_, MakeOperations());
    pyroscope_api_ = std::make_unique<api::PyroscopeApi>(*context_, workers_, MakeOperations());
    adhoc_ = std::make_unique<api::AdHocApi>(workers_, MakeOperations());
    jaeger_ = std::make_unique<api::JaegerApi>(*context_, workers_, MakeOperations());

    auto otlp = std::make_shared<net::Router>();
    receiver_->AddRoutes(*otlp);
    auto everything = std::make_shared<net::Router>();
    receiver_->AddRoutes(*everything);
    api_->AddRoutes(*everything);
    jaeger_->AddRoutes(*everything);
    auto grpc = std::make_shared<net::GrpcRouter>();
    grpc->SetFallback(receiver_->grpc_handler());
    pyroscope_->AddRoutes(*everything, *grpc);
    pyroscope_api_->AddRoutes(*everything, *grpc);
    adhoc_->AddRoutes(*everything, *grpc);
    http_ = std::make_unique<net::HttpServer>(io_, HttpOptions(options_.http_port), everything);
    otlp_http_ = std::make_unique<net::HttpServer>(io_, HttpOptions(options_.otlp_http_port), otlp);
    otlp_grpc_ = std::make_unique<net::GrpcServer>(
        io_, GrpcOptions(),
        [grpc](net::GrpcRequest request, std::function<void(net::GrpcResponse)> respond) {
          grpc->Handle(std::move(request), std::move(respond));
        });
    WHEREFORE_RETURN_IF_ERROR(http_->Start());
    WHEREFORE_RETURN_IF_ERROR(otlp_http_->Start());
    WHEREFORE_RETURN_IF_ERROR(otlp_grpc_->Start());
    Metrics::Global().SetCallback("wherefore_memory_resident_bytes", "Resident memory.", [] {
      return static_cast<double>(ReadProcessMemory().resident_bytes);
    });
    Metrics::Global().SetCallback("wherefore_memory_anonymous_bytes", "Anonymous memory.", [] {
      return static_cast<double>(ReadProcessMemory().anonymous_bytes);
    });
    AddBudgetMetrics();
    if (options_.profile_self) WHEREFORE_RETURN_IF_ERROR(ProfileSelf(otlp));
    scraper_->Start();
    return WriteAddresses();
  }

  void Stop() {
    constexpr int kGraceSeconds = 5;
    self_profile_.Stop();
    if (own_otlp_) own_otlp_->Stop(kGraceSeconds);
    if (scraper_) scraper_->Stop();
    if (otlp_grpc_) otlp_grpc_->Stop(kGraceSeconds);
    if (otlp_http_) otlp_http_->Stop(kGraceSeconds);
    if (http_) http_->Stop(kGraceSeconds);
    if (store_) {
      if (const Result<> flushed = store_->Flush(); !flushed) {
        Log(LogLevel::kWarn, "the last rows stay in the log and are inserted at the next start",
            {{"error", flushed.error().message()}});
      }
    }
    std::error_code ignored;
    std::filesystem::remove(std::filesystem::path(options_.data) / "addresses.json", ignored);
  }

 private:
  static void AddBudgetMetrics() {
    Metrics::Global().SetCallback("wherefore_memory_limit_bytes", "Memory the server may use.", [] {
      return static_cast<double>(MemoryBudget::Process().limit());
    });
    Metrics::Global().SetCallback(
        "wherefore_memory_held_bytes", "Memory held for requests, queries and names.",
        [] { return static_cast<double>(MemoryBudget::Process().held()); });
  }

  // Limit for answers that wait to be read; lower if there is little memory.
  static constexpr std::size_t kMaxUnread = std::size_t{1} << 30;

  // The defaults suit a large machine; on a small one each part gets less.
  void DivideMemoryOf(store::StoreOptions& o) {
    const MemoryShares shares = MemoryBudget::Process().shares();
    o.engine_bytes = std::min(o.engine_bytes, shares.engine);
    o.flush_bytes = std::min(o.flush_bytes, shares.work / 8);
    o.max_queued_bytes = std::min(o.max_queued_bytes, shares.work / 2);
    o.dictionary_bytes = std::min(o.dictionary_bytes, shares.work / 6);
    limits_.query_memory_bytes =
        std::min(limits_.query_memory_bytes, static_cast<std::int64_t>(o.engine_bytes / 10 * 6));
    o.query_memory_bytes = limits_.query_memory_bytes;
  }
  [[nodiscard]] static std::size_t CacheBytes() {
    return std::min<std::size_t>(128u << 20, MemoryBudget::Process().shares().work / 6);
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
    o.addresses = Addresses();
    o.port = options_.otlp_grpc_port;
    o.connections = connections_;
    o.unread_answers = unread_answers_;
    o.large_bodies = &workers_.of(net::WorkKind::kBody);
    o.tls_certificate_file = options_.tls_certificate;
    o.tls_key_file = options_.tls_key;
    o.bearer_token = options_.token;
    return o;
  }

  // Through a port of its own, which is plain and on loopback whatever the others are.
  Result<> ProfileSelf(const std::shared_ptr<net::Router>& otlp) {
    net::HttpServerOptions own = HttpOptions(0);
    own.addresses = {"127.0.0.1"};
    own.tls_certificate_file.clear();
    own.tls_key_file.clear();
    own_otlp_ = std::make_unique<net::HttpServer>(io_, own, otlp);
    WHEREFORE_RETURN_IF_ERROR(own_otlp_->Start());
    return self_profile_.Start(own_otlp_->port(), options_.token);
  }

  // The number of the tenant a query names.
  Result<std::uint32_t> NumberOf(std::string_view name) {
    const profile::Tenant tenant(name);
    WHEREFORE_RETURN_IF_ERROR(store_->CheckTenant(tenant));
    return tenant.number;
  }

  api::Operations MakeOperations() {
    api::Operations operations;
    operations.version = kVersion;
    operations.query_memory_bytes = limits_.query_memory_bytes;
    operations.query_timeout_ns = limits_.query_timeout_ns;
    operations.connections = limits_.connections;
    operations.source_roots = options_.source_roots;
    operations.repository_template = options_.repository_template;
    operations.retention_ns = limits_.retention_ns;
    operations.ports = [this] {
      return api::Operations::Ports{.otlp_grpc = otlp_grpc_->port(),
                                    .otlp_http = otlp_http_->port()};
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
      std::vector<Status> all{metrics_->Report(), store_->status(tenant)};
      if (symbolizer_) all.push_back(symbolizer_->status());
      // Scraped targets belong to the default tenant, so only that one sees them.
      const bool scrapes = !options_.scrape.empty() || !options_.scrape_config.empty();
      if (scrapes && tenant == profile::Tenant().number) {
        all.push_back(scraper_->status());
      }
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
    operations.not_ready_reason = [this] { return store_->NotReadyReason(); };
    operations.incomplete = [this](std::uint32_t tenant, const store::TimeRange& range) {
      std::vector<std::string> damaged;
      for (const store::DamagedData& data : store_->Damaged()) {
        if (data.range.from_ns >= range.to_ns || data.range.to_ns <= range.from_ns) continue;
        damaged.push_back(data.For(tenant));
      }
      return fmt::format("{}", fmt::join(damaged, "; "));
    };
    operations.remove = [this](const query::Selection& selection) -> Result<api::DeleteSummary> {
      (void)store_->Flush();  // for the names; deleting must work on a full disk
      WHEREFORE_ASSIGN_OR_RETURN(const store::DeleteRequest request,
                                 query::ResolveDelete(*context_, selection, CancelToken()));
      WHEREFORE_ASSIGN_OR_RETURN(const store::DeleteResult done, store_->Delete(request));
      context_->Forget();
      return api::DeleteSummary{
          .samples = done.samples, .profiles = done.profiles, .spans = done.spans};
    };
    return operations;
  }

  Result<> WriteAddresses() const {
    const std::string host = options_.listen.empty() ? "127.0.0.1" : options_.listen;
    const std::string shown = host.find(':') != std::string::npos ? "[" + host + "]" : host;
    const char* scheme = options_.tls_certificate.empty() ? "http" : "https";
    const std::string json = fmt::format(
        "{{\"pid\":{},\"http\":\"{}://{}:{}\",\"otlp_http\":\"{}://"
        "{}:{}\",\"otlp_grpc\":\"{}:{}\"}}\n",
        getpid(), scheme, shown, http_->port(), scheme, shown, otlp_http_->port(), shown,
        otlp_grpc_->port());
    const std::filesystem::path path = std::filesystem::path(options_.data) / "addresses.json";
    // A reader must never see half a file.
    const std::filesystem::path part = path.string() + ".part";
    std::error_code error = std::make_error_code(std::errc::no_space_on_device);
    if (std::ofstream(part) << json << std::flush) {
      std::filesystem::rename(part, path, error);
    } else {
      std::error_code ignored;
      std::filesystem::remove(part, ignored);
    }
    if (error)
      Log(LogLevel::kWarn, "addresses.json could not be written",
          {{"path", path.string()}, {"error", error.message()}});
    fmt::print(
        "Wherefore {}\n  page and API  {}://{}:{}\n  OTLP/HTTP     {}://{}:{}\n  OTLP/gRPC     "
        "{}:{}\n  data          {}\n",
        kVersion, scheme, shown, http_->port(), scheme, shown, otlp_http_->port(), shown,
        otlp_grpc_->port(), options_.data);
    std::fflush(stdout);
    return {};
  }

  ServeOptions options_;
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
  std::shared_ptr<gateway::ReceiverMetrics> metrics_ = std::make_shared<gateway::ReceiverMetrics>();
  std::unique_ptr<gateway::OtlpReceiver> receiver_;
  std::unique_ptr<gateway::PyroscopeReceiver> pyroscope_;
  std::unique_ptr<gateway::Scraper> scraper_;
  std::unique_ptr<api::Api> api_;
  std::unique_ptr<api::PyroscopeApi> pyroscope_api_;
  std::unique_ptr<api::AdHocApi> adhoc_;
  std::unique_ptr<api::JaegerApi> jaeger_;
  std::unique_ptr<net::HttpServer> http_;
  std::unique_ptr<net::HttpServer> otlp_http_;
  std::unique_ptr<net::GrpcServer> otlp_grpc_;
  std::unique_ptr<net::HttpServer> own_otlp_;  // with --profile-self
  SelfProfile self_profile_;
  // Last, so that they are destroyed first: what they run uses everything above.
  net::Workers workers_;
};

// Lines of 'name = value' (or 'name: value'); # starts a comment; quotes around a value are
// dropped. An unknown name or invalid value is an error with its line.
Result<> ReadConfig(const std::string& path, CLI::App& command) {
  std::ifstream in(path);
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    const std::string_view text = Trim(line);
    if (text.empty() || text[0] == '#') continue;
    const auto fail = [&](std::string_view what) {
      return Error(Code::kInvalid, fmt::format("{}:{}: {}", path, number, what));
    };
    const std::size_t split = text.find_first_of("=:");
    if (split == std::string_view::npos) return fail("expected name = value");
    const std::string name(Trim(text.substr(0, split)));
    std::string_view value = Trim(text.substr(split + 1));
    if (value.size() >= 2 && value.front() == value.back() &&
        (value[0] == '"' || value[0] == '\'')) {
      value = value.substr(1, value.size() - 2);
    }
    CLI::Option* option =
        name == "config" || name == "help" ? nullptr : command.get_option_no_throw("--" + name);
    if (option == nullptr) return fail(fmt::format("there is no option '{}'", name));
    if (option->count() > 0) continue;  // given on the command line
    try {
      option->add_result(std::string(value));
      option->run_callback();
    } catch (const CLI::Error& e) {
      return fail(e.what());
    }
  }
  return {};
}

// The token these options give, "" if none; clears them.
Result<std::string> TakeToken(ServeOptions& o) {
  std::string token = std::exchange(o.token, {});
  const std::string file = std::exchange(o.token_file, {});
  if (file.empty()) return token;
  if (!token.empty()) return Error(Code::kInvalid, "--token and --token-file: give one of them");
  return ReadToken(file);
}

// Reads the configuration and the token. Precedence of the token: command line, environment,
// configuration.
Result<> ReadFiles(CLI::App& command, const std::string& config,
                   const std::string& from_environment, ServeOptions& o) {
  if (!o.token.empty()) {
    fmt::print(stderr,
               "warning: --token shows the token to other users of this machine for a moment, and "
               "to whoever reads the shell's history; --token-file FILE and WHEREFORE_TOKEN do "
               "not\n");
  }
  WHEREFORE_ASSIGN_OR_RETURN(std::string token, TakeToken(o));
  if (token.empty()) token = from_environment;
  if (!config.empty()) WHEREFORE_RETURN_IF_ERROR(ReadConfig(config, command));
  WHEREFORE_ASSIGN_OR_RETURN(o.token, TakeToken(o));
  if (!token.empty()) o.token = std::move(token);
  return {};
}

// The tree of a large query is in the heap of the worker that built it, and the C library keeps
// freed memory below its threshold. Return it here, where no query waits for it.
void ReturnFreeMemory() {
  constexpr std::size_t kWorthIt = 32u << 20;
  if (mallinfo2().fordblks > kWorthIt) malloc_trim(0);
}

// Waits for SIGINT or SIGTERM.
int WaitForStop(const sigset_t& signals) {
  constexpr timespec kTidyInterval{.tv_sec = 5, .tv_nsec = 0};
  while (true) {
    const int signal_number = sigtimedwait(&signals, nullptr, &kTidyInterval);
    if (signal_number < 0) {
      ReturnFreeMemory();
    } else if (signal_number != SIGHUP) {
      return signal_number;
    }
  }
}

// Otherwise the allocator learns to keep large freed blocks, one heap per thread: half of a small
// machine.
void KeepFreeMemorySmall(std::size_t limit) {
  if (limit >= (std::size_t{4} << 30)) return;
  mallopt(M_MMAP_THRESHOLD, 512 << 10);
  mallopt(M_TRIM_THRESHOLD, 8 << 20);
  mallopt(M_ARENA_MAX, 2);
}

int Serve(ServeOptions options) {
  if (const Result<> valid = Validate(options); !valid) return Fail(valid.error());
  static const std::map<std::string, LogLevel> kLevels = {{"debug", LogLevel::kDebug},
                                                          {"info", LogLevel::kInfo},
                                                          {"warn", LogLevel::kWarn},
                                                          {"error", LogLevel::kError}};
  SetLogLevel(kLevels.at(options.log_level));
  const Result<Limits> limits = options.limits.Read();
  if (!limits) return Fail(limits.error());
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
  if (const Result<> started = server.Start(); !started) {
    server.Stop();
    return Fail(started.error()) == kUsage ? kUsage : kFailed;
  }
  Log(LogLevel::kInfo, "serving");
  const int signal_number = WaitForStop(signals);
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
       "wherefore serve --scrape shop=http://localhost:6060   # a Go program's net/http/pprof",
       "wherefore serve --listen 0.0.0.0 --token-file /etc/wherefore/token",
       "wherefore serve --config wherefore.toml   # option names as keys: retention = \"7d\""});
  auto o = std::make_shared<ServeOptions>();
  auto config = std::make_shared<std::string>();
  command
      ->add_option(
          "--config", *config,
          "File with these options, one 'name = value' per line; the command line overrides it")
      ->check(CLI::ExistingFile);
  command->add_option("--data", o->data, "Data directory")->capture_default_str();
  command->add_option("--store", o->store, "Where rows live: embedded")->capture_default_str();
  command->add_option("--listen", o->listen,
                      "Address to listen on (default: loopback, IPv4 and IPv6)");
  command
      ->add_option("--http-port", o->http_port,
                   "Page, API and every OTLP/HTTP path; 0 picks a free one")
      ->capture_default_str();
  command->add_option("--otlp-grpc-port", o->otlp_grpc_port, "OTLP over gRPC; 0 picks a free one")
      ->capture_default_str();
  command->add_option("--otlp-http-port", o->otlp_http_port, "OTLP over HTTP; 0 picks a free one")
      ->capture_default_str();
  o->limits.AddTo(*command);
  command
      ->add_option("--backup-root", o->backup_root,
                   "Folder below which `wherefore backup` may write (default: no backups)")
      ->check(CLI::ExistingDirectory);
  command->add_option("--scrape", o->scrape,
                      "Fetch pprof profiles from a program every 15 s (repeatable): "
                      "http://host:6060 or service=http://host:6060");
  command
      ->add_option("--scrape-config", o->scrape_config,
                   "YAML file of programs to scrape, similar to Prometheus' (docs/scraping.md)")
      ->check(CLI::ExistingFile);
  command->add_flag("--tenants", o->tenants, "Keep data of different X-Scope-OrgID headers apart");
  command->add_flag("--keep-payload", o->keep_payload,
                    "Store the original file a sender attached, too");
  command
      ->add_option(
          "--symbol-path", o->symbol_path,
          "Folder to look in for programs and debug files of profiled modules, by build id "
          "(repeatable); their own path and /usr/lib/debug are looked in anyway")
      ->check(CLI::ExistingDirectory);
  command->add_flag("--no-symbols", o->no_symbols,
                    "Do not read local programs: functions keep the names that were sent");
  command->add_option("--token-file", o->token_file,
                      "File with the bearer token every request must carry (else "
                      "WHEREFORE_TOKEN)");
  command->add_option("--token", o->token,
                      "The token itself: other users of this machine may see it; better a file");
  command->add_flag("--no-token", o->no_token, "Allow access without a token");
  command->add_option("--tls-certificate", o->tls_certificate, "PEM file")
      ->check(CLI::ExistingFile);
  command->add_option("--tls-key", o->tls_key, "PEM file")->check(CLI::ExistingFile);
  command->add_option("--allow-host", o->allowed_hosts,
                      "Host name browsers may use in addition to loopback names (repeatable)");
  command
      ->add_option("--source-root", o->source_roots,
                   "Folder whose files the page may show where profiles name them (repeatable)")
      ->check(CLI::ExistingDirectory);
  command->add_option("--repository-template", o->repository_template,
                      "Link to a line of source: "
                      "https://host/{service}/blob/{version}/{path}#L{line}");
  command->add_flag("--profile-self", o->profile_self,
                    "Profile this server into its own store, as service 'wherefore'");
  command->add_option("--log-level", o->log_level, "debug, info, warn, error")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->capture_default_str();
  command->callback([&context, command, config, o] {
    context.run = [&context, command, config, o]() -> int {
      if (const Result<> read = ReadFiles(*command, *config, context.token, *o); !read)
        return Fail(read.error());
      return Serve(*o);
    };
  });
}

}  // namespace wherefore::cli
