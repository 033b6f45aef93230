#include "api/api.h"

#include "api/incomplete.h"
#include "api/run.h"
#include "base/metrics.h"

namespace wherefore::api {

void Api::AddRoutes(net::Router& router) {
  AddQueryRoutes(router);
  AddTimeRoutes(router);
  AddTraceRoutes(router);
  AddServerRoutes(router);
  AddFileRoutes(router);
  AddSourceRoutes(router);
}

Counter& Api::LimitedQuestions() {
  return Metrics::Global().GetCounter("wherefore_api_limited_total",
                                      "Questions that needed more time or memory than they may.");
}

void Api::AddQuestion(net::Router& router, const std::string& path, std::string name,
                      net::WorkKind kind,
                      Result<net::HttpResponse> (*answer)(query::Engine&,
                                                          const net::HttpRequest&)) {
  AddQuery(router, "GET", "/api/v1/" + path, std::move(name), kind,
           [this, answer](const net::HttpRequest& request) { return answer(engine_, request); });
}

void Api::AddQuery(net::Router& router, std::string method, std::string pattern, std::string name,
                   net::WorkKind kind, Answer answer) {
  // Deleting and backing up take as long as they take.
  const std::int64_t timeout = kind == net::WorkKind::kUpkeep ? 0 : operations_.query_timeout_ns;
  AddHttpQuestion(router, workers_,
                  {.method = std::move(method),
                   .pattern = std::move(pattern),
                   .name = std::move(name),
                   .kind = kind,
                   .timeout_ns = timeout,
                   .memory_bytes = operations_.query_memory_bytes,
                   .answer =
                       [this, answer = std::move(answer)](net::HttpRequest& request) {
                         const auto tenant = operations_.tenant_of(request);
                         if (!tenant) return Result<net::HttpResponse>(tenant.error());
                         request.headers[":tenant"] = std::to_string(*tenant);
                         auto response = answer(request);
                         if (response) MarkIncomplete(operations_, *tenant, request, *response);
                         return response;
                       },
                   .failure =
                       [](const Error& error) {
                         if (error.code() == Code::kLimit) LimitedQuestions().Add();
                         return net::JsonError(error);
                       }});
}

}  // namespace wherefore::api
