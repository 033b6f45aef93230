// Api: services, labels, flame graphs, tables, series, differences, lists, stored profiles,
// exports.
#include <algorithm>

#include <fmt/format.h>

#include "api/api.h"
#include "api/export_file.h"
#include "api/request.h"
#include "base/clock.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "formats/formats.h"
#include "profile/sandwich.h"
#include "profile/tree_path.h"

namespace wherefore::api {
namespace {

using net::HttpRequest;
using net::HttpResponse;

Result<HttpResponse> NameList(Result<std::vector<std::string>> names, std::string_view key) {
  if (!names) return std::move(names).error();
  HttpResponse response;
  JsonWriter json(response.body);
  json.BeginObject().Key(key).BeginArray();
  for (const std::string& name : *names) json.String(name);
  json.EndArray().EndObject();
  return response;
}

Result<HttpResponse> Services(query::Engine& engine, const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto p, Parameters::Read(request, {"from", "to", "since"}));
  WHEREFORE_ASSIGN_OR_RETURN(const auto range, p.Range());
  WHEREFORE_ASSIGN_OR_RETURN(const auto services,
                             engine.Services(p.tenant(), range, request.cancel));
  HttpResponse response;
  JsonWriter json(response.body);
  json.BeginObject().Key("services").BeginArray();
  for (const query::ServiceInfo& s : services) {
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

void AppendTop(JsonWriter& json, const query::ServiceOverview& s) {
  json.Key("top").BeginArray();
  for (const profile::TopRow& row : s.top) {
    const profile::FlameFunction& f = s.functions[row.function];
    json.BeginObject().Field("name", f.name).Field("module", f.module).Field("self", row.self);
    json.EndObject();
  }
  json.EndArray().Field("top_type", s.top_type).Field("top_total", s.top_total);
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

void AppendOverview(JsonWriter& json, const query::ServiceOverview& s) {
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
    json.Field("cores", s.cores).Field("seen_ms", s.seen_ns / 1'000'000);
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
  json.Key("senders").BeginArray();
  for (const std::string& sender : s.senders) json.String(sender);
  json.EndArray().Field("instances", s.instances.size()).EndObject();
}

// A range without an end ends now: what is drawn has no empty hour at its right.
void EndNow(const Parameters& p, store::TimeRange& range) {
  if (p.Get("to").empty()) range.to_ns = std::max(NowUnixNs(), range.from_ns + 1);
}

Result<HttpResponse> Overview(query::Engine& engine, const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto p, Parameters::Read(request, {"from", "to", "since"}));
  WHEREFORE_ASSIGN_OR_RETURN(auto range, p.Range());
  EndNow(p, range);
  WHEREFORE_ASSIGN_OR_RETURN(const auto answer, engine.Overview(p.tenant(), range, request.cancel));
  HttpResponse response;
  JsonWriter json(response.body);
  json.BeginObject().Field("start_ms", answer.start_ns / 1'000'000);
  json.Field("step_ms", answer.step_ns / 1'000'000);
  json.Field("observed_from_ms", answer.observed.from_ns / 1'000'000);
  json.Field("observed_to_ms", answer.observed.to_ns / 1'000'000).Key("services").BeginArray();
  for (const query::ServiceOverview& s : answer.services) AppendOverview(json, s);
  json.EndArray().EndObject();
  return response;
}

// What is looked for over time. Values stay those of the whole selection, so a lens alone would do
// nothing.
Result<query::LookedFor> LookedForOf(const Parameters& p) {
  query::LookedFor wanted;
  WHEREFORE_ASSIGN_OR_RETURN(wanted.lens, p.Lens());
  WHEREFORE_ASSIGN_OR_RETURN(wanted.search, p.Search());
  if (!wanted.lens.empty() && wanted.search.empty()) {
    return Error(Code::kInvalid,
                 "parameter 'lens': only together with 'search', whose matches it narrows");
  }
  return wanted;
}

Result<HttpResponse> HeatMap(query::Engine& engine, const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto p, Parameters::Read(request, {"query", "type", "from", "to", "since", "step",
                                               "lens", "search"}));
  WHEREFORE_ASSIGN_OR_RETURN(auto selection, p.Selection());
  WHEREFORE_ASSIGN_OR_RETURN(const auto wanted, LookedForOf(p));
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
                             engine.HeatMap(selection, step, wanted, request.cancel));
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

// function=<name> (module=<file name>: of that module only) and side=callers|callees: that function
// from all its call sites together.
Result<> TakeSide(const Parameters& p, query::FlameAnswer& answer) {
  const std::string function = p.Get("function");
  const std::string side = p.Get("side");
  if (function.empty() && side.empty()) return {};
  if (function.empty())
    return Error(Code::kInvalid, "parameter 'function': expected a function's whole name");
  if (side != "callers" && side != "callees")
    return Error(Code::kInvalid, "parameter 'side': expected callers or callees");
  const std::string module = p.Get("module");
  const profile::WantedFunction wanted{
      .name = function, .module = p.Has("module") ? std::optional(module) : std::nullopt};
  // Of an inverted tree callers lie below.
  answer.tree = (side == "callers") != answer.tree.inverted ? profile::Callers(answer.tree, wanted)
                                                            : profile::Callees(answer.tree, wanted);
  if (answer.hint.empty() && answer.tree.size() == 1) {
    answer.hint = fmt::format("no function is called '{}' in {}", function,
                              module.empty() ? "this selection" : module);
  }
  return {};
}

// root=<address of a frame> (profile/tree_path.h): only what lies below it, pruned on its own,
// which is how the page opens what was folded.
Result<> NarrowToRoot(const Parameters& p, profile::FlameTree& tree) {
  const std::string text = p.Get("root");
  if (text.empty()) return {};
  const auto wanted = profile::ParsePathHash(text);
  if (!wanted) return Error(Code::kInvalid, "parameter 'root': expected 16 hex digits");
  const auto hashes = profile::PathHashes(tree);
  const auto found = std::ranges::find(hashes, *wanted);
  if (found == hashes.end()) {
    return Error(Code::kNotFound, "parameter 'root': no such frame in this selection");
  }
  tree = profile::Subtree(tree, static_cast<std::size_t>(found - hashes.begin()));
  return {};
}

Result<HttpResponse> Flame(query::Engine& engine, const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto p,
      Parameters::Read(request, {"query", "type", "from", "to", "since", "lens", "root", "function",
                                 "module", "side", "search", "max_nodes", "min_share", "format"}));
  WHEREFORE_ASSIGN_OR_RETURN(const auto selection, p.Selection());
  WHEREFORE_ASSIGN_OR_RETURN(const auto lens, p.Lens());
  WHEREFORE_ASSIGN_OR_RETURN(const auto search, p.Search());
  WHEREFORE_ASSIGN_OR_RETURN(auto prune, p.Prune());
  WHEREFORE_ASSIGN_OR_RETURN(auto answer, engine.Flame(selection, lens, request.cancel));
  WHEREFORE_RETURN_IF_ERROR(TakeSide(p, answer));
  WHEREFORE_RETURN_IF_ERROR(NarrowToRoot(p, answer.tree));
  const query::Found found = search.In(answer.tree);
  if (!search.empty()) prune.wanted = found.functions;
  const profile::FlameTree pruned = profile::Prune(answer.tree, prune);
  return RenderTree(request, p.Get("format"),
                    {.tree = &pruned,
                     .full_nodes = answer.tree.size(),
                     .averaged = answer.averaged,
                     .hint = answer.hint,
                     .found = search.empty() ? nullptr : &found});
}

Result<HttpResponse> Top(query::Engine& engine, const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto p, Parameters::Read(request, {"query", "type", "from", "to", "since", "lens",
                                               "search", "limit", "sort"}));
  WHEREFORE_ASSIGN_OR_RETURN(const auto selection, p.Selection());
  WHEREFORE_ASSIGN_OR_RETURN(const auto lens, p.Lens());
  WHEREFORE_ASSIGN_OR_RETURN(const auto search, p.Search());
  WHEREFORE_ASSIGN_OR_RETURN(const std::int64_t limit, p.Int("limit", 100, 1, 1'000'000));
  WHEREFORE_ASSIGN_OR_RETURN(const auto answer, engine.Flame(selection, lens, request.cancel));
  const profile::FlameTree& tree = answer.tree;
  auto rows = profile::Top(tree);
  if (const std::string sort = p.Get("sort", "self"); sort == "total") {
    std::ranges::stable_sort(rows, std::greater(), &profile::TopRow::total);
  } else if (sort != "self") {
    return Error(Code::kInvalid, "parameter 'sort': expected self or total");
  }
  HttpResponse response;
  JsonWriter json(response.body);
  json.BeginObject().Field("type", tree.type).Field("unit", tree.unit).Field("scale", tree.scale);
  json.Field("total", tree.total[0]).Field("count", tree.total_count[0]);
  json.Field("averaged", answer.averaged).Field("functions", rows.size());
  if (!answer.hint.empty()) json.Field("hint", answer.hint);
  if (!search.empty()) {
    const query::Found found = search.In(tree);
    found.AppendTo(json);
    std::erase_if(rows, [&](const profile::TopRow& r) { return found.functions[r.function] == 0; });
  }
  json.Key("rows").BeginArray();
  std::int64_t other = tree.total[0];
  for (std::size_t i = 0; i < rows.size() && i < static_cast<std::size_t>(limit); ++i) {
    const profile::FlameFunction& f = tree.functions[rows[i].function];
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

Result<HttpResponse> Series(query::Engine& engine, const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto p, Parameters::Read(request, {"query", "type", "from", "to", "since", "step", "by",
                                               "limit", "lens", "search"}));
  WHEREFORE_ASSIGN_OR_RETURN(auto selection, p.Selection());
  WHEREFORE_ASSIGN_OR_RETURN(const auto wanted, LookedForOf(p));
  WHEREFORE_ASSIGN_OR_RETURN(const std::int64_t limit, p.Int("limit", 20, 0, 10'000));
  EndNow(p, selection.range);
  const std::int64_t width = selection.range.to_ns - selection.range.from_ns;
  std::int64_t step = std::max<std::int64_t>(width / 240 / kNsPerSecond, 1) * kNsPerSecond;
  if (const std::string text = p.Get("step"); !text.empty()) {
    WHEREFORE_ASSIGN_OR_RETURN(step, ParseDuration(text));
    if (step < 1'000'000) return Error(Code::kInvalid, "parameter 'step': at least 1ms");
  }
  WHEREFORE_ASSIGN_OR_RETURN(const auto answer,
                             engine.Series(selection,
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
  if (answer.newest_ns != 0) json.Field("newest_ms", answer.newest_ns / 1'000'000);
  if (!answer.hint.empty()) json.Field("hint", answer.hint);
  json.Key("groups").BeginArray();
  for (const query::SeriesGroup& group : answer.groups) {
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

// The plain difference of two selections. base_* describes "before"; what is not given is as in
// "after".
Result<HttpResponse> Diff(query::Engine& engine, const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto p, Parameters::Read(request, {"query", "type", "from", "to", "since", "base_query",
                                               "base_from", "base_to", "base_since", "lens",
                                               "search", "max_nodes", "min_share", "format"}));
  WHEREFORE_ASSIGN_OR_RETURN(const auto after, p.Selection());
  WHEREFORE_ASSIGN_OR_RETURN(auto before, p.Selection("base_"));
  if (p.Get("base_from").empty() && p.Get("base_since").empty())
    before.range.from_ns = after.range.from_ns;
  if (p.Get("base_to").empty()) {
    before.range.to_ns = p.Get("base_from").empty() && p.Get("base_since").empty()
                             ? after.range.to_ns
                             : after.range.from_ns;
  }
  WHEREFORE_ASSIGN_OR_RETURN(const auto lens, p.Lens());
  WHEREFORE_ASSIGN_OR_RETURN(const auto search, p.Search());
  WHEREFORE_ASSIGN_OR_RETURN(auto prune, p.Prune(0));
  WHEREFORE_ASSIGN_OR_RETURN(const auto left, engine.Flame(before, lens, request.cancel));
  WHEREFORE_ASSIGN_OR_RETURN(const auto right, engine.Flame(after, lens, request.cancel));
  WHEREFORE_RETURN_IF_ERROR(request.cancel.Charge(left.tree.bytes() + right.tree.bytes()));
  const query::DiffTree whole = query::Diff(left.tree, right.tree);
  if (const std::string format = p.Get("format"); IsDiffFile(format))
    return RenderDiffFile(whole, format, request.cancel);
  const query::Found found = search.In(whole.tree, whole.before);
  if (!search.empty()) prune.wanted = found.functions;
  const query::DiffTree diff = query::PruneDiff(whole, prune);
  return RenderTree(request, p.Get("format"),
                    {.tree = &diff.tree,
                     .full_nodes = whole.tree.size(),
                     .averaged = right.averaged,
                     .hint = !right.hint.empty() ? right.hint : left.hint,
                     .found = search.empty() ? nullptr : &found,
                     .before_total = diff.before,
                     .before_self = diff.before_self,
                     .before_count = diff.before_count,
                     .changes = &whole});
}

Result<HttpResponse> List(query::Engine& engine, const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto p, Parameters::Read(request, {"query", "type", "from", "to", "since", "function",
                                               "module", "file"}));
  WHEREFORE_ASSIGN_OR_RETURN(const auto selection, p.Selection());
  if (p.Get("function").empty())
    return Error(Code::kInvalid, "parameter 'function': expected a regular expression");
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto answer,
      engine.List(selection, p.Get("function"),
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
  if (!answer.hint.empty()) json.Field("hint", answer.hint);
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

Result<HttpResponse> Profiles(query::Engine& engine, const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto p, Parameters::Read(request, {"query", "type", "from", "to", "since", "limit"}));
  WHEREFORE_ASSIGN_OR_RETURN(const auto selection, p.Selection());
  WHEREFORE_ASSIGN_OR_RETURN(const std::int64_t limit, p.Int("limit", 100, 1, 100'000));
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto rows, engine.Profiles(selection, static_cast<std::size_t>(limit), request.cancel));
  HttpResponse response;
  JsonWriter json(response.body);
  json.BeginObject().Key("profiles").BeginArray();
  for (const store::ProfileRow& row : rows) {
    json.BeginObject().Field("id", ToHex(row.id)).Field("time", FormatTime(row.time_ns));
    json.Field("duration_ns", row.duration_ns).Field("total", row.total);
    json.Field("samples", row.samples).EndObject();
  }
  json.EndArray().EndObject();
  return response;
}

Result<HttpResponse> OneProfile(query::Engine& engine, const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto p, Parameters::Read(request, {"format"}));
  const std::string format = p.Get("format", "pprof");
  if (format != "pprof" && format != "otlp" && format != "otlp-json") {
    return Error(Code::kInvalid, "parameter 'format': expected pprof, otlp or otlp-json");
  }
  WHEREFORE_ASSIGN_OR_RETURN(const auto id, ParseTraceId(request.Header(":id")));
  WHEREFORE_ASSIGN_OR_RETURN(const auto batch,
                             engine.StoredProfile(p.tenant(), id, request.cancel));
  return RenderBatch(batch, format);
}

Result<HttpResponse> Export(query::Engine& engine, const HttpRequest& request) {
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
    WHEREFORE_ASSIGN_OR_RETURN(const auto batch, engine.Merged(selection, request.cancel));
    return RenderBatch(batch, format);
  }
  if (otlp) {
    WHEREFORE_ASSIGN_OR_RETURN(const std::int64_t limit, p.Int("limit", 10'000, 1, 1'000'000));
    WHEREFORE_ASSIGN_OR_RETURN(
        const auto batch,
        engine.StoredProfiles(selection, static_cast<std::size_t>(limit) + 1, request.cancel));
    if (batch.profiles.size() > static_cast<std::size_t>(limit)) {
      return Error(Code::kLimit,
                   fmt::format("more than {} profiles: narrow the range, or raise 'limit'", limit));
    }
    return RenderBatch(batch, format);
  }
  WHEREFORE_ASSIGN_OR_RETURN(const auto answer, engine.Flame(selection, lens, request.cancel));
  if (!answer.hint.empty()) return Error(Code::kNotFound, answer.hint);
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
  AddQuestion(router, "services", "services", Services);
  AddQuestion(router, "overview", "overview", Overview);
  AddQuestion(router, "heatmap", "heatmap", HeatMap);
  AddQuestion(router, "flame", "flame", Flame);
  AddQuestion(router, "top", "top", Top);
  AddQuestion(router, "series", "series", Series);
  AddQuestion(router, "diff", "diff", Diff);
  AddQuestion(router, "list", "list", List);
  AddQuestion(router, "profiles", "profiles", Profiles);
  AddQuestion(router, "profiles/{id}", "profile", OneProfile);
  AddQuestion(router, "export", "export", Export);
  AddQuery(router, "GET", "/api/v1/labels", "labels",
           [this](const HttpRequest& request) -> Result<HttpResponse> {
             WHEREFORE_ASSIGN_OR_RETURN(
                 const auto p, Parameters::Read(request, {"query", "from", "to", "since"}));
             WHEREFORE_ASSIGN_OR_RETURN(const auto selection, p.Selection());
             return NameList(engine_.LabelNames(selection, request.cancel), "labels");
           });
  AddQuery(router, "GET", "/api/v1/labels/{name}/values", "label_values",
           [this](const HttpRequest& request) -> Result<HttpResponse> {
             WHEREFORE_ASSIGN_OR_RETURN(
                 const auto p, Parameters::Read(request, {"query", "from", "to", "since"}));
             WHEREFORE_ASSIGN_OR_RETURN(const auto selection, p.Selection());
             return NameList(engine_.LabelValues(selection, std::string(request.Header(":name")),
                                                 request.cancel),
                             "values");
           });
}

}  // namespace wherefore::api
