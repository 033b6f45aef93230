// Api: where the time of spans went: accounting of a trace, of all spans of a name.
#include <algorithm>
#include <set>

#include "api/accounting_json.h"
#include "api/api.h"
#include "api/explain_service.h"
#include "api/request.h"
#include "api/source_files.h"
#include "api/worse_watch.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "query/trace_accounting.h"

namespace wherefore::api {

void AppendAccount(JsonWriter& json, const query::Account& account) {
  json.Field("duration_ns", account.duration_ns).Key("parts").BeginObject();
  for (std::size_t p = 0; p < query::kParts; ++p) {
    const query::AccountPart& part = account.parts[p];
    json.Key(query::PartName(static_cast<query::Part>(p))).BeginObject();
    json.Field("value", part.value).Field("error", part.error);
    json.Field("observations", part.observations);
    json.Field("source", query::SourceName(part.source)).EndObject();
  }
  json.EndObject().Field("parallel", account.parallel);
  json.Field("waiting_for_children", account.waiting_for_children_ns);
}

namespace {

using net::HttpRequest;
using net::HttpResponse;

// One array per figure, so that a trace of 100,000 spans stays small.
std::string AccountColumns(const profile::TraceId& trace, const query::TraceAccounting& all,
                           const std::vector<std::uint32_t>& rows) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Field("trace", ToHex(trace)).Key("span").BeginArray();
  for (const std::uint32_t i : rows) json.String(ToHex(all.seen.spans[i].id));
  json.EndArray();
  const auto column = [&](std::string_view name, auto value) {
    json.Key(name).BeginArray();
    for (const std::uint32_t i : rows) json.Int(static_cast<std::int64_t>(value(i)));
    json.EndArray();
  };
  column("duration", [&](std::uint32_t i) { return all.accounts[i].duration_ns; });
  json.Key("parts").BeginObject();
  for (std::size_t p = 0; p < query::kParts; ++p) {
    json.Key(query::PartName(static_cast<query::Part>(p))).BeginObject();
    const auto part = [&](std::uint32_t i) -> const query::AccountPart& {
      return all.accounts[i].parts[p];
    };
    column("value", [&](std::uint32_t i) { return part(i).value; });
    column("error", [&](std::uint32_t i) { return part(i).error; });
    column("observations", [&](std::uint32_t i) { return part(i).observations; });
    column("source", [&](std::uint32_t i) { return part(i).source; });
    json.EndObject();
  }
  json.EndObject().Key("parallel").BeginArray();
  for (const std::uint32_t i : rows) json.Double(all.accounts[i].parallel);
  json.EndArray();
  column("waiting_for_children",
         [&](std::uint32_t i) { return all.accounts[i].waiting_for_children_ns; });
  column("made_others_wait",
         [&](std::uint32_t i) { return all.seen.made_others_wait_ns[all.seen.unit[i]]; });
  column("why", [&](std::uint32_t i) { return all.why[i]; });
  json.Key("filed_under").BeginArray();
  for (const std::uint32_t i : rows) {
    const std::uint32_t unit = all.seen.unit[i];
    json.String(unit == i ? "" : ToHex(all.seen.spans[unit].id));
  }
  json.EndArray().Key("sources").BeginArray();
  for (int s = 0; s <= static_cast<int>(query::Source::kWall); ++s)
    json.String(query::SourceName(static_cast<query::Source>(s)));
  json.EndArray().Key("reasons").BeginArray();
  for (const std::string& reason : all.reasons) json.String(reason);
  json.EndArray().EndObject();
  return out;
}

Result<HttpResponse> OfTrace(query::QueryContext& context, const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto p, Parameters::Read(request, {"span"}));
  WHEREFORE_ASSIGN_OR_RETURN(const auto trace, ParseTraceId(request.Header(":trace")));
  std::set<profile::SpanId> wanted;
  for (const std::string& text : p.All("span")) {
    WHEREFORE_ASSIGN_OR_RETURN(const auto span, ParseSpanId(text));
    wanted.insert(span);
  }
  WHEREFORE_ASSIGN_OR_RETURN(const auto all,
                             query::AccountTrace(context, p.tenant(), trace, request.cancel));
  if (all.accounts.empty())
    return Error(Code::kNotFound, "no spans of trace " + ToHex(trace) + " are stored");
  std::vector<std::uint32_t> rows;
  for (std::uint32_t i = 0; i < all.accounts.size(); ++i) {
    if (wanted.empty() || wanted.contains(all.seen.spans[i].id)) rows.push_back(i);
  }
  HttpResponse response;
  response.body = AccountColumns(trace, all, rows);
  return response;
}

Result<HttpResponse> OfName(query::QueryContext& context, const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto p,
      Parameters::Read(request, {"from", "to", "since", "service", "name", "attribute", "limit"}));
  WHEREFORE_ASSIGN_OR_RETURN(const auto search, ReadRequests(p));
  constexpr auto kMost = static_cast<std::int64_t>(query::kMostSpansAccounted);
  WHEREFORE_ASSIGN_OR_RETURN(const std::int64_t limit, p.Int("limit", kMost, 1, kMost));
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto answer,
      query::AccountName(context, search, static_cast<std::size_t>(limit), request.cancel));
  HttpResponse response;
  JsonWriter json(response.body);
  json.BeginObject().Field("service", search.service).Field("name", search.name);
  json.Field("spans", answer.spans).Field("more", answer.more).Field("traces", answer.traces);
  AppendAccount(json, answer.account);
  json.Field("made_others_wait", answer.made_others_wait_ns);
  json.Field("filed_under", answer.filed_under).Field("why", answer.why);
  if (answer.spans == 0) json.Field("hint", "no span matches in that time");
  json.EndObject();
  return response;
}

}  // namespace

Result<query::SpanSearch> ReadEndpoint(const Parameters& p) {
  WHEREFORE_ASSIGN_OR_RETURN(auto search, ReadRequests(p));
  if (search.name.empty())
    return Error(Code::kInvalid, "parameter 'name': expected the name of its spans");
  return search;
}

Result<query::SpanSearch> ReadRequests(const Parameters& p) {
  query::SpanSearch search{.tenant = p.tenant()};
  WHEREFORE_ASSIGN_OR_RETURN(search.range, p.Range());
  search.service = p.Get("service");
  search.name = p.Get("name");
  if (search.service.empty())
    return Error(Code::kInvalid, "parameter 'service': expected the name of a service");
  search.requests_only = search.name.empty();
  for (const std::string& text : p.All("attribute")) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos)
      return Error(Code::kInvalid, "parameter 'attribute': expected name=value");
    search.attributes.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return search;
}

void Api::AddAccountingRoutes(net::Router& router) {
  AddQuery(router, "traces/{trace}/accounting", "trace_accounting", net::WorkKind::kHeavy, OfTrace);
  AddQuery(router, "accounting", "accounting", net::WorkKind::kHeavy, OfName);
  AddQuery(router, "slow", "slow", net::WorkKind::kHeavy, AnswerSlow);
  AddRoute(
      router, "GET", "/api/v1/explain", "explain", net::WorkKind::kHeavy,
      [this](const net::HttpRequest& request) {
        const KnownOfServices known{.rules = operations_.rules,
                                    .alerts = operations_.alerts,
                                    .regressions = operations_.regressions,
                                    .budget_ns = operations_.query_timeout_ns / 3};
        return AnswerExplain(context_, known, request);
      },
      operations_.catch_up);
  AddQuery(router, "critical-path", "critical_paths", net::WorkKind::kHeavy, AnswerPaths);
}

void Api::AddWorseRoutes(net::Router& router) {
  worse_ = std::make_shared<WorseWatch>(context_, workers_, operations_.catch_up,
                                        operations_.query_memory_bytes,
                                        KnownPatterns{operations_.rules, operations_.alerts});
  AddRoute(router, "GET", "/api/v1/worse", "worse", net::WorkKind::kQuick,
           [this, files = SourceFiles(operations_.source_roots)](const net::HttpRequest& request) {
             return AnswerWorse(*worse_, operations_.regressions, files, request);
           });
}

}  // namespace wherefore::api
