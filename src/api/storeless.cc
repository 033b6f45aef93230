#include "api/storeless.h"

#include "base/json_writer.h"
#include "base/metrics.h"

namespace wherefore::api {

using net::HttpRequest;
using net::HttpResponse;

HttpResponse StatusJson(const std::vector<Status>& parts, const std::string& version) {
  HttpResponse response;
  JsonWriter json(response.body);
  json.BeginObject().Field("version", version).Key("parts").BeginArray();
  for (const Status& part : parts) {
    json.BeginObject().Field("part", part.part).Key("facts").BeginObject();
    for (const auto& [name, value] : part.facts) json.Field(name, value);
    json.EndObject().Key("problems").BeginArray();
    for (const StatusProblem& problem : part.problems) {
      json.BeginObject().Field("what", problem.what).Field("fix", problem.fix);
      json.Field("blocks_writes", problem.blocks_writes).EndObject();
    }
    json.EndArray().EndObject();
  }
  json.EndArray().EndObject();
  return response;
}

HttpResponse MetricsText() {
  return {.content_type = "text/plain; version=0.0.4; charset=utf-8",
          .body = Metrics::Global().PrometheusText()};
}

HttpResponse Readiness(const std::string& not_ready_reason) {
  const bool ready = not_ready_reason.empty();
  return {.status = ready ? 200 : 503,
          .content_type = "text/plain; charset=utf-8",
          .body = ready ? "ready\n" : "not ready: " + not_ready_reason + "\n"};
}

void AddStorelessRoutes(net::Router& router, Operations operations) {
  const auto shared = std::make_shared<const Operations>(std::move(operations));
  router.Add("GET", "/ready", [shared](const HttpRequest&, const net::Respond& respond) {
    respond(Readiness(shared->not_ready_reason()));
  });
  router.Add("GET", "/metrics",
             [](const HttpRequest&, const net::Respond& respond) { respond(MetricsText()); });
  router.Add("GET", "/api/v1/status",
             [shared](const HttpRequest& request, const net::Respond& respond) {
               const auto tenant = shared->tenant_of(request);
               respond(tenant ? StatusJson(shared->status(*tenant), shared->version)
                              : net::JsonError(tenant.error()));
             });
  router.SetFallback([](const HttpRequest&, const net::Respond& respond) {
    respond(net::JsonError(Error(Code::kUnsupported,
                                 "this server keeps no data: no pipeline leads to the store "
                                 "(exporter `wherefore`)")));
  });
}

}  // namespace wherefore::api
