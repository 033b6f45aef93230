// Api: slow versus typical requests, and the critical paths of an endpoint's slowest traces.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "api/accounting_json.h"
#include "api/render.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "query/path_flame.h"
#include "query/slow.h"
#include "query/statistics.h"
#include "query/traces.h"
#include "query/view.h"

namespace wherefore::api {
namespace {

using net::HttpRequest;
using net::HttpResponse;

void AppendTest(JsonWriter& json, const query::CohortTest& test) {
  json.Field("slow", test.slow).Field("typical", test.typical).Field("change", test.change);
  json.Field("low", test.low).Field("high", test.high).Field("p", test.p).Field("q", test.q);
  json.Field("significant", test.q <= query::kSignificant);
}

void AppendRows(JsonWriter& json, std::string_view key, const std::vector<query::SlowRow>& rows) {
  json.Key(key).BeginArray();
  for (const query::SlowRow& row : rows) {
    json.BeginObject().Field("part", query::PartName(row.part));
    if (!row.name.empty()) json.Field("service", row.service).Field("name", row.name);
    if (!row.function.name.empty())
      json.Field("function", row.function.name).Field("module", row.function.module);
    if (row.function.name.empty()) json.Field("change_ns", row.change_ns);
    AppendTest(json, row.test);
    json.EndObject();
  }
  json.EndArray();
}

void AppendTraces(JsonWriter& json, std::string_view key,
                  const std::vector<profile::TraceId>& traces) {
  json.Key(key).BeginArray();
  for (const profile::TraceId& trace : traces) json.String(ToHex(trace));
  json.EndArray();
}

Result<std::int64_t> ReadLength(const Parameters& p, std::string_view name, std::int64_t without) {
  if (!p.Has(name)) return without;
  auto length = ParseDuration(p.Get(name));
  if (!length) return std::move(length).error().Within(fmt::format("parameter '{}'", name));
  return length;
}

// box_from, box_to, box_min, box_max: what is left out does not narrow it.
Result<query::SlowOptions::Box> ReadBox(const Parameters& p, query::TimeRange whole) {
  query::SlowOptions::Box box{.range = whole};
  if (p.Has("box_from") || p.Has("box_to")) {
    WHEREFORE_ASSIGN_OR_RETURN(const auto range, p.Range("box_"));
    if (p.Has("box_from")) box.range.from_ns = range.from_ns;
    if (p.Has("box_to")) box.range.to_ns = range.to_ns;
  }
  WHEREFORE_ASSIGN_OR_RETURN(box.least_ns, ReadLength(p, "box_min", box.least_ns));
  WHEREFORE_ASSIGN_OR_RETURN(box.most_ns, ReadLength(p, "box_max", box.most_ns));
  if (box.most_ns < box.least_ns)
    return Error(Code::kInvalid, "parameter 'box_max': less than 'box_min'");
  return box;
}

Result<query::SlowOptions> ReadOptions(const Parameters& p, query::TimeRange whole) {
  query::SlowOptions options;
  constexpr std::array<std::string_view, 4> kBox = {"box_from", "box_to", "box_min", "box_max"};
  if (std::ranges::any_of(kBox, [&](std::string_view name) { return p.Has(name); })) {
    for (const std::string_view other : {"slow", "typical"}) {
      if (p.Has(other))
        return Error(Code::kInvalid,
                     fmt::format("parameter '{}': a box is compared with all others", other));
    }
    WHEREFORE_ASSIGN_OR_RETURN(options.box, ReadBox(p, whole));
    return options;
  }
  auto slow = query::ParseQuantile(p.Get("slow", "p95"));
  if (!slow) return std::move(slow).error().Within("parameter 'slow'");
  auto typical = query::ParseQuantiles(p.Get("typical", "p40-p60"));
  if (!typical) return std::move(typical).error().Within("parameter 'typical'");
  options.slow_from = *slow;
  std::tie(options.typical_from, options.typical_to) = *typical;
  if (options.slow_from < options.typical_to)
    return Error(Code::kInvalid, "parameter 'slow': it begins before 'typical' ends");
  return options;
}

}  // namespace

void AppendSlow(JsonWriter& json, const query::SlowAnswer& answer) {
  json.Field("requests", answer.requests).Field("more", answer.more);
  json.Field("slow", answer.slow).Field("typical", answer.typical);
  json.Field("slow_from_ns", answer.slow_from_ns).Field("median_ns", answer.median_ns);
  json.Field("typical_from_ns", answer.typical_from_ns);
  json.Field("typical_to_ns", answer.typical_to_ns);
  json.Field("mean_slow_ns", answer.mean_slow_ns);
  json.Field("mean_typical_ns", answer.mean_typical_ns).Field("gap_ns", answer.gap_ns);
  json.Field("filed_under", answer.filed_under);
  AppendRows(json, "causes", answer.causes);
  AppendRows(json, "parts", answer.parts);
  AppendRows(json, "children", answer.children);
  AppendRows(json, "functions", answer.functions);
  json.Key("attributes").BeginArray();
  for (const query::SlowAttribute& a : answer.attributes) {
    json.BeginObject().Field("name", a.name).Field("value", a.value);
    AppendTest(json, a.test);
    json.EndObject();
  }
  json.EndArray();
  AppendTraces(json, "slow_traces", answer.slow_traces);
  AppendTraces(json, "typical_traces", answer.typical_traces);
  if (!answer.note.empty()) json.Field("note", answer.note);
}

Result<HttpResponse> AnswerSlow(query::QueryContext& context, const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto p,
      Parameters::Read(request, {"from", "to", "since", "service", "name", "attribute", "slow",
                                 "typical", "box_from", "box_to", "box_min", "box_max"}));
  WHEREFORE_ASSIGN_OR_RETURN(const auto search, ReadRequests(p));
  WHEREFORE_ASSIGN_OR_RETURN(const auto options, ReadOptions(p, search.range));
  WHEREFORE_ASSIGN_OR_RETURN(const auto answer,
                             query::SlowVersusTypical(context, search, options, request.cancel));
  HttpResponse response;
  JsonWriter json(response.body);
  json.BeginObject().Field("service", search.service).Field("name", search.name);
  AppendSlow(json, answer);
  json.EndObject();
  return response;
}

Result<HttpResponse> AnswerPathFlame(const HttpRequest& request, const Parameters& p,
                                     query::PathFlame flame) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto options, p.View());
  WHEREFORE_ASSIGN_OR_RETURN(const auto view,
                             query::ShowTree(std::move(flame.tree), options, request.cancel));
  return RenderTree(request, p.Get("format"),
                    {.tree = &view.tree,
                     .full_nodes = view.full_nodes,
                     .found = view.found ? &*view.found : nullptr});
}

Result<HttpResponse> AnswerPaths(query::QueryContext& context, const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto p,
      Parameters::Read(request, {"from", "to", "since", "service", "name", "attribute", "slowest",
                                 "lens", "search", "max_nodes", "min_share", "format"}));
  WHEREFORE_ASSIGN_OR_RETURN(auto search, ReadEndpoint(p));
  WHEREFORE_ASSIGN_OR_RETURN(const std::int64_t slowest, p.Int("slowest", 20, 1, 1000));
  search.slowest = true;
  search.limit = static_cast<std::size_t>(slowest);
  WHEREFORE_ASSIGN_OR_RETURN(const auto traces, query::FindTraces(context, search, request.cancel));
  if (traces.empty()) return Error(Code::kNotFound, "no span matches in that time");
  WHEREFORE_ASSIGN_OR_RETURN(
      auto flame, query::CriticalPathFlame(context, p.tenant(), traces, search.service, search.name,
                                           request.cancel));
  return AnswerPathFlame(request, p, std::move(flame));
}

}  // namespace wherefore::api
