// Api: services, labels, flame graphs, tables, differences, lists, stored profiles, exports.
#include <algorithm>

#include <fmt/format.h>

#include "api/api.h"
#include "api/export_file.h"
#include "api/render.h"
#include "api/request.h"
#include "base/clock.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "formats/formats.h"
#include "query/context.h"
#include "query/diff.h"
#include "query/export.h"
#include "query/flame.h"
#include "query/function_traces.h"
#include "query/labels.h"
#include "query/list.h"
#include "query/search.h"
#include "query/snapshots.h"
#include "query/top.h"
#include "query/view.h"

namespace wherefore::api {
namespace {

using net::HttpRequest;
using net::HttpResponse;

Result<HttpResponse> Services(query::QueryContext& context, const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto p, Parameters::Read(request, {"query", "from", "to", "since", "search", "limit"}));
  WHEREFORE_ASSIGN_OR_RETURN(const auto selection, p.Selection());
  WHEREFORE_ASSIGN_OR_RETURN(const auto wanted, p.List(1000, 10'000));
  WHEREFORE_ASSIGN_OR_RETURN(const auto list,
                             query::Services(context, selection, wanted, request.cancel));
  HttpResponse response;
  JsonWriter json(response.body);
  json.BeginObject().Field("total", list.total).Key("services").BeginArray();
  for (const query::ServiceInfo& s : list.services) {
    json.BeginObject().Field("name", s.name).Field("profiles", s.profiles);
    json.Key("types").BeginArray();
    for (std::size_t i = 0; i < s.types.size(); ++i) {
      json.BeginObject().Field("name", s.types[i]).Field("id", s.type_ids[i]).EndObject();
    }
    json.EndArray().Field("last", FormatTime(s.last_ns)).EndObject();
  }
  json.EndArray().EndObject();
  return response;
}

// Label names, or the values of the label in the path.
Result<HttpResponse> Labels(query::QueryContext& context, const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto p, Parameters::Read(request, {"query", "from", "to", "since", "search", "limit"}));
  WHEREFORE_ASSIGN_OR_RETURN(const auto selection, p.Selection());
  WHEREFORE_ASSIGN_OR_RETURN(const auto wanted, p.List(1000, 10'000));
  const std::string label(request.Header(":name"));
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto list, label.empty()
                           ? query::LabelNames(context, selection, wanted, request.cancel)
                           : query::LabelValues(context, selection, label, wanted, request.cancel));
  HttpResponse response;
  JsonWriter json(response.body);
  json.BeginObject().Field("total", list.total);
  json.Key(label.empty() ? "labels" : "values").BeginArray();
  for (const std::string& name : list.names) json.String(name);
  json.EndArray().EndObject();
  return response;
}

Result<HttpResponse> Flame(query::QueryContext& context, const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto p, Parameters::Read(request, {"query", "type", "from", "to", "since", "lens",
                                               "root", "function", "module", "side", "search",
                                               "max_nodes", "min_share", "format", "observed"}));
  WHEREFORE_ASSIGN_OR_RETURN(const auto selection, p.Selection());
  WHEREFORE_ASSIGN_OR_RETURN(const bool observed, p.Flag("observed"));
  WHEREFORE_ASSIGN_OR_RETURN(const auto options, p.View());
  auto shown = query::ShowFlame(context, selection, options, request.cancel);
  if (!shown && shown.error().code() == Code::kNotFound)
    return std::move(shown).error().Within("parameter 'root'");
  if (!shown) return std::move(shown).error();
  const query::View& view = shown->view;
  TreeAnswer out{.tree = &view.tree,
                 .full_nodes = view.full_nodes,
                 .averaged = shown->averaged,
                 .hint = shown->hint.empty() ? view.hint : shown->hint,
                 .found = view.found ? &*view.found : nullptr,
                 .tier = &shown->tier};
  if (observed) {
    WHEREFORE_ASSIGN_OR_RETURN(out.observed_ns,
                               query::ObservedNs(context, selection, request.cancel));
  }
  return RenderTree(request, p.Get("format"), out);
}

Result<HttpResponse> Top(query::QueryContext& context, const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto p, Parameters::Read(request, {"query", "type", "from", "to", "since", "lens",
                                               "search", "limit", "sort"}));
  WHEREFORE_ASSIGN_OR_RETURN(const auto selection, p.Selection());
  WHEREFORE_ASSIGN_OR_RETURN(const auto lens, p.Lens());
  WHEREFORE_ASSIGN_OR_RETURN(const auto search, p.Search());
  WHEREFORE_ASSIGN_OR_RETURN(const std::int64_t limit, p.Int("limit", 100, 1, 1'000'000));
  WHEREFORE_ASSIGN_OR_RETURN(auto answer,
                             query::Top(context, selection, lens, search, request.cancel));
  std::vector<profile::TopRow>& rows = answer.rows;
  if (const std::string sort = p.Get("sort", "self"); sort == "total") {
    std::ranges::stable_sort(rows, std::greater(), &profile::TopRow::total);
  } else if (sort != "self") {
    return Error(Code::kInvalid, "parameter 'sort': expected self or total");
  }
  HttpResponse response;
  JsonWriter json(response.body);
  json.BeginObject().Field("type", answer.type).Field("unit", answer.unit);
  json.Field("scale", answer.scale).Field("total", answer.total).Field("count", answer.count);
  json.Field("averaged", answer.averaged).Field("functions", rows.size());
  AppendTier(json, answer.tier, answer.hint);
  AppendOverflow(json, {answer.total, answer.count});
  if (answer.found) {
    answer.found->AppendTo(json);
    std::erase_if(
        rows, [&](const profile::TopRow& r) { return answer.found->functions[r.function] == 0; });
  }
  json.Key("rows").BeginArray();
  std::int64_t other = answer.total;
  for (std::size_t i = 0; i < rows.size() && i < static_cast<std::size_t>(limit); ++i) {
    const profile::FlameFunction& f = answer.functions[rows[i].function];
    other -= rows[i].self;
    json.BeginObject().Field("name", f.name).Field("module", f.module).Field("file", f.file);
    json.Field("self", rows[i].self).Field("total", rows[i].total);
    json.Field("self_count", rows[i].self_count)
        .Field("total_count", rows[i].total_count)
        .EndObject();
  }
  // What the rows left out have in self value, so that the column adds up to the total.
  json.EndArray().Field("other", other).EndObject();
  return response;
}

// In what functions are compared; none: the sums alone.
Result<std::optional<query::Compared>> ComparedIn(const Parameters& p) {
  const std::string mode = p.Get("mode");
  if (mode.empty() || mode == "raw") return std::nullopt;
  if (mode == "share") return query::Compared::kShares;
  if (mode == "rate") return query::Compared::kPerSecond;
  if (mode == "request") return query::Compared::kPerRequest;
  return Error(Code::kInvalid,
               fmt::format("parameter 'mode': '{}' is not raw, share, rate or request", mode));
}

// Some traces for the first causes, those with most of the function first.
Result<> AddTraces(query::QueryContext& context, const query::Selection& after,
                   std::vector<query::Cause>& causes, const CancelToken& cancel) {
  constexpr std::size_t kMost = 3;  // causes, and traces of each
  for (std::size_t i = 0; i < std::min(kMost, causes.size()); ++i) {
    if (causes[i].kind == query::CauseKind::kGone) continue;
    WHEREFORE_ASSIGN_OR_RETURN(
        const auto found,
        query::TracesOf(context, after, {causes[i].function.name, causes[i].function.module},
                        {.limit = kMost}, cancel));
    for (const auto& trace : found.traces) {
      if (trace.summary.trace != profile::TraceId{})
        causes[i].traces.push_back(ToHex(trace.summary.trace));
    }
  }
  return {};
}

// The difference of two selections. base_* describes "before"; what is not given is as in "after".
Result<HttpResponse> Diff(query::QueryContext& context, const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto p,
      Parameters::Read(
          request, {"query", "type", "from", "to", "since", "base_query", "base_from", "base_to",
                    "base_since", "lens", "search", "max_nodes", "min_share", "format", "mode"}));
  WHEREFORE_ASSIGN_OR_RETURN(const auto compared, ComparedIn(p));
  WHEREFORE_ASSIGN_OR_RETURN(const auto after, p.Selection());
  WHEREFORE_ASSIGN_OR_RETURN(auto before, p.Selection("base_"));
  if (p.Get("base_from").empty() && p.Get("base_since").empty())
    before.range.from_ns = after.range.from_ns;
  if (p.Get("base_to").empty()) {
    before.range.to_ns = p.Get("base_from").empty() && p.Get("base_since").empty()
                             ? after.range.to_ns
                             : after.range.from_ns;
  }
  WHEREFORE_ASSIGN_OR_RETURN(const auto options, p.View(0));
  const std::string format = p.Get("format");
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto shown,
      query::ShowDifference(context, before, after, options, IsDiffFile(format), request.cancel));
  if (IsDiffFile(format)) return RenderDiffFile(shown.view.whole, format, request.cancel);
  TreeAnswer out = AnswerOf(shown.view);
  out.averaged = shown.averaged;
  out.hint = shown.hint;
  out.tier = &shown.tier;
  if (!shown.averaged) {  // an average says nothing per second
    WHEREFORE_ASSIGN_OR_RETURN(out.observed_before_ns,
                               query::ObservedNs(context, before, request.cancel));
    WHEREFORE_ASSIGN_OR_RETURN(out.observed_ns, query::ObservedNs(context, after, request.cancel));
  }
  query::TestedDifference tested;
  if (compared) {
    WHEREFORE_ASSIGN_OR_RETURN(
        tested, query::TestDifference(context, before, after, *compared, options.lens,
                                      &shown.view.shown.tree, request.cancel));
    WHEREFORE_RETURN_IF_ERROR(AddTraces(context, after, tested.causes, request.cancel));
    out.tested = &tested;
  }
  return RenderTree(request, format, out);
}

Result<HttpResponse> List(query::QueryContext& context, const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto p, Parameters::Read(request, {"query", "type", "from", "to", "since", "function",
                                               "module", "file"}));
  WHEREFORE_ASSIGN_OR_RETURN(const auto selection, p.Selection());
  if (p.Get("function").empty())
    return Error(Code::kInvalid, "parameter 'function': expected a regular expression");
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto answer,
      query::List(context, selection, p.Get("function"),
                  {.module = p.Has("module") ? std::optional(p.Get("module")) : std::nullopt,
                   .file = p.Get("file")},
                  request.cancel));
  HttpResponse response;
  JsonWriter json(response.body);
  json.BeginObject()
      .Field("type", answer.type)
      .Field("unit", answer.unit)
      .Field("total", answer.total)
      .Field("scale", answer.scale);
  AppendTier(json, answer.tier, answer.hint);
  AppendOverflow(json, {answer.total});
  json.Key("functions").BeginArray();
  for (const profile::ListedFunction& f : answer.functions) {
    json.BeginObject().Field("name", f.name).Field("module", f.module).Field("file", f.file);
    json.Field("start_line", f.start_line).Field("self", f.self).Field("total", f.total);
    json.Key("lines").BeginArray();
    for (const profile::ListedLine& line : f.lines) {
      json.BeginArray().Int(line.line).Int(line.self).Int(line.total).EndArray();
    }
    json.EndArray().EndObject();
  }
  json.EndArray().EndObject();
  return response;
}

Result<HttpResponse> Profiles(query::QueryContext& context, const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto p, Parameters::Read(request, {"query", "type", "from", "to", "since", "limit"}));
  WHEREFORE_ASSIGN_OR_RETURN(const auto selection, p.Selection());
  WHEREFORE_ASSIGN_OR_RETURN(const std::int64_t limit, p.Int("limit", 100, 1, 100'000));
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto rows,
      query::Profiles(context, selection, static_cast<std::size_t>(limit), request.cancel));
  HttpResponse response;
  JsonWriter json(response.body);
  json.BeginObject().Key("profiles").BeginArray();
  for (const query::ProfileRow& row : rows) {
    json.BeginObject().Field("id", ToHex(row.id)).Field("time", FormatTime(row.time_ns));
    json.Field("duration_ns", row.duration_ns).Field("total", row.total);
    json.Field("samples", row.samples).EndObject();
  }
  json.EndArray().EndObject();
  return response;
}

Result<HttpResponse> OneProfile(query::QueryContext& context, const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto p, Parameters::Read(request, {"format"}));
  const std::string format = p.Get("format", "pprof");
  if (format != "pprof" && format != "otlp" && format != "otlp-json") {
    return Error(Code::kInvalid, "parameter 'format': expected pprof, otlp or otlp-json");
  }
  WHEREFORE_ASSIGN_OR_RETURN(const auto id, ParseTraceId(request.Header(":id")));
  WHEREFORE_ASSIGN_OR_RETURN(const auto batch,
                             query::StoredProfile(context, p.tenant(), id, request.cancel));
  return RenderBatch(batch, format);
}

Result<HttpResponse> Export(query::QueryContext& context, const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto p, Parameters::Read(request, {"query", "type", "from", "to", "since", "lens",
                                               "format", "limit"}));
  WHEREFORE_ASSIGN_OR_RETURN(const auto selection, p.Selection());
  const std::string format = p.Get("format", "pprof");
  const bool otlp = format == "otlp" || format == "otlp-json";
  if (!otlp && !IsTreeFile(format)) {
    return Error(
        Code::kInvalid,
        "parameter 'format': expected pprof, otlp, otlp-json, folded, speedscope, svg or csv");
  }
  WHEREFORE_ASSIGN_OR_RETURN(const auto lens, p.Lens());
  if (otlp && !lens.empty())
    return Error(Code::kInvalid, "parameter 'lens': otlp keeps stacks as they came in");
  // Whole stacks have lines and addresses; what a lens makes of them has functions only.
  if (format == "pprof" && lens.empty()) {
    WHEREFORE_ASSIGN_OR_RETURN(const auto batch, query::Merged(context, selection, request.cancel));
    return RenderBatch(batch, format);
  }
  if (otlp) {
    WHEREFORE_ASSIGN_OR_RETURN(const std::int64_t limit, p.Int("limit", 10'000, 1, 1'000'000));
    WHEREFORE_ASSIGN_OR_RETURN(
        const auto batch,
        query::StoredProfiles(context, selection, static_cast<std::size_t>(limit) + 1,
                              request.cancel));
    if (batch.profiles.size() > static_cast<std::size_t>(limit)) {
      return Error(Code::kLimit,
                   fmt::format("more than {} profiles: narrow the range, or raise 'limit'", limit));
    }
    return RenderBatch(batch, format);
  }
  WHEREFORE_ASSIGN_OR_RETURN(auto answer, query::Flame(context, selection, request.cancel));
  if (!answer.hint.empty()) return Error(Code::kNotFound, answer.hint);
  WHEREFORE_ASSIGN_OR_RETURN(answer.tree,
                             query::ApplyLens(std::move(answer.tree), lens, request.cancel));
  return RenderTreeFile(
      answer.tree, format,
      {.title = fmt::format("{} {}", selection.selector.Text(), answer.tree.type),
       .subtitle = fmt::format("{} to {}", FormatTime(selection.range.from_ns),
                               FormatTime(std::min(selection.range.to_ns, NowUnixNs()))),
       .time_ns = selection.range.from_ns},
      request.cancel);
}

}  // namespace

void Api::AddQueryRoutes(net::Router& router) {
  AddQuery(router, "services", "services", net::WorkKind::kQuick, Services);
  AddQuery(router, "flame", "flame", net::WorkKind::kHeavy, Flame);
  AddQuery(router, "top", "top", net::WorkKind::kHeavy, Top);
  AddQuery(router, "diff", "diff", net::WorkKind::kHeavy, Diff);
  AddQuery(router, "list", "list", net::WorkKind::kHeavy, List);
  AddQuery(router, "profiles", "profiles", net::WorkKind::kHeavy, Profiles);
  AddQuery(router, "profiles/{id}", "profile", net::WorkKind::kHeavy, OneProfile);
  AddQuery(router, "export", "export", net::WorkKind::kHeavy, Export);
  AddQuery(router, "labels", "labels", net::WorkKind::kQuick, Labels);
  AddQuery(router, "labels/{name}/values", "label_values", net::WorkKind::kQuick, Labels);
}

}  // namespace wherefore::api
