// Api: what concerns the server itself: readiness, metrics, status, flush, delete, backup, the
// page.
#include <map>
#include <string>

#include <fmt/format.h>

#include "api/api.h"
#include "api/assets.h"
#include "api/request.h"
#include "api/storeless.h"
#include "base/json_writer.h"
#include "base/memory_budget.h"
#include "base/memory_limit.h"
#include "base/metrics.h"
#include "base/text.h"
#include "profile/tenant.h"
#include "query/labels.h"

namespace wherefore::api {
namespace {

using net::HttpRequest;
using net::HttpResponse;

bool IsBlank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos;
}

std::string MemoryInWords() {
  const MemoryBudget& budget = MemoryBudget::Process();
  const std::string used = FormatBytes(static_cast<std::int64_t>(ReadMemoryUse().anonymous));
  if (budget.limit() == SIZE_MAX) return used + " used, without a limit";
  return fmt::format("{} used of {}; {} of {} for requests and queries held", used,
                     FormatBytes(static_cast<std::int64_t>(budget.limit())),
                     FormatBytes(static_cast<std::int64_t>(budget.held())),
                     FormatBytes(static_cast<std::int64_t>(budget.shares().work)));
}

// What is kept of each kind, and what goes next.
Status KeptStatus(const std::vector<KeptDay>& days) {
  struct Kind {
    std::int64_t bytes = 0;
    std::int64_t days = 0;
    std::int64_t pinned = 0;
    const KeptDay* next = nullptr;
  };
  std::map<std::string, Kind> kinds;
  for (const KeptDay& day : days) {
    Kind& kind = kinds[day.kind];
    kind.bytes += day.bytes;
    ++kind.days;
    kind.pinned += day.pinned ? 1 : 0;
    if (day.goes_ns > 0 && (kind.next == nullptr || day.goes_ns < kind.next->goes_ns))
      kind.next = &day;
  }
  Status status{.part = "kept"};
  for (const auto& [name, kind] : kinds) {
    std::string text = fmt::format("{} of {} days or months", FormatBytes(kind.bytes), kind.days);
    if (kind.next != nullptr) {
      text += fmt::format("; that of {} goes {}", kind.next->day,
                          FormatTime(kind.next->goes_ns).substr(0, 10));
    }
    if (kind.pinned > 0) text += fmt::format("; {} pinned", kind.pinned);
    status.facts.emplace_back(name, text);
  }
  return status;
}

}  // namespace

Result<std::vector<Status>> Api::OwnStatus(const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto statistics, query::Statistics(context_, cancel));
  Status stored{.part = "stored"};
  std::int64_t all = 0;
  for (std::size_t i = 0; i < statistics.rows.size(); ++i) {
    const auto& [table, rows] = statistics.rows[i];
    const auto bytes = static_cast<std::int64_t>(statistics.bytes_on_disk[i].second);
    all += bytes;
    if (rows == 0) continue;
    stored.facts.emplace_back(
        table, fmt::format("{} rows, {}", FormatCount(static_cast<std::int64_t>(rows)),
                           FormatBytes(bytes)));
  }
  stored.facts.emplace(stored.facts.begin(), "on disk", FormatBytes(all));
  Status limits{.part = "limits"};
  limits.facts = {{"a query may take", FormatDuration(operations_.query_timeout_ns)},
                  {"memory of a query", FormatBytes(operations_.query_memory_bytes)},
                  {"memory", MemoryInWords()},
                  {"connections", FormatCount(static_cast<std::int64_t>(operations_.connections))},
                  {"queries that hit a limit",
                   FormatCount(static_cast<std::int64_t>(LimitedQueries().value()))}};
  return std::vector<Status>{std::move(stored), std::move(limits)};
}

void Api::AddServerRoutes(net::Router& router) {
  router.Add("GET", "/ready", [this](const HttpRequest&, const net::Respond& respond) {
    respond(Readiness(operations_.not_ready_reason()));
  });
  router.Add("GET", "/metrics",
             [](const HttpRequest&, const net::Respond& respond) { respond(MetricsText()); });
  AddPageRoutes(router);
  AddRoute(router, "GET", "/api/v1/status", "status", net::WorkKind::kQuick,
           [this](const HttpRequest& request) -> Result<HttpResponse> {
             WHEREFORE_ASSIGN_OR_RETURN(const std::uint32_t tenant, operations_.tenant_of(request));
             std::vector<Status> parts = operations_.status(tenant);
             // A store in trouble is what people come here for: its own words must still be said.
             if (auto own = OwnStatus(request.cancel))
               parts.insert(parts.end(), own->begin(), own->end());
             if (auto kept = operations_.kept(tenant)) parts.push_back(KeptStatus(*kept));
             return StatusJson(parts, operations_.version);
           });
  AddRoute(router, "POST", "/api/v1/flush", "flush", net::WorkKind::kUpkeep,
           [this](const HttpRequest&) -> Result<HttpResponse> {
             WHEREFORE_RETURN_IF_ERROR(operations_.flush());
             return HttpResponse{.body = "{}"};
           });
  AddRoute(router, "POST", "/api/v1/delete", "delete", net::WorkKind::kUpkeep,
           [this](const HttpRequest& request) -> Result<HttpResponse> {
             WHEREFORE_ASSIGN_OR_RETURN(
                 const auto p, Parameters::Read(request, {"query", "from", "to", "whole_hours"}));
             // A selector that says nothing means everything elsewhere.
             if (IsBlank(p.Get("query")) || IsBlank(p.Get("from")) || IsBlank(p.Get("to"))) {
               return Error(Code::kInvalid,
                            "delete needs query, from and to: it never guesses what to remove");
             }
             WHEREFORE_ASSIGN_OR_RETURN(const auto selection, p.Selection());
             WHEREFORE_ASSIGN_OR_RETURN(const bool whole_hours, p.Flag("whole_hours"));
             WHEREFORE_ASSIGN_OR_RETURN(const DeleteSummary done,
                                        operations_.remove(selection, whole_hours));
             HttpResponse response;
             JsonWriter json(response.body);
             json.BeginObject().Field("samples", done.samples).Field("profiles", done.profiles);
             json.Field("spans", done.spans).EndObject();
             return response;
           });
  for (const bool really : {false, true}) {
    AddRoute(
        router, really ? "POST" : "GET", "/api/v1/repair", really ? "repair" : "repair_plan",
        net::WorkKind::kUpkeep, [this, really](const HttpRequest& request) -> Result<HttpResponse> {
          WHEREFORE_RETURN_IF_ERROR(Parameters::Read(request, {}));
          WHEREFORE_ASSIGN_OR_RETURN(const std::uint32_t tenant, operations_.tenant_of(request));
          if (tenant != profile::Tenant().number) {
            return Error(Code::kInvalid,
                         "a repair is about every tenant's data: ask without a tenant");
          }
          WHEREFORE_ASSIGN_OR_RETURN(const auto steps, operations_.repair(really));
          HttpResponse response;
          JsonWriter json(response.body);
          json.BeginObject().Key("steps").BeginArray();
          for (const std::string& step : steps) json.String(step);
          json.EndArray().EndObject();
          return response;
        });
  }
  AddRoute(router, "POST", "/api/v1/backup", "backup", net::WorkKind::kUpkeep,
           [this](const HttpRequest& request) -> Result<HttpResponse> {
             WHEREFORE_ASSIGN_OR_RETURN(const auto p, Parameters::Read(request, {"target"}));
             WHEREFORE_ASSIGN_OR_RETURN(const BackupSummary done,
                                        operations_.backup(p.Get("target")));
             HttpResponse response;
             JsonWriter(response.body)
                 .BeginObject()
                 .Field("target", done.folder)
                 .Field("summary", done.summary)
                 .EndObject();
             return response;
           });
}

}  // namespace wherefore::api
