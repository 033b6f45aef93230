// Our HTTP API on port 4040 and the page. Documented in docs/api.md and docs/openapi.json.
//
// Handlers run on a worker of the kind their route names; every query ends early when its client
// goes away. Errors are {"error":{"code","message"}} with the matching
// status. What only the owner of the store can do (flush, delete, back up) comes in as functions,
// so that api never sees the store itself.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/sql.h"
#include "base/metrics.h"
#include "base/result.h"
#include "base/status.h"
#include "insight/rule.h"
#include "net/http.h"
#include "net/worker_pool.h"
#include "query/catalog.h"
#include "query/context.h"

namespace wherefore::insight {
class Alerts;
class Regressions;
}  // namespace wherefore::insight

namespace wherefore::api {

struct DeleteSummary {
  std::uint64_t samples = 0;
  std::uint64_t profiles = 0;
  std::uint64_t spans = 0;
};

struct BackupSummary {
  std::string folder;  // where it really lies
  std::string summary;
};

// Days of a window that are kept, whatever the retention says.
struct PinnedWindow {
  std::string id;
  std::string service;
  query::TimeRange range;
  std::string why;
  std::int64_t time_ns = 0;   // when it was set
  std::int64_t until_ns = 0;  // 0: until it is removed
};

// What is stored of a kind of data and a day.
struct KeptDay {
  std::string kind;
  std::string day;  // or month: 2026-11
  std::int64_t bytes = 0;
  std::int64_t rows = 0;
  std::int64_t goes_ns = 0;  // 0: it stays
  bool pinned = false;
};

struct Operations {
  std::function<Result<>()> flush;
  // Before a query: everything acknowledged by now can be seen when it returns.
  std::function<Result<>(const CancelToken&)> catch_up;
  // `whole_hours`: where samples are gone, every hour that is touched.
  std::function<Result<DeleteSummary>(const query::Selection&, bool whole_hours)> remove;
  // Decides by itself where a request may have a backup written.
  std::function<Result<BackupSummary>(const std::string& target)> backup;
  // What can be done about damaged data, step by step; done only if it is true.
  std::function<Result<std::vector<std::string>>(bool really)> repair;
  std::function<std::string()> not_ready_reason;  // empty: ready
  // Names services of this tenant alone, as the next one does.
  std::function<std::vector<Status>(std::uint32_t tenant)> status;
  std::function<Result<std::vector<PinnedWindow>>(std::uint32_t tenant)> pins;
  std::function<Result<PinnedWindow>(std::uint32_t tenant, PinnedWindow pin)> set_pin;
  std::function<Result<>(std::uint32_t tenant, const std::string& id)> remove_pin;
  // By day and kind, oldest first.
  std::function<Result<std::vector<KeptDay>>(std::uint32_t tenant)> kept;
  // A statement of a person; empty where SQL is not answered, and why not.
  AnswerSql sql;
  std::string why_no_sql;
  // What stored data between two times is damaged and missing; empty: none.
  std::function<std::string(std::uint32_t tenant, const query::TimeRange& range)> incomplete;
  // Whose data a request may see; 0 unless the server keeps tenants apart.
  std::function<Result<std::uint32_t>(const net::HttpRequest&)> tenant_of;
  // The same for interfaces whose clients expect a refusal when they do not say who they are.
  std::function<Result<std::uint32_t>(const net::Headers&)> require_tenant;
  std::int64_t query_timeout_ns = 60'000'000'000;
  std::int64_t query_memory_bytes = std::int64_t{1} << 30;
  std::size_t connections = 0;  // that the server holds at most
  std::string version;
  std::vector<std::string> source_roots;        // folders whose source files may be shown
  std::string repository_template;              // link to a line of source; empty: none
  std::vector<insight::Rule> rules;             // known patterns (docs/insights.md)
  insight::Alerts* alerts = nullptr;            // null: there are none, and no routes for them
  insight::Regressions* regressions = nullptr;  // the same
  std::int64_t retention_ns = 0;                // 0: everything is kept
  struct Ports {
    std::uint16_t otlp_grpc = 0;
    std::uint16_t otlp_http = 0;
  };
  std::function<Ports()> ports;  // the real ones, known once the server listens
};

class WorseWatch;

class Api {
 public:
  Api(query::QueryContext& context, net::Workers& workers, Operations operations)
      : context_(context), workers_(workers), operations_(std::move(operations)) {}

  // Adds every route; the Api must outlive the router.
  void AddRoutes(net::Router& router);

 private:
  static Counter& LimitedQueries();
  // What the store holds and what queries may use, for the status page.
  Result<std::vector<Status>> OwnStatus(const CancelToken& cancel);
  using Answer = std::function<Result<net::HttpResponse>(const net::HttpRequest&)>;
  // Runs `answer` on a worker of that kind, after `catch_up` if there is one; measures it under
  // `name`.
  void AddRoute(net::Router& router, std::string method, std::string pattern, std::string name,
                net::WorkKind kind, Answer answer,
                std::function<Result<>(const CancelToken&)> catch_up = {});
  // The same for GET /api/v1/`path`, answered from the engine alone.
  void AddQuery(net::Router& router, const std::string& path, std::string name, net::WorkKind kind,
                Result<net::HttpResponse> (*answer)(query::QueryContext&, const net::HttpRequest&));
  void AddQueryRoutes(net::Router& router);       // api_query.cc
  void AddTimeRoutes(net::Router& router);        // api_times.cc
  void AddTraceRoutes(net::Router& router);       // api_traces.cc
  void AddAccountingRoutes(net::Router& router);  // api_accounting.cc
  void AddInsightRoutes(net::Router& router);     // api_insights.cc
  void AddAlertRoutes(net::Router& router);       // api_alerts.cc
  void AddSilenceRoutes(net::Router& router, insight::Alerts& alerts);
  void AddPinRoutes(net::Router& router);         // api_pins.cc
  void AddSqlRoutes(net::Router& router);         // api_sql.cc
  void AddWorseRoutes(net::Router& router);       // api_worse.cc
  void AddRegressionRoutes(net::Router& router);  // api_regressions.cc
  void AddServerRoutes(net::Router& router);      // api_server.cc
  void AddFileRoutes(net::Router& router);        // api_files.cc
  void AddSourceRoutes(net::Router& router);      // api_source.cc

  query::QueryContext& context_;
  net::Workers& workers_;
  Operations operations_;
  std::shared_ptr<WorseWatch> worse_;
};

}  // namespace wherefore::api
