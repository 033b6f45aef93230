// Api: known patterns and what they cost.
#include "api/api.h"
#include "api/request.h"
#include "base/json_writer.h"
#include "insight/insights.h"

namespace wherefore::api {
namespace {

void AppendFunction(JsonWriter& json, const profile::FlameFunction& f) {
  json.BeginObject().Field("name", f.name).Field("module", f.module).Field("file", f.file);
  json.Field("line", f.start_line).EndObject();
}

void AppendFinding(JsonWriter& json, const insight::Finding& f) {
  json.BeginObject().Field("rule", f.rule.id).Field("title", f.rule.title);
  json.Field("service", f.service).Field("type", f.type).Field("unit", f.unit);
  json.Field("value", f.value).Field("share", f.share.rate);
  json.Field("low", f.share.low).Field("high", f.share.high);
  json.Field("observations", f.share.observations);
  json.Field("cores", f.cores).Field("cores_saved", f.saved);
  json.Key("function");
  AppendFunction(json, f.function);
  json.Key("callers").BeginArray();
  for (const profile::FlameFunction& caller : f.callers) AppendFunction(json, caller);
  json.EndArray().Key("endpoints").BeginArray();
  for (const std::string& endpoint : f.endpoints) json.String(endpoint);
  json.EndArray().Field("since", f.since).Field("fix", f.rule.fix);
  json.Field("search", insight::SearchFor(f)).EndObject();
}

}  // namespace

void Api::AddInsightRoutes(net::Router& router) {
  AddRoute(
      router, "GET", "/api/v1/insights", "insights", net::WorkKind::kHeavy,
      [this](const net::HttpRequest& request) -> Result<net::HttpResponse> {
        WHEREFORE_ASSIGN_OR_RETURN(
            const auto p,
            Parameters::Read(request, {"query", "from", "to", "since", "rule", "limit"}));
        WHEREFORE_ASSIGN_OR_RETURN(const auto selection, p.Selection());
        WHEREFORE_ASSIGN_OR_RETURN(const std::int64_t limit, p.Int("limit", 100, 1, 10'000));
        insight::InsightOptions options{.limit = static_cast<std::size_t>(limit),
                                        .rule = p.Get("rule")};
        if (operations_.query_timeout_ns > 0) options.budget_ns = operations_.query_timeout_ns / 3;
        WHEREFORE_ASSIGN_OR_RETURN(
            const auto answer,
            insight::FindInsights(context_, selection, operations_.rules, options, request.cancel));
        net::HttpResponse response;
        JsonWriter json(response.body);
        json.BeginObject().Field("services", answer.services).Field("looked_at", answer.looked_at);
        json.Field("rules", operations_.rules.size()).Field("total", answer.found);
        json.Key("findings").BeginArray();
        for (const insight::Finding& finding : answer.findings) AppendFinding(json, finding);
        json.EndArray();
        if (!answer.hint.empty()) json.Field("hint", answer.hint);
        json.EndObject();
        return response;
      },
      operations_.catch_up);
}

}  // namespace wherefore::api
