// Api: services, labels, flame graphs, tables, differences, lists, stored profiles, exports.
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

Result<HttpResponse> Services(query::Engine& engine, const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto p, Parameters::Read(request, {"query", "from", "to", "since", "search", "limit"}));
  WHEREFORE_ASSIGN_OR_RETURN(const auto selection, p.Selection());
  WHEREFORE_ASSIGN_OR_RETURN(const auto wanted, p.List(1000, 10'000));
  WHEREFORE_ASSIGN_OR_RETURN(const auto list, engine.Services(selection, wanted, request.cancel));
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
Result<HttpResponse> Labels(query::Engine& engine, const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto p, Parameters::Read(request, {"query", "from", "to", "since", "search", "limit"}));
  WHEREFORE_ASSIGN_OR_RETURN(const auto selection, p.Selection());
  WHEREFORE_ASSIGN_OR_RETURN(const auto wanted, p.List(1000, 10'000));
  const std::string label(request.Header(":name"));
  WHEREFORE_ASSIGN_OR_RETURN(const auto list,
                             label.empty()
                                 ? engine.LabelNames(selection, wanted, request.cancel)
                                 : engine.LabelValues(selection, label, wanted, request.cancel));
  HttpResponse response;
  JsonWriter json(response.body);
  json.BeginObject().Field("total", list.total);
  json.Key(label.empty() ? "labels" : "values").BeginArray();
  for (const std::string& name : list.names) json.String(name);
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
      const auto p, Parameters::Read(request, {"query", "type", "from", "to", "since", "lens",
                                               "root", "function", "module", "side", "search",
                                               "max_nodes", "min_share", "format", "observed"}));
  WHEREFORE_ASSIGN_OR_RETURN(const auto selection, p.Selection());
  WHEREFORE_ASSIGN_OR_RETURN(const bool observed, p.Flag("observed"));
  WHEREFORE_ASSIGN_OR_RETURN(const auto lens, p.Lens());
  WHEREFORE_ASSIGN_OR_RETURN(const auto search, p.Search());
  WHEREFORE_ASSIGN_OR_RETURN(auto prune, p.Prune());
  WHEREFORE_ASSIGN_OR_RETURN(auto answer, engine.Flame(selection, lens, request.cancel));
  WHEREFORE_RETURN_IF_ERROR(TakeSide(p, answer));
  WHEREFORE_RETURN_IF_ERROR(NarrowToRoot(p, answer.tree));
  const query::Found found = search.In(answer.tree);
  if (!search.empty()) prune.wanted = found.functions;
  const profile::FlameTree pruned = profile::Prune(answer.tree, prune);
  TreeAnswer out{.tree = &pruned,
                 .full_nodes = answer.tree.size(),
                 .averaged = answer.averaged,
                 .hint = answer.hint,
                 .found = search.empty() ? nullptr : &found};
  if (observed) {
    WHEREFORE_ASSIGN_OR_RETURN(out.observed_ns, engine.ObservedNs(selection, request.cancel));
  }
  return RenderTree(request, p.Get("format"), out);
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
  AppendOverflow(json, {tree.total[0], tree.total_count[0]});
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
  TreeAnswer out{.tree = &diff.tree,
                 .full_nodes = whole.tree.size(),
                 .averaged = right.averaged,
                 .hint = !right.hint.empty() ? right.hint : left.hint,
                 .found = search.empty() ? nullptr : &found,
                 .before_total = diff.before,
                 .before_self = diff.before_self,
                 .before_count = diff.before_count,
                 .changes = &whole};
  if (!right.averaged) {  // an average says nothing per second
    WHEREFORE_ASSIGN_OR_RETURN(out.observed_before_ns, engine.ObservedNs(before, request.cancel));
    WHEREFORE_ASSIGN_OR_RETURN(out.observed_ns, engine.ObservedNs(after, request.cancel));
  }
  return RenderTree(request, p.Get("format"), out);
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
  AppendOverflow(json, {answer.total});
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
  AddQuestion(router, "services", "services", net::WorkKind::kQuick, Services);
  AddQuestion(router, "flame", "flame", net::WorkKind::kHeavy, Flame);
  AddQuestion(router, "top", "top", net::WorkKind::kHeavy, Top);
  AddQuestion(router, "diff", "diff", net::WorkKind::kHeavy, Diff);
  AddQuestion(router, "list", "list", net::WorkKind::kHeavy, List);
  AddQuestion(router, "profiles", "profiles", net::WorkKind::kHeavy, Profiles);
  AddQuestion(router, "profiles/{id}", "profile", net::WorkKind::kHeavy, OneProfile);
  AddQuestion(router, "export", "export", net::WorkKind::kHeavy, Export);
  AddQuestion(router, "labels", "labels", net::WorkKind::kQuick, Labels);
  AddQuestion(router, "labels/{name}/values", "label_values", net::WorkKind::kQuick, Labels);
}

}  // namespace wherefore::api
