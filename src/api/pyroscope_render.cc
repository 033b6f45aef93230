// PyroscopeApi: the older HTTP routes: render, render-diff, labels, label-values, apps, buildinfo.
//
// Parameters nobody knows are ignored, as these routes always did. Errors are in Connect's form.
#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "api/incomplete.h"
#include "api/pyroscope.h"
#include "api/run.h"
#include "base/clock.h"
#include "base/gzip.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "formats/pyroscope/time.h"
#include "query/catalog.h"
#include "query/labels.h"
#include "query/selector.h"

namespace wherefore::api {
namespace {

using formats::QuerierRequest;
using net::HttpResponse;

constexpr std::int64_t kNsPerMs = 1'000'000;
// Where queries begin that name no time: those of profiles, and of names.
constexpr std::string_view kLastHour = "now-1h";
constexpr std::string_view kLastDay = "now-24h";

std::string Get(const PyroscopeApi::HttpParameters& p, std::string_view name,
                std::string_view otherwise = "") {
  const auto it = p.find(name);
  return it == p.end() ? std::string(otherwise) : it->second;
}

// The times of a query; one that names no start begins at `since`.
Result<> ReadTimes(const PyroscopeApi::HttpParameters& p, std::string_view from,
                   std::string_view until, std::string_view since, QuerierRequest& out) {
  const std::int64_t now = NowUnixNs();
  WHEREFORE_ASSIGN_OR_RETURN(const std::int64_t start,
                             formats::ParsePyroscopeTime(Get(p, from, since), now));
  WHEREFORE_ASSIGN_OR_RETURN(const std::int64_t end,
                             formats::ParsePyroscopeTime(Get(p, until, "now"), now));
  out.start_ms = std::max<std::int64_t>(start / kNsPerMs, 1);
  out.end_ms = std::max<std::int64_t>(end / kNsPerMs, 1);
  return {};
}

PyroscopeApi::HttpParameters ParametersOf(const net::HttpRequest& request) {
  PyroscopeApi::HttpParameters parameters;
  for (auto& [key, value] : request.QueryParameters()) {
    parameters.try_emplace(std::move(key), std::move(value));
  }
  return parameters;
}

// The time that a query of any of these routes is about.
query::TimeRange TimesOf(const PyroscopeApi::HttpParameters& p, std::string_view since) {
  QuerierRequest left, right;
  const bool two = p.contains("leftQuery");
  (void)ReadTimes(p, two ? "leftFrom" : "from", two ? "leftUntil" : "until", since, left);
  (void)ReadTimes(p, two ? "rightFrom" : "from", two ? "rightUntil" : "until", since, right);
  return AskedFor({&left, &right});
}

// query, from and until with some prefix; "type{selector}".
Result<QuerierRequest> ReadQuery(const PyroscopeApi::HttpParameters& p, const std::string& query,
                                 const std::string& from, const std::string& until) {
  QuerierRequest out;
  const std::string text = Get(p, query);
  if (text.empty()) {
    return Error(Code::kInvalid,
                 fmt::format("parameter '{}': expected a profile type and a selector, "
                             "process_cpu:cpu:nanoseconds:cpu:nanoseconds{{service_name=\"x\"}}",
                             query));
  }
  const std::size_t brace = std::min(text.find('{'), text.size());
  out.type = text.substr(0, brace);
  out.selector = brace < text.size() ? text.substr(brace) : "{}";
  WHEREFORE_RETURN_IF_ERROR(ReadTimes(p, from, until, kLastHour, out));
  const std::string nodes = Get(p, "max-nodes", Get(p, "maxNodes", "0"));
  const auto number = ParseInt(nodes);
  if (!number) return Error(Code::kInvalid, "parameter 'max-nodes': expected a whole number");
  out.max_nodes = *number;
  return out;
}

// Fifteen hundred points at most, of a round length.
std::int64_t TimelineStep(std::int64_t range_seconds) {
  constexpr std::array<std::int64_t, 13> kLadder = {15,   30,   60,   120,   300,   600,  900,
                                                    1800, 3600, 7200, 21600, 43200, 86400};
  const auto* const it = std::lower_bound(kLadder.begin(), kLadder.end(), range_seconds / 1500);
  return it == kLadder.end() ? range_seconds / 1500 / 86400 * 86400 + 86400 : *it;
}

formats::Timeline Filled(const formats::TimeSeries& series, const QuerierRequest& request) {
  const auto step = static_cast<std::int64_t>(request.step_seconds);
  formats::Timeline out{.start_seconds = request.start_ms / 1000, .step_seconds = step};
  const std::int64_t points = (request.end_ms - request.start_ms) / (step * 1000) + 1;
  out.samples.resize(static_cast<std::size_t>(points));
  for (const formats::TimePoint& p : series.points) {
    const std::int64_t at = (p.time_ms - request.start_ms) / (step * 1000);
    if (at >= 0 && at < points) {
      out.samples[static_cast<std::size_t>(at)] = static_cast<std::int64_t>(p.value);
    }
  }
  return out;
}

HttpResponse StringList(const std::set<std::string>& list) {
  HttpResponse response;
  JsonWriter json(response.body);
  json.BeginArray();
  for (const std::string& text : list) json.String(text);
  json.EndArray();
  return response;
}

// Every series of the last day, or of from and until, that `query` lets through.
Result<query::Selection> ReadAnySeries(std::uint32_t tenant,
                                       const PyroscopeApi::HttpParameters& p) {
  query::Selection selection{.tenant = tenant};
  QuerierRequest times;
  WHEREFORE_RETURN_IF_ERROR(ReadTimes(p, "from", "until", kLastDay, times));
  WHEREFORE_ASSIGN_OR_RETURN(selection.range, ReadRange(times.start_ms, times.end_ms));
  std::string text = Get(p, "query");
  // "type{...}": colons belong to the type's id.
  const std::size_t brace = std::min(text.find('{'), text.size());
  if (text.substr(0, brace).find(':') != std::string::npos) {
    WHEREFORE_ASSIGN_OR_RETURN(const std::string type, ReadTypeId(text.substr(0, brace)));
    WHEREFORE_ASSIGN_OR_RETURN(const auto by_type, query::Selector::ParseSeries(fmt::format(
                                                       "{{__profile_type__=\"{}\"}}", type)));
    selection.selector.Add(by_type);
    text.erase(0, brace);
  }
  WHEREFORE_ASSIGN_OR_RETURN(const auto rest, query::Selector::ParseSeries(text));
  selection.selector.Add(rest);
  return selection;
}

}  // namespace

void PyroscopeApi::AddLegacyRoutes(net::Router& router) {
  using net::WorkKind;
  const auto add = [&](const std::string& path, WorkKind kind, std::string_view since,
                       LegacyRoute answer) {
    for (const std::string& prefix : {std::string("/pyroscope/"), std::string("/")}) {
      AddLegacyRoute(router, prefix + path, "pyroscope_" + path, kind, since, answer);
    }
  };
  add("render", WorkKind::kHeavy, kLastHour, &PyroscopeApi::Render);
  add("render-diff", WorkKind::kHeavy, kLastHour, &PyroscopeApi::RenderDiff);
  add("labels", WorkKind::kQuick, kLastDay, &PyroscopeApi::LegacyLabels);
  add("label-values", WorkKind::kQuick, kLastDay, &PyroscopeApi::LegacyLabelValues);
  add("api/apps", WorkKind::kQuick, kLastDay, &PyroscopeApi::LegacyApps);
  router.Add("GET", "/api/v1/status/buildinfo",
             [this](const net::HttpRequest&, const net::Respond& respond) {
               HttpResponse response;
               JsonWriter json(response.body);
               json.BeginObject().Field("status", "success").Key("data").BeginObject();
               json.Field("version", operations_.version).Field("revision", "");
               json.Field("branch", "").Field("buildUser", "").Field("buildDate", "");
               json.Field("goVersion", "").EndObject().EndObject();
               respond(std::move(response));
             });
}

void PyroscopeApi::AddLegacyRoute(net::Router& router, const std::string& path,
                                  const std::string& name, net::WorkKind kind,
                                  std::string_view since, LegacyRoute answer) {
  AddHttpQuery(router, workers_,
               {.pattern = path,
                .name = name,
                .kind = kind,
                .timeout_ns = operations_.query_timeout_ns,
                .memory_bytes = operations_.query_memory_bytes,
                .catch_up = operations_.catch_up,
                .answer = [this, since, answer](net::HttpRequest& request) -> Result<HttpResponse> {
                  Caller caller{.cancel = request.cancel};
                  WHEREFORE_ASSIGN_OR_RETURN(caller.tenant,
                                             operations_.require_tenant(request.headers));
                  return (this->*answer)(caller, ParametersOf(request));
                },
                .failure = net::ConnectError,
                .mark =
                    [this, since](const net::HttpRequest& request, HttpResponse& response) {
                      if (const auto tenant = operations_.require_tenant(request.headers))
                        MarkIncomplete(operations_, *tenant, TimesOf(ParametersOf(request), since),
                                       response.headers);
                    }});
  router.SetRefusalFormat(path, net::ConnectRefusal);
}

Result<HttpResponse> PyroscopeApi::Render(const Caller& caller, const HttpParameters& p) {
  WHEREFORE_ASSIGN_OR_RETURN(QuerierRequest request, ReadQuery(p, "query", "from", "until"));
  const std::string format = Get(p, "format", "json");
  HttpResponse response;
  if (format == "pprof") {
    WHEREFORE_ASSIGN_OR_RETURN(const std::string pprof, Pprof(caller, request));
    response.content_type = "application/octet-stream";
    response.headers["Content-Disposition"] = "attachment; filename=\"profile.pb.gz\"";
    response.body = Gzip(pprof);
    return response;
  }
  WHEREFORE_ASSIGN_OR_RETURN(const auto tree, Tree(caller, request));
  if (format == "dot") {
    response.content_type = "text/plain; charset=utf-8";
    response.body = Dot(tree, request.max_nodes);
    return response;
  }
  if (format != "json") {
    return Error(Code::kInvalid, "parameter 'format': expected json, dot or pprof");
  }
  WHEREFORE_ASSIGN_OR_RETURN(const std::size_t max_nodes, ReadMaxNodes(request.max_nodes));
  formats::Flamebearer file{
      .graph = formats::ToFlameGraph(profile::Prune(tree, {.max_nodes = max_nodes}))};
  formats::DescribeUnits(query::TypeLabel(tree.type, "__type__"),
                         query::TypeLabel(tree.type, "__unit__"), file);
  request.step_seconds =
      static_cast<double>(TimelineStep((request.end_ms - request.start_ms) / 1000));
  request.aggregation = Get(p, "aggregation") == "avg" ? 1 : 0;
  WHEREFORE_ASSIGN_OR_RETURN(const auto all, TimeSeriesOf(caller, request));
  const formats::Timeline timeline =
      Filled(all.empty() ? formats::TimeSeries() : all.front(), request);
  file.timeline = &timeline;
  if (const std::string label = Get(p, "groupBy"); !label.empty()) {
    request.group_by = {label.substr(0, label.find(','))};
    WHEREFORE_ASSIGN_OR_RETURN(const auto groups, TimeSeriesOf(caller, request));
    for (const formats::TimeSeries& group : groups) {
      file.groups.emplace_back(group.labels.empty() ? "*" : group.labels.front().second,
                               Filled(group, request));
    }
  }
  response.body = formats::EncodeFlamebearer(file);
  return response;
}

Result<HttpResponse> PyroscopeApi::RenderDiff(const Caller& caller, const HttpParameters& p) {
  formats::DiffRequest request;
  WHEREFORE_ASSIGN_OR_RETURN(request.left, ReadQuery(p, "leftQuery", "leftFrom", "leftUntil"));
  WHEREFORE_ASSIGN_OR_RETURN(request.right, ReadQuery(p, "rightQuery", "rightFrom", "rightUntil"));
  WHEREFORE_ASSIGN_OR_RETURN(const std::string left_type, ReadTypeId(request.left.type));
  WHEREFORE_ASSIGN_OR_RETURN(const std::string right_type, ReadTypeId(request.right.type));
  if (left_type != right_type) {
    return Error(Code::kInvalid, "leftQuery and rightQuery must be about the same profile type");
  }
  formats::Flamebearer file;
  WHEREFORE_ASSIGN_OR_RETURN(file.graph, DiffGraph(caller, request));
  formats::DescribeUnits(query::TypeLabel(left_type, "__type__"),
                         query::TypeLabel(left_type, "__unit__"), file);
  return HttpResponse{.body = formats::EncodeFlamebearer(file)};
}

Result<HttpResponse> PyroscopeApi::LegacyLabels(const Caller& caller, const HttpParameters& p) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto selection, ReadAnySeries(caller.tenant, p));
  std::set<std::string> names;
  WHEREFORE_RETURN_IF_ERROR(query::EachSeries(
      context_, selection,
      [&](const query::StoredSeries& s) {
        for (auto& [name, value] : PyroscopeLabels(s, true)) names.insert(name);
      },
      caller.cancel));
  return StringList(names);
}

Result<HttpResponse> PyroscopeApi::LegacyLabelValues(const Caller& caller,
                                                     const HttpParameters& p) {
  std::string label = Get(p, "label");
  if (label.empty()) return Error(Code::kInvalid, "parameter 'label': which one?");
  if (label == "__name__") label = "__profile_type__";  // what this route always gave
  WHEREFORE_ASSIGN_OR_RETURN(const auto selection, ReadAnySeries(caller.tenant, p));
  std::set<std::string> values;
  WHEREFORE_RETURN_IF_ERROR(query::EachSeries(
      context_, selection,
      [&](const query::StoredSeries& s) {
        if (const auto value = PyroscopeLabel(s, label); !value.empty()) values.emplace(value);
      },
      caller.cancel));
  return StringList(values);
}

Result<HttpResponse> PyroscopeApi::LegacyApps(const Caller& caller, const HttpParameters& p) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto selection, ReadAnySeries(caller.tenant, p));
  std::set<std::pair<std::string, std::string>> apps;
  WHEREFORE_RETURN_IF_ERROR(query::EachSeries(
      context_, selection,
      [&](const query::StoredSeries& s) { apps.emplace(s.service, s.type_id); }, caller.cancel));
  HttpResponse response;
  JsonWriter json(response.body);
  json.BeginArray();
  for (const auto& [service, type] : apps) {
    json.BeginObject().Field("name", service).Field("__name_id__", "service_name");
    for (const std::string_view label : query::kTypeLabels) {
      json.Field(label, query::TypeLabel(type, label));
    }
    json.EndObject();
  }
  json.EndArray();
  return response;
}

}  // namespace wherefore::api
