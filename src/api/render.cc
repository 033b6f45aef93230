#include "api/render.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/arithmetic.h"
#include "base/hash.h"
#include "formats/trees/flame_binary.h"

namespace wherefore::api {
namespace {

constexpr std::size_t kMostChanges = 50;

void AppendTested(JsonWriter& json, std::string_view key, const query::TestedChange& change) {
  const query::Comparison& c = change.comparison;
  json.Key(key).BeginObject();
  json.Field("before", c.before).Field("after", c.after).Field("change", c.change);
  json.Field("low", c.low).Field("high", c.high).Field("p", c.p).Field("q", change.q);
  json.Field("detectable", c.detectable);
  json.Field("verdict", query::VerdictName(change.verdict)).EndObject();
}

// How the statistics of a difference were made, and what they say of the whole.
void AppendStatistics(JsonWriter& json, const query::TestedDifference& tested) {
  json.Key("statistics").BeginObject();
  json.Field("groups", query::GroupingName(tested.grouping));
  json.Field("groups_before", tested.groups_before).Field("groups_after", tested.groups_after);
  json.Field("instances_before", tested.instances_before);
  json.Field("instances_after", tested.instances_after);
  json.Field("requests_before", tested.requests_before);
  json.Field("requests_after", tested.requests_after);
  json.Field("cause_basis", query::CauseBasisName(tested.cause_basis));
  json.Field("note", tested.note);
  const query::Comparison& whole = tested.whole;
  json.Key("whole").BeginObject().Field("before", whole.before).Field("after", whole.after);
  json.Field("change", whole.change).Field("low", whole.low).Field("high", whole.high);
  json.Field("p", whole.p).Field("detectable", whole.detectable).EndObject().EndObject();
}

void AppendFunction(JsonWriter& json, const profile::FlameFunction& f) {
  json.BeginObject().Field("name", f.name).Field("module", f.module).EndObject();
}

void AppendCauses(JsonWriter& json, const std::vector<query::Cause>& causes) {
  json.Key("causes").BeginArray();
  for (const query::Cause& cause : causes) {
    json.BeginObject().Field("function", cause.function.name);
    json.Field("module", cause.function.module);
    json.Field("kind", query::CauseKindName(cause.kind)).Field("change", cause.change);
    json.Field("low", cause.low).Field("high", cause.high);
    json.Field("share_of_before", cause.share_of_before);
    json.Key("callers").BeginArray();
    for (const profile::FlameFunction& f : cause.callers) AppendFunction(json, f);
    json.EndArray();
    if (!cause.within.empty()) AppendFunction(json.Key("within"), cause.within.front());
    if (!cause.partners.empty()) AppendFunction(json.Key("partner"), cause.partners.front());
    json.Key("traces").BeginArray();
    for (const std::string& trace : cause.traces) json.String(trace);
    json.EndArray().EndObject();
  }
  json.EndArray();
}

// Sums say little about requests when their number changed.
std::vector<query::DiffRow> ByChangePerRequest(const query::Changes& changes,
                                               const query::TestedDifference& tested) {
  std::vector<std::pair<double, query::DiffRow>> rows;
  const auto per_request = [](std::int64_t value, std::int64_t requests) {
    return static_cast<double>(value) / static_cast<double>(std::max<std::int64_t>(requests, 1));
  };
  for (const query::DiffRow& row : changes.rows) {
    if (tested.charged) {
      const double change = per_request(row.self_after, tested.requests_after) -
                            per_request(row.self_before, tested.requests_before);
      if (change != 0) rows.emplace_back(-std::abs(change), row);
      continue;
    }
    const query::TestedFunction* const of = tested.Find(changes.functions[row.function]);
    if (of != nullptr && of->self.comparison.observations > 0)
      rows.emplace_back(-std::abs(of->self.comparison.change), row);
  }
  std::ranges::stable_sort(rows, {}, &std::pair<double, query::DiffRow>::first);
  std::vector<query::DiffRow> sorted;
  for (const auto& [change, row] : rows) sorted.push_back(row);
  return sorted;
}

// Exact, whatever was pruned of the tree.
void AppendChanges(JsonWriter& json, const query::Changes& changes,
                   const query::TestedDifference* tested) {
  json.Key("changes").BeginArray();
  std::size_t listed = 0;
  const bool per_request = tested != nullptr && tested->compared == query::Compared::kPerRequest;
  for (const query::DiffRow& row :
       per_request ? ByChangePerRequest(changes, *tested) : changes.rows) {
    const profile::FlameFunction& f = changes.functions[row.function];
    if ((row.self_before == row.self_after && !per_request) || ++listed > kMostChanges) break;
    json.BeginObject().Field("name", f.name).Field("module", f.module);
    json.Field("self_before", row.self_before).Field("self_after", row.self_after);
    json.Field("total_before", row.total_before).Field("total_after", row.total_after);
    const query::TestedFunction* const of = tested != nullptr ? tested->Find(f) : nullptr;
    if (of != nullptr) {
      if (!tested->charged) AppendTested(json, "self", of->self);
      AppendTested(json, "total", of->total);
    }
    json.EndObject();
  }
  json.EndArray();
}

// What a file says of itself; what it does not say is left out.
void AppendFile(JsonWriter& json, std::string_view key, const FileFacts& facts) {
  json.Key(key).BeginObject();
  if (facts.time_ns > 0) json.Field("time_ms", facts.time_ns / 1'000'000);
  if (facts.duration_ns > 0) json.Field("duration_ns", facts.duration_ns);
  json.Key("services").BeginArray();
  for (const std::string& service : facts.services) json.String(service);
  json.EndArray().Field("can_be_kept", facts.has_samples).EndObject();
}

// What is shown of looks at spans: how many there were, and how far off it may be.
void AppendLooks(JsonWriter& json, const std::map<std::string, query::Looks>& by_span) {
  const auto append = [&json](const query::Looks& looks) {
    json.Field("count", looks.looks).Field("error_ns", looks.error_ns);
  };
  query::Looks all;
  for (const auto& [span, looks] : by_span) all.Add(looks);
  json.Key("looks").BeginObject();
  append(all);
  json.Key("by_span").BeginObject();
  for (const auto& [span, looks] : by_span) {
    json.Key(span).BeginObject();
    append(looks);
    json.EndObject();
  }
  json.EndObject().EndObject();
}

void AppendMeta(JsonWriter& json, const TreeAnswer& answer) {
  const profile::FlameTree& tree = *answer.tree;
  json.Field("type", tree.type).Field("unit", tree.unit).Field("scale", tree.scale);
  json.Field("total", tree.size() > 0 ? tree.total[0] : 0);
  json.Field("count", tree.size() > 0 ? tree.total_count[0] : 0);
  json.Field("nodes", tree.size()).Field("nodes_in_full", answer.full_nodes);
  json.Field("averaged", answer.averaged);
  if (tree.size() > 0) {
    AppendOverflow(json, {tree.total[0], tree.total_count[0],
                          answer.before_total.empty() ? 0 : answer.before_total[0]});
  }
  if (answer.observed_ns) json.Field("observed_ms", Milliseconds(*answer.observed_ns));
  if (answer.observed_before_ns)
    json.Field("observed_ms_before", Milliseconds(*answer.observed_before_ns));
  if (tree.inverted) json.Field("inverted", true);
  if (!answer.before_total.empty()) json.Field("total_before", answer.before_total[0]);
  if (answer.tier != nullptr) {
    AppendTier(json, *answer.tier, answer.hint);
  } else if (!answer.hint.empty()) {
    json.Field("hint", answer.hint);
  }
  if (answer.found != nullptr) answer.found->AppendTo(json, !answer.before_total.empty());
  if (!answer.filed_under.empty()) json.Field("filed_under", answer.filed_under);
  if (answer.arriving) json.Field("arriving", true);
  if (answer.changes != nullptr) AppendChanges(json, *answer.changes, answer.tested);
  if (answer.tested != nullptr) {
    AppendStatistics(json, *answer.tested);
    AppendCauses(json, answer.tested->causes);
  }
  if (!answer.types.empty()) {
    json.Key("types").BeginArray();
    for (const std::string& type : answer.types) json.String(type);
    json.EndArray();
  }
  if (answer.file != nullptr) AppendFile(json, "file", *answer.file);
  if (answer.base != nullptr) AppendFile(json, "base", *answer.base);
  if (answer.looks != nullptr && !answer.looks->empty()) AppendLooks(json, *answer.looks);
  if (answer.by_span != nullptr) {
    json.Key("by_span").BeginObject();
    for (const auto& [span, value] : *answer.by_span) json.Field(span, value);
    json.EndObject();
  }
}

template <typename T>
void AppendColumn(JsonWriter& json, std::string_view name, const T& values) {
  json.Key(name).BeginArray();
  for (const auto v : values) json.Int(static_cast<std::int64_t>(v));
  json.EndArray();
}

std::string TreeJson(const TreeAnswer& answer) {
  const profile::FlameTree& tree = *answer.tree;
  std::string out;
  JsonWriter json(out);
  json.BeginObject();
  AppendMeta(json, answer);
  json.Key("functions").BeginArray();
  for (const profile::FlameFunction& f : tree.functions) {
    json.BeginArray().String(f.name).String(f.module).String(f.file).Int(f.start_line);
    json.Int(static_cast<int>(f.kind)).EndArray();
  }
  json.EndArray();
  AppendColumn(json, "depth", tree.depth);
  AppendColumn(json, "function", tree.function);
  AppendColumn(json, "self", tree.self);
  AppendColumn(json, "self_count", tree.self_count);
  AppendColumn(json, "hidden", tree.hidden_nodes);
  if (!answer.before_self.empty()) AppendColumn(json, "before_self", answer.before_self);
  if (!answer.before_count.empty()) AppendColumn(json, "before_count", answer.before_count);
  if (answer.tested != nullptr && !answer.tested->nodes.empty()) {
    json.Key("verdict").BeginArray();
    for (const query::Verdict v : answer.tested->nodes) json.String(query::VerdictName(v));
    json.EndArray();
  }
  json.EndObject();
  return out;
}

}  // namespace

TreeAnswer AnswerOf(const query::DiffView& view) {
  return {.tree = &view.shown.tree,
          .full_nodes = view.full_nodes,
          .found = view.found ? &*view.found : nullptr,
          .before_total = view.shown.before,
          .before_self = view.shown.before_self,
          .before_count = view.shown.before_count,
          .changes = &view.changes};
}

Result<net::HttpResponse> RenderTree(const net::HttpRequest& request, const std::string& format,
                                     const TreeAnswer& answer) {
  if (!format.empty() && format != "json" && format != "binary") {
    return Error(Code::kInvalid, "parameter 'format': expected json or binary");
  }
  net::HttpResponse response;
  const bool binary = format == "binary" ||
                      (format.empty() && request.Header("accept").find(formats::kFlameMediaType) !=
                                             std::string_view::npos);
  if (binary) {
    std::string meta;
    JsonWriter json(meta);
    json.BeginObject();
    AppendMeta(json, answer);
    json.EndObject();
    response.content_type = formats::kFlameMediaType;
    std::vector<std::int64_t> verdicts;
    if (answer.tested != nullptr) {
      for (const query::Verdict v : answer.tested->nodes)
        verdicts.push_back(static_cast<std::int64_t>(v));
    }
    response.body = formats::EncodeFlameBinary(
        *answer.tree, meta,
        {.self = answer.before_self, .count = answer.before_count, .verdict = verdicts});
  } else {
    response.body = TreeJson(answer);
  }
  AddEtag(request, response);
  return response;
}

void AppendTier(JsonWriter& json, const query::Tier& tier, const std::string& hint) {
  json.Field("tier", tier.Name());
  if (tier.hours > 0) json.Field("tier_hours", tier.hours);
  const std::string& said = hint.empty() ? tier.note : hint;
  if (!said.empty()) json.Field("hint", said);
}

void AppendOverflow(JsonWriter& json, std::initializer_list<std::int64_t> sums) {
  if (std::ranges::any_of(sums, IsSaturated)) json.Field("overflow", true);
}

void AddEtag(const net::HttpRequest& request, net::HttpResponse& response) {
  const Hash128 hash = HashString(response.body);
  const std::string etag = fmt::format("\"{:016x}{:016x}\"", hash.high, hash.low);
  response.headers["ETag"] = etag;
  response.headers["Cache-Control"] = "no-cache";
  if (request.Header("if-none-match") == etag) {
    response.status = 304;
    response.body.clear();
  }
}

}  // namespace wherefore::api
