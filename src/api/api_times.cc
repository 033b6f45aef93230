// Api: over time: the overview, series and heat maps.
#include <algorithm>
#include <map>

#include "api/accounting_json.h"
#include "api/api.h"
#include "api/render.h"
#include "api/request.h"
#include "base/clock.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "query/context.h"
#include "query/heat.h"
#include "query/overview.h"
#include "query/stack_tries.h"
#include "query/timeline.h"
#include "query/trace_accounting.h"

namespace wherefore::api {
namespace {

using net::HttpRequest;
using net::HttpResponse;

void AppendTop(JsonWriter& json, const query::ServiceOverview& s) {
  const auto append = [&](std::string_view key, const std::vector<profile::TopRow>& rows) {
    json.Key(key).BeginArray();
    for (const profile::TopRow& row : rows) {
      const profile::FlameFunction& f = s.functions[row.function];
      json.BeginObject().Field("name", f.name).Field("module", f.module).Field("self", row.self);
      json.EndObject();
    }
    json.EndArray();
  };
  append("top", s.top);
  append("own_top", s.own_top);
  json.Field("top_type", s.top_type).Field("top_total", s.top_total);
}

// How much of each step was seen.
void AppendObserved(JsonWriter& json, std::string_view key, const std::vector<std::int64_t>& ns) {
  json.Key(key).BeginArray();
  for (const std::int64_t v : ns) json.Int(Milliseconds(v));
  json.EndArray();
}

// Steps without any profile, as [first, how many]: their value is 0, but nothing was measured.
void AppendGaps(JsonWriter& json, std::string_view key, const std::vector<std::int64_t>& profiles) {
  json.Key(key).BeginArray();
  for (std::size_t i = 0; i < profiles.size();) {
    std::size_t end = i;
    while (end < profiles.size() && profiles[end] == 0) ++end;
    if (end > i) json.BeginArray().Int(i).Int(end - i).EndArray();
    i = end + 1;
  }
  json.EndArray();
}

// Where the time of some requests of a service went.
constexpr std::size_t kRequestsAccounted = 200;

void AppendWhere(JsonWriter& json, const query::NameAccounting& of) {
  json.Key("where").BeginObject().Field("spans", of.spans).Field("more", of.more);
  AppendAccount(json, of.account);
  json.EndObject();
}

// By place in the list: of the first `most` services that have requests.
Result<std::map<std::size_t, query::NameAccounting>> WhereOf(query::QueryContext& context,
                                                             const query::OverviewAnswer& answer,
                                                             query::SpanSearch requests,
                                                             std::size_t most,
                                                             const CancelToken& cancel) {
  std::map<std::size_t, query::NameAccounting> out;
  requests.requests_only = true;
  for (std::size_t i = 0; i < answer.services.size() && out.size() < most; ++i) {
    if (!answer.services[i].latency) continue;
    const MemoryScope scope(cancel);
    requests.service = answer.services[i].info.name;
    WHEREFORE_ASSIGN_OR_RETURN(auto of,
                               query::AccountName(context, requests, kRequestsAccounted, cancel));
    if (of.spans > 0) out.emplace(i, std::move(of));
  }
  return out;
}

void AppendOverview(JsonWriter& json, const query::ServiceOverview& s,
                    const query::NameAccounting* where) {
  json.BeginObject().Field("name", s.info.name).Field("profiles", s.info.profiles);
  json.Key("types").BeginArray();
  for (const std::string& type : s.info.types) json.String(type);
  json.EndArray();
  if (s.info.last_ns != 0) json.Field("last", FormatTime(s.info.last_ns));
  if (!s.cpu.empty()) {
    json.Key("cpu").BeginArray();
    for (const std::int64_t v : s.cpu) json.Int(v);
    json.EndArray();
    AppendGaps(json, "cpu_gaps", s.cpu_profiles);
    json.Field("cores", s.cores).Field("seen_ms", Milliseconds(s.seen_ns));
  }
  AppendTop(json, s);
  json.Key("versions").BeginArray();
  for (const std::string& version : s.versions) json.String(version);
  json.EndArray();
  if (!s.earlier_version.empty()) json.Field("earlier_version", s.earlier_version);
  if (s.heap_bytes) json.Field("heap_bytes", *s.heap_bytes);
  if (s.latency) {
    json.Key("latency").BeginObject().Field("requests", s.latency->requests);
    json.Field("errors", s.latency->errors).Field("median_ns", s.latency->median_ns);
    json.Field("p99_ns", s.latency->p99_ns).EndObject();
  }
  if (where != nullptr) AppendWhere(json, *where);
  json.Key("senders").BeginArray();
  for (const std::string& sender : s.senders) json.String(sender);
  json.EndArray().Field("instances", s.instances.size()).EndObject();
}

Result<HttpResponse> Overview(query::QueryContext& context, const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto p,
      Parameters::Read(request, {"from", "to", "since", "search", "limit", "offset", "where"}));
  WHEREFORE_ASSIGN_OR_RETURN(const std::int64_t most, p.Int("where", 0, 0, 50));
  WHEREFORE_ASSIGN_OR_RETURN(auto range, p.Range());
  WHEREFORE_ASSIGN_OR_RETURN(auto wanted, p.List(100, 1000));
  WHEREFORE_ASSIGN_OR_RETURN(const std::int64_t offset, p.Int("offset", 0, 0, 10'000'000));
  wanted.offset = static_cast<std::size_t>(offset);
  EndNow(p, range);
  WHEREFORE_ASSIGN_OR_RETURN(const auto answer,
                             query::Overview(context, p.tenant(), range, wanted, request.cancel));
  WHEREFORE_ASSIGN_OR_RETURN(const auto where,
                             WhereOf(context, answer, {.tenant = p.tenant(), .range = range},
                                     static_cast<std::size_t>(most), request.cancel));
  HttpResponse response;
  JsonWriter json(response.body);
  json.BeginObject().Field("start_ms", answer.start_ns / 1'000'000);
  json.Field("step_ms", answer.step_ns / 1'000'000);
  json.Field("observed_from_ms", answer.observed.from_ns / 1'000'000);
  json.Field("observed_to_ms", answer.observed.to_ns / 1'000'000);
  json.Field("observed_ms", Milliseconds(answer.observed_ns));
  AppendObserved(json, "step_observed_ms", answer.step_observed_ns);
  json.Field("total", answer.total).Field("cores", answer.cores);
  json.Key("services").BeginArray();
  for (std::size_t i = 0; i < answer.services.size(); ++i) {
    const auto of = where.find(i);
    AppendOverview(json, answer.services[i], of == where.end() ? nullptr : &of->second);
  }
  json.EndArray().EndObject();
  return response;
}

// What is looked for over time. Values stay those of the whole selection, so a lens alone would do
// nothing.
Result<query::LensSearch> SearchOf(const Parameters& p) {
  query::LensSearch wanted;
  WHEREFORE_ASSIGN_OR_RETURN(wanted.lens, p.Lens());
  WHEREFORE_ASSIGN_OR_RETURN(wanted.search, p.Search());
  if (!wanted.lens.empty() && wanted.search.empty()) {
    return Error(Code::kInvalid,
                 "parameter 'lens': only together with 'search', whose matches it narrows");
  }
  return wanted;
}

Result<HttpResponse> HeatMap(query::QueryContext& context, const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto p, Parameters::Read(request, {"query", "type", "from", "to", "since", "step",
                                               "lens", "search"}));
  WHEREFORE_ASSIGN_OR_RETURN(auto selection, p.Selection());
  WHEREFORE_ASSIGN_OR_RETURN(const auto wanted, SearchOf(p));
  EndNow(p, selection.range);
  constexpr std::int64_t kDefaultSteps = 600;
  constexpr std::int64_t kMostSteps = 10'000;
  const std::int64_t width = selection.range.to_ns - selection.range.from_ns;
  std::int64_t step = (width / kDefaultSteps / kNsPerSecond + 1) * kNsPerSecond;
  if (const std::string text = p.Get("step"); !text.empty()) {
    WHEREFORE_ASSIGN_OR_RETURN(step, ParseDuration(text));
  }
  if (step < kNsPerSecond || width / step > kMostSteps)
    return Error(Code::kInvalid, "parameter 'step': at least 1s, and at most 10,000 steps");
  WHEREFORE_ASSIGN_OR_RETURN(const auto answer,
                             query::HeatMap(context, selection, step, wanted, request.cancel));
  HttpResponse response;
  JsonWriter json(response.body);
  json.BeginObject().Field("rows_are", answer.by_offset ? "offset" : "value");
  json.Field("type", answer.type).Field("unit", answer.unit);
  json.Field("start_ms", answer.start_ns / 1'000'000).Field("step_ms", answer.step_ns / 1'000'000);
  json.Field("steps", answer.steps).Field("rows", answer.rows).Field("row_width", answer.row_width);
  if (!answer.hint.empty()) json.Field("hint", answer.hint);
  json.Key("cells").BeginArray();
  for (const query::HeatMapAnswer::Cell& cell : answer.cells) {
    json.BeginArray().Int(cell.step).Int(cell.row).Int(cell.count);
    if (!wanted.search.empty()) json.Int(cell.matched).Int(cell.whole);
    json.EndArray();
  }
  json.EndArray().EndObject();
  return response;
}

Result<HttpResponse> Series(query::QueryContext& context, const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto p, Parameters::Read(request, {"query", "type", "from", "to", "since", "step", "by",
                                               "limit", "lens", "search"}));
  WHEREFORE_ASSIGN_OR_RETURN(auto selection, p.Selection());
  WHEREFORE_ASSIGN_OR_RETURN(const auto wanted, SearchOf(p));
  WHEREFORE_ASSIGN_OR_RETURN(const std::int64_t limit, p.Int("limit", 20, 0, 10'000));
  EndNow(p, selection.range);
  const std::int64_t width = selection.range.to_ns - selection.range.from_ns;
  std::int64_t step = std::max<std::int64_t>(width / 240 / kNsPerSecond, 1) * kNsPerSecond;
  if (const std::string text = p.Get("step"); !text.empty()) {
    WHEREFORE_ASSIGN_OR_RETURN(step, ParseDuration(text));
    if (step < 1'000'000) return Error(Code::kInvalid, "parameter 'step': at least 1ms");
  }
  WHEREFORE_ASSIGN_OR_RETURN(const auto answer,
                             query::Timeline(context, selection,
                                             {.steps = {.width_ns = step, .spread = true},
                                              .group_by = p.All("by"),
                                              .max_groups = static_cast<std::size_t>(limit),
                                              .wanted = wanted},
                                             request.cancel));
  HttpResponse response;
  JsonWriter json(response.body);
  json.BeginObject().Field("type", answer.type).Field("unit", answer.unit);
  json.Field("scale", answer.scale).Field("averaged", answer.averaged);
  json.Field("start_ms", answer.start_ns / 1'000'000).Field("step_ms", answer.step_ns / 1'000'000);
  AppendObserved(json, "observed_ms", answer.observed_ns);
  if (answer.newest_ns != 0) json.Field("newest_ms", answer.newest_ns / 1'000'000);
  AppendTier(json, answer.tier, answer.hint);
  std::int64_t most = 0;
  for (const query::TimelineGroup& group : answer.groups) {
    for (const std::int64_t v : group.values) most = IsSaturated(v) ? v : most;
  }
  AppendOverflow(json, {most});
  json.Key("groups").BeginArray();
  for (const query::TimelineGroup& group : answer.groups) {
    json.BeginObject().Key("labels").BeginObject();
    for (const auto& [name, value] : group.labels) json.Field(name, value);
    json.EndObject().Key("values").BeginArray();
    for (const std::int64_t v : group.values) json.Int(v);
    json.EndArray();
    AppendGaps(json, "gaps", group.profiles);
    json.EndObject();
  }
  json.EndArray();
  if (answer.matched) {
    json.Key("search").BeginObject().Key("values").BeginArray();
    for (const std::int64_t v : *answer.matched) json.Int(v);
    json.EndArray().EndObject();
  }
  json.EndObject();
  return response;
}

}  // namespace

void Api::AddTimeRoutes(net::Router& router) {
  AddQuery(router, "overview", "overview", net::WorkKind::kHeavy, Overview);
  AddQuery(router, "heatmap", "heatmap", net::WorkKind::kHeavy, HeatMap);
  AddQuery(router, "series", "series", net::WorkKind::kHeavy, Series);
}

}  // namespace wherefore::api
