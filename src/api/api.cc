#include "api/api.h"

#include "api/incomplete.h"
#include "api/run.h"
#include "base/metrics.h"
#include "query/context.h"

namespace wherefore::api {

void Api::AddRoutes(net::Router& router) {
  AddQueryRoutes(router);
  AddTimeRoutes(router);
  AddTraceRoutes(router);
  AddAccountingRoutes(router);
  AddInsightRoutes(router);
  AddAlertRoutes(router);
  AddWorseRoutes(router);
  AddPinRoutes(router);
  AddRegressionRoutes(router);
  AddSqlRoutes(router);
  AddServerRoutes(router);
  AddFileRoutes(router);
  AddSourceRoutes(router);
}

Counter& Api::LimitedQueries() {
  return Metrics::Global().GetCounter("wherefore_api_limited_total",
                                      "Queries that needed more time or memory than they may.");
}

void Api::AddQuery(net::Router& router, const std::string& path, std::string name,
                   net::WorkKind kind,
                   Result<net::HttpResponse> (*answer)(query::QueryContext&,
                                                       const net::HttpRequest&)) {
  AddRoute(
      router, "GET", "/api/v1/" + path, std::move(name), kind,
      [this, answer](const net::HttpRequest& request) { return answer(context_, request); },
      operations_.catch_up);
}

void Api::AddRoute(net::Router& router, std::string method, std::string pattern, std::string name,
                   net::WorkKind kind, Answer answer, CatchUp catch_up) {
  // Deleting and backing up take as long as they take.
  const std::int64_t timeout = kind == net::WorkKind::kUpkeep ? 0 : operations_.query_timeout_ns;
  AddHttpQuery(router, workers_,
               {.method = std::move(method),
                .pattern = std::move(pattern),
                .name = std::move(name),
                .kind = kind,
                .timeout_ns = timeout,
                .memory_bytes = operations_.query_memory_bytes,
                .catch_up = std::move(catch_up),
                .answer =
                    [this, answer = std::move(answer)](net::HttpRequest& request) {
                      const auto tenant = operations_.tenant_of(request);
                      if (!tenant) return Result<net::HttpResponse>(tenant.error());
                      request.tenant = *tenant;
                      return answer(request);
                    },
                .failure =
                    [](const Error& error) {
                      if (error.code() == Code::kLimit) LimitedQueries().Add();
                      return net::JsonError(error);
                    },
                .mark =
                    [this](const net::HttpRequest& request, net::HttpResponse& response) {
                      const auto tenant = operations_.tenant_of(request);
                      if (tenant) MarkIncomplete(operations_, *tenant, request, response);
                    }});
}

}  // namespace wherefore::api
