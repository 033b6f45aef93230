// Api: traces by id, trace search, critical paths, the profile of a trace or of some of its spans.
#include <algorithm>
#include <bit>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "api/accounting_json.h"
#include "api/api.h"
#include "api/export_file.h"
#include "api/render.h"
#include "api/request.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "query/context.h"
#include "query/critical_path.h"
#include "query/function_traces.h"
#include "query/latency_map.h"
#include "query/looks.h"
#include "query/name_list.h"
#include "query/search.h"
#include "query/span_details.h"
#include "query/span_profile.h"
#include "query/stack_tries.h"
#include "query/traces.h"
#include "query/view.h"

namespace wherefore::api {
namespace {

using net::HttpRequest;
using net::HttpResponse;

constexpr std::array<std::string_view, 6> kKinds = {"unspecified", "internal", "server",
                                                    "client",      "producer", "consumer"};
constexpr std::array<std::string_view, 3> kStatuses = {"unset", "ok", "error"};

void AppendPairs(JsonWriter& json, std::string_view key,
                 const std::vector<std::pair<std::string, std::string>>& pairs) {
  json.Key(key).BeginObject();
  for (const auto& [name, value] : pairs) json.Field(name, value);
  json.EndObject();
}

// Scope, state, events and links, each only where there is one.
void AppendDetails(JsonWriter& json, const query::SpanDetails& d) {
  if (!d.scope_name.empty()) json.Field("scope", d.scope_name);
  if (!d.scope_version.empty()) json.Field("scope_version", d.scope_version);
  if (!d.trace_state.empty()) json.Field("trace_state", d.trace_state);
  if (d.flags != 0) json.Field("flags", d.flags);
  if (!d.events.empty()) {
    json.Key("events").BeginArray();
    for (const query::SpanDetails::Event& e : d.events) {
      json.BeginObject().Field("time_ns", e.time_ns).Field("name", e.name);
      AppendPairs(json, "attributes", e.attributes);
      json.EndObject();
    }
    json.EndArray();
  }
  if (!d.links.empty()) {
    json.Key("links").BeginArray();
    for (const query::SpanDetails::Link& l : d.links) {
      json.BeginObject().Field("trace", ToHex(l.trace)).Field("span", ToHex(l.span));
      AppendPairs(json, "attributes", l.attributes);
      json.EndObject();
    }
    json.EndArray();
  }
}

void AppendSpan(JsonWriter& json, const query::SpanRow& s) {
  json.BeginObject().Field("trace", ToHex(s.trace)).Field("span", ToHex(s.id));
  json.Field("parent", s.parent == profile::SpanId{} ? "" : ToHex(s.parent));
  json.Field("service", s.service_name).Field("name", s.name);
  json.Field("kind", kKinds[s.kind < kKinds.size() ? s.kind : 0]);
  json.Field("status", kStatuses[s.status_code < kStatuses.size() ? s.status_code : 0]);
  if (!s.status_message.empty()) json.Field("status_message", s.status_message);
  // Nanoseconds since 1970 do not fit a JavaScript number; text keeps them exact.
  json.Field("start_ns", s.start_ns).Field("duration_ns", s.duration_ns);
  AppendPairs(json, "attributes", s.attributes);
  AppendPairs(json, "resource", s.resource);
  if (const auto details = query::DescribeSpan(s)) AppendDetails(json, *details);
  json.EndObject();
}

// What a waterfall needs of every span, as columns: a trace of 100,000 spans stays small enough for
// a page. Strings are numbers into `strings`; `parent` is a place in the columns, -1 = none, -2 =
// not stored.
std::string TraceColumns(const profile::TraceId& trace, const std::vector<query::SpanRow>& spans) {
  std::unordered_map<std::string_view, std::size_t> numbers;
  std::vector<std::string_view> strings;
  const auto number = [&](std::string_view text) {
    const auto [it, added] = numbers.try_emplace(text, strings.size());
    if (added) strings.push_back(text);
    return static_cast<std::int64_t>(it->second);
  };
  // Sorted numbers: a tree of ids would take longer than reading the spans.
  const auto key = [](const profile::SpanId& id) { return std::bit_cast<std::uint64_t>(id); };
  std::vector<std::pair<std::uint64_t, std::int64_t>> places;
  places.reserve(spans.size());
  for (std::size_t i = 0; i < spans.size(); ++i)
    places.emplace_back(key(spans[i].id), static_cast<std::int64_t>(i));
  std::ranges::sort(places);
  const auto parent = [&](const query::SpanRow& s) -> std::int64_t {
    if (s.parent == profile::SpanId{}) return -1;
    const auto found = std::ranges::lower_bound(places, std::pair(key(s.parent), std::int64_t{0}));
    return found == places.end() || found->first != key(s.parent) ? -2 : found->second;
  };
  std::string out;
  JsonWriter json(out);
  const std::int64_t start = spans.front().start_ns;  // the earliest
  json.BeginObject().Field("trace", ToHex(trace)).Field("start_ns", start);
  json.Key("span").BeginArray();
  for (const query::SpanRow& s : spans) json.String(ToHex(s.id));
  json.EndArray();
  const auto column = [&](std::string_view name, auto value) {
    json.Key(name).BeginArray();
    for (const query::SpanRow& s : spans) json.Int(value(s));
    json.EndArray();
  };
  column("parent", parent);
  column("service", [&](const query::SpanRow& s) { return number(s.service_name); });
  column("name", [&](const query::SpanRow& s) { return number(s.name); });
  column("status", [](const query::SpanRow& s) { return std::int64_t{s.status_code}; });
  column("start", [&](const query::SpanRow& s) { return s.start_ns - start; });
  column("duration", [](const query::SpanRow& s) { return s.duration_ns; });
  json.Key("strings").BeginArray();
  for (const std::string_view text : strings) json.String(text);
  json.EndArray().EndObject();
  return out;
}

// span=<id>: only that one. format=columns: what a waterfall needs of all of them.
Error NoSpans(const profile::TraceId& trace) {
  return {Code::kNotFound, "no spans of trace " + ToHex(trace) + " are stored"};
}

Result<HttpResponse> OneTrace(query::QueryContext& context, const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto p, Parameters::Read(request, {"span", "format"}));
  WHEREFORE_ASSIGN_OR_RETURN(const auto trace, ParseTraceId(request.Header(":trace")));
  const std::string format = p.Get("format", "json");
  if (format != "json" && format != "columns")
    return Error(Code::kInvalid, "parameter 'format': expected json or columns");
  std::set<profile::SpanId> wanted;
  for (const std::string& text : p.All("span")) {
    WHEREFORE_ASSIGN_OR_RETURN(const auto span, ParseSpanId(text));
    wanted.insert(span);
  }
  const bool columns = format == "columns";
  WHEREFORE_ASSIGN_OR_RETURN(const auto spans,
                             columns ? query::TraceShape(context, p.tenant(), trace, request.cancel)
                                     : query::Trace(context, p.tenant(), trace, request.cancel));
  if (spans.empty()) return NoSpans(trace);
  HttpResponse response;
  if (columns) {
    response.body = TraceColumns(trace, spans);
    return response;
  }
  JsonWriter json(response.body);
  json.BeginObject().Field("trace", ToHex(trace)).Key("spans").BeginArray();
  for (const query::SpanRow& span : spans) {
    if (wanted.empty() || wanted.contains(span.id)) AppendSpan(json, span);
  }
  json.EndArray().EndObject();
  return response;
}

// Which span the request waited for at every moment.
Result<HttpResponse> TracePath(query::QueryContext& context, const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto p, Parameters::Read(request, {}));
  WHEREFORE_ASSIGN_OR_RETURN(const auto trace, ParseTraceId(request.Header(":trace")));
  WHEREFORE_ASSIGN_OR_RETURN(const auto spans,
                             query::Trace(context, p.tenant(), trace, request.cancel));
  if (spans.empty()) return NoSpans(trace);
  const query::CriticalPath path = query::FindCriticalPath(spans);
  const auto id_of = [&](std::uint32_t span) {
    return span == query::kNoSpan ? std::string() : ToHex(spans[span].id);
  };
  HttpResponse response;
  JsonWriter json(response.body);
  json.BeginObject().Field("trace", ToHex(trace)).Field("root", id_of(path.root));
  json.Field("duration_ns", path.duration_ns).Key("segments").BeginArray();
  for (const query::PathSegment& segment : path.segments) {
    json.BeginObject().Field("span", id_of(segment.span));
    json.Field("start_ns", segment.start_ns);
    json.Field("duration_ns", segment.end_ns - segment.start_ns).EndObject();
  }
  json.EndArray().Key("moved_ns").BeginObject();
  for (std::uint32_t i = 0; i < spans.size(); ++i) {
    if (path.moved_ns[i] != 0) json.Field(id_of(i), path.moved_ns[i]);
  }
  json.EndObject().EndObject();
  return response;
}

Result<std::int64_t> ReadDuration(std::string_view name, const std::string& text) {
  auto duration = ParseDuration(text);
  if (!duration) return std::move(duration).error().Within(fmt::format("parameter '{}'", name));
  return duration;
}

Result<query::SpanSearch> ReadSearch(const Parameters& p) {
  query::SpanSearch search{.tenant = p.tenant()};
  WHEREFORE_ASSIGN_OR_RETURN(search.range, p.Range());
  search.service = p.Get("service");
  search.name = p.Get("name");
  if (const std::string text = p.Get("min_duration"); !text.empty()) {
    WHEREFORE_ASSIGN_OR_RETURN(search.min_duration_ns, ReadDuration("min_duration", text));
  }
  if (const std::string text = p.Get("max_duration"); !text.empty()) {
    WHEREFORE_ASSIGN_OR_RETURN(search.max_duration_ns, ReadDuration("max_duration", text));
  }
  if (const std::string text = p.Get("status"); !text.empty()) {
    const auto* const it = std::find(kStatuses.begin(), kStatuses.end(), text);
    if (it == kStatuses.end())
      return Error(Code::kInvalid, "parameter 'status': expected unset, ok or error");
    search.status_code = static_cast<int>(it - kStatuses.begin());
  }
  for (const std::string& text : p.All("attribute")) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos)
      return Error(Code::kInvalid, "parameter 'attribute': expected name=value");
    search.attributes.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  if (const std::string only = p.Get("only"); !only.empty()) {
    if (only != "requests") return Error(Code::kInvalid, "parameter 'only': expected requests");
    search.requests_only = true;
  }
  WHEREFORE_ASSIGN_OR_RETURN(const std::int64_t limit, p.Int("limit", 20, 1, 1000));
  search.limit = static_cast<std::size_t>(limit);
  // Twenty of a trace are enough to show why it matched.
  WHEREFORE_ASSIGN_OR_RETURN(const std::int64_t matched, p.Int("matched", 20, 0, 20));
  search.most_per_trace = static_cast<std::size_t>(matched);
  return search;
}

Result<query::SearchOrder> ReadOrder(const Parameters& p) {
  constexpr std::array<std::string_view, 4> kOrders = {"time", "duration", "cpu", "samples"};
  const auto* const order = std::ranges::find(kOrders, p.Get("sort", kOrders[0]));
  if (order == kOrders.end())
    return Error(Code::kInvalid, "parameter 'sort': expected time, duration, cpu or samples");
  return static_cast<query::SearchOrder>(order - kOrders.begin());
}

// How far off a value may be that single looks add up to; `count` says how many.
void AppendError(JsonWriter& json, const std::optional<query::Looks>& looks) {
  if (looks) json.Field("error_ns", looks->error_ns);
}

Result<HttpResponse> Search(query::QueryContext& context, const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto p, Parameters::Read(request, {"from", "to", "since", "service", "name",
                                               "min_duration", "max_duration", "status",
                                               "attribute", "only", "limit", "matched", "sort"}));
  WHEREFORE_ASSIGN_OR_RETURN(const auto search, ReadSearch(p));
  WHEREFORE_ASSIGN_OR_RETURN(const auto order, ReadOrder(p));
  WHEREFORE_ASSIGN_OR_RETURN(const auto found,
                             query::SearchTraces(context, search, order, request.cancel));
  HttpResponse response;
  JsonWriter json(response.body);
  json.BeginObject();
  if (found.looked_at != 0) json.Field("looked_at", found.looked_at);
  json.Key("traces").BeginArray();
  for (const query::TraceSummary& t : found.traces) {
    json.BeginObject().Field("trace", ToHex(t.trace)).Field("root_service", t.root_service);
    json.Field("root_name", t.root_name).Field("root_missing", t.root_missing);
    json.Field("start", FormatTime(t.start_ns));
    json.Field("start_ns", t.start_ns).Field("duration_ns", t.duration_ns);
    json.Field("spans", t.spans).Field("errors", t.errors).Key("profiled").BeginArray();
    for (const query::TraceProfile& profile : t.profiles) {
      json.BeginObject().Field("type", profile.type).Field("unit", profile.unit);
      json.Field("value", profile.value).Field("count", profile.count);
      AppendError(json, profile.looks);
      json.EndObject();
    }
    json.EndArray().Key("matched").BeginArray();
    for (const query::SpanRow& span : t.matched) AppendSpan(json, span);
    json.EndArray().EndObject();
  }
  json.EndArray().EndObject();
  return response;
}

// All that match over time and duration.
Result<HttpResponse> Latency(query::QueryContext& context, const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto p,
      Parameters::Read(request, {"from", "to", "since", "service", "name", "min_duration",
                                 "max_duration", "status", "attribute", "only", "steps"}));
  WHEREFORE_ASSIGN_OR_RETURN(auto search, ReadSearch(p));
  WHEREFORE_ASSIGN_OR_RETURN(const std::int64_t steps, p.Int("steps", 120, 1, 1000));
  EndNow(p, search.range);
  const std::int64_t width = search.range.to_ns - search.range.from_ns;
  const std::int64_t step = (width / steps / 1'000'000 + 1) * 1'000'000;
  WHEREFORE_ASSIGN_OR_RETURN(const auto answer,
                             query::LatencyMap(context, search, step, request.cancel));
  HttpResponse response;
  JsonWriter json(response.body);
  json.BeginObject().Field("start_ms", answer.start_ns / 1'000'000);
  json.Field("step_ms", answer.step_ns / 1'000'000).Field("steps", answer.steps);
  json.Field("spans", answer.spans).Field("errors", answer.errors).Key("bounds_ns").BeginArray();
  for (const std::int64_t bound : answer.bounds_ns) json.Int(bound);
  json.EndArray().Key("cells").BeginArray();
  for (const query::LatencyMapAnswer::Cell& cell : answer.cells)
    json.BeginArray().Int(cell.step).Int(cell.row).Int(cell.count).Int(cell.errors).EndArray();
  json.EndArray().EndObject();
  return response;
}

Result<HttpResponse> PathOfTrace(query::QueryContext& context, const HttpRequest& request,
                                 const Parameters& p, const profile::TraceId& trace) {
  if (p.Get("path") != "critical")
    return Error(Code::kInvalid, "parameter 'path': expected critical");
  for (const std::string_view other : {"span", "subtree", "type"}) {
    if (p.Has(other))
      return Error(Code::kInvalid,
                   fmt::format("parameter '{}': a critical path is of the whole trace", other));
  }
  WHEREFORE_ASSIGN_OR_RETURN(
      auto flame, query::CriticalPathFlame(context, p.tenant(), {trace}, "", "", request.cancel));
  if (flame.traces == 0) return NoSpans(trace);
  return AnswerPathFlame(request, p, std::move(flame));
}

Result<HttpResponse> TraceFlame(query::QueryContext& context, const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto p, Parameters::Read(request, {"span", "subtree", "path", "type", "lens", "search",
                                               "max_nodes", "min_share", "format"}));
  WHEREFORE_ASSIGN_OR_RETURN(const auto trace, ParseTraceId(request.Header(":trace")));
  if (p.Has("path")) return PathOfTrace(context, request, p, trace);
  std::vector<profile::SpanId> spans;
  for (const std::string& text : p.All("span")) {
    WHEREFORE_ASSIGN_OR_RETURN(const auto span, ParseSpanId(text));
    spans.push_back(span);
  }
  WHEREFORE_ASSIGN_OR_RETURN(const bool subtree, p.Flag("subtree"));
  if (subtree) {
    WHEREFORE_ASSIGN_OR_RETURN(const auto all,
                               query::TraceShape(context, p.tenant(), trace, request.cancel));
    WHEREFORE_RETURN_IF_ERROR(query::AddDescendants(all, spans));
  }
  WHEREFORE_ASSIGN_OR_RETURN(const auto options, p.View());
  WHEREFORE_ASSIGN_OR_RETURN(auto answer, query::SpanProfile(context, p.tenant(), trace, spans,
                                                             p.Get("type"), request.cancel));
  if (const std::string format = p.Get("format"); IsTreeFile(format)) {
    if (answer.by_span.empty()) return Error(Code::kNotFound, answer.hint);
    WHEREFORE_ASSIGN_OR_RETURN(
        const auto tree, query::ApplyLens(std::move(answer.tree), options.lens, request.cancel));
    return RenderTreeFile(
        tree, format,
        {.title = fmt::format("{} {} {}", spans.empty() ? "trace" : "spans of trace", ToHex(trace),
                              tree.type)},
        request.cancel);
  }
  WHEREFORE_ASSIGN_OR_RETURN(const auto view,
                             query::ShowTree(std::move(answer.tree), options, request.cancel));
  return RenderTree(request, p.Get("format"),
                    {.tree = &view.tree,
                     .full_nodes = view.full_nodes,
                     .hint = answer.hint,
                     .found = view.found ? &*view.found : nullptr,
                     .by_span = &answer.by_span,
                     .looks = &answer.looks,
                     .filed_under = answer.filed_under,
                     .arriving = answer.arriving,
                     .types = answer.types});
}

void AppendFunctionTrace(JsonWriter& json, const query::FunctionTraces::Trace& t) {
  const query::TraceSummary& s = t.summary;
  json.BeginObject().Field("trace", s.trace == profile::TraceId{} ? "" : ToHex(s.trace));
  json.Field("root_service", s.root_service).Field("root_name", s.root_name);
  json.Field("root_missing", s.root_missing);
  json.Field("start_ns", s.start_ns).Field("duration_ns", s.duration_ns);
  json.Field("spans", s.spans).Field("errors", s.errors);
  json.Field("value", t.value).Field("count", t.count);
  AppendError(json, t.looks);
  json.Key("seen_in").BeginArray();
  for (const query::FunctionTraces::Span& span : t.spans) {
    json.BeginObject().Field("span", ToHex(span.span)).Field("service", span.service);
    json.Field("name", span.name).Field("duration_ns", span.duration_ns);
    json.Field("value", span.value).Field("count", span.count);
    AppendError(json, span.looks);
    json.EndObject();
  }
  json.EndArray().EndObject();
}

// function=<whole name>, and module=<file name> to tell functions of the same name apart.
Result<HttpResponse> FunctionTraces(query::QueryContext& context, const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto p, Parameters::Read(request, {"query", "type", "from", "to", "since", "function",
                                               "module", "limit", "sort"}));
  WHEREFORE_ASSIGN_OR_RETURN(const auto selection, p.Selection());
  WHEREFORE_ASSIGN_OR_RETURN(const std::int64_t limit, p.Int("limit", 20, 1, 1000));
  static constexpr std::array<std::string_view, 3> kOrders = {"value", "duration", "time"};
  const auto* const order = std::ranges::find(kOrders, p.Get("sort", kOrders[0]));
  if (order == kOrders.end())
    return Error(Code::kInvalid, "parameter 'sort': expected value, duration or time");
  query::FunctionName function{.name = p.Get("function")};
  if (function.name.empty())
    return Error(Code::kInvalid, "parameter 'function': expected a function's whole name");
  if (p.Has("module")) function.module = p.Get("module");
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto answer,
      query::TracesOf(context, selection, function,
                      {.limit = static_cast<std::size_t>(limit),
                       .order = static_cast<query::TraceOrder>(order - kOrders.begin())},
                      request.cancel));
  HttpResponse response;
  JsonWriter json(response.body);
  json.BeginObject().Field("type", answer.type).Field("unit", answer.unit);
  json.Field("value", answer.value).Field("count", answer.count);
  json.Field("linked_value", answer.linked_value).Field("linked_count", answer.linked_count);
  json.Field("found", answer.found);
  if (!answer.hint.empty()) json.Field("hint", answer.hint);
  json.Key("traces").BeginArray();
  for (const query::FunctionTraces::Trace& t : answer.traces) AppendFunctionTrace(json, t);
  json.EndArray().EndObject();
  return response;
}

// Services that have spans, and names of spans; both are looked for and cut by themselves.
Result<HttpResponse> SpanNames(query::QueryContext& context, const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto p,
      Parameters::Read(request, {"from", "to", "since", "service", "search", "limit"}));
  WHEREFORE_ASSIGN_OR_RETURN(const auto range, p.Range());
  WHEREFORE_ASSIGN_OR_RETURN(const auto wanted, p.List(1000, 10'000));
  WHEREFORE_ASSIGN_OR_RETURN(const auto names,
                             query::SpanNames(context, p.tenant(), range, request.cancel));
  const std::string of = p.Get("service");
  query::NameSet services(wanted, request.cancel);
  HttpResponse response;
  JsonWriter json(response.body);
  json.BeginObject().Key("spans").BeginArray();
  std::size_t total = 0;
  for (const auto& [service, name] : names) {
    WHEREFORE_RETURN_IF_ERROR(services.Add(service));
    if ((!of.empty() && service != of) || !wanted.search.Matches(name)) continue;
    if (total++ >= wanted.limit) continue;
    json.BeginObject().Field("service", service).Field("name", name).EndObject();
  }
  const query::NameList list = services.Take();
  json.EndArray().Field("total", total).Key("services").BeginArray();
  for (const std::string& name : list.names) json.String(name);
  json.EndArray().Field("services_total", list.total).EndObject();
  return response;
}

}  // namespace

void Api::AddTraceRoutes(net::Router& router) {
  AddQuery(router, "traces", "trace_search", net::WorkKind::kHeavy, Search);
  AddQuery(router, "latency", "latency", net::WorkKind::kHeavy, Latency);
  AddQuery(router, "traces/{trace}", "trace", net::WorkKind::kHeavy, OneTrace);
  AddQuery(router, "traces/{trace}/critical-path", "critical_path", net::WorkKind::kHeavy,
           TracePath);
  AddQuery(router, "traces/{trace}/flame", "trace_flame", net::WorkKind::kHeavy, TraceFlame);
  AddQuery(router, "function-traces", "function_traces", net::WorkKind::kHeavy, FunctionTraces);
  AddQuery(router, "span-names", "span_names", net::WorkKind::kQuick, SpanNames);
}

}  // namespace wherefore::api
