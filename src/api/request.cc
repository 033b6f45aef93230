#include "api/request.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "formats/flame_binary.h"

namespace wherefore::api {
namespace {

Error Bad(std::string_view name, std::string_view what) {
  return {Code::kInvalid, fmt::format("parameter '{}': {}", name, what)};
}

template <typename Array>
Result<Array> ParseHexId(std::string_view hex, std::string_view what) {
  Array id{};
  const auto bytes = FromHex(hex);
  if (!bytes || bytes->size() != id.size()) {
    return Error(Code::kInvalid, fmt::format("'{}' is not a {} id; expected {} hex digits", hex,
                                             what, id.size() * 2));
  }
  std::copy(bytes->begin(), bytes->end(), reinterpret_cast<char*>(id.data()));
  return id;
}

constexpr std::int64_t kYear2000 = 946'684'800 * kNsPerSecond;
constexpr std::size_t kMostChanges = 50;

// Exact, whatever was pruned of the tree.
void AppendChanges(JsonWriter& json, const query::DiffTree& diff) {
  json.Key("changes").BeginArray();
  std::size_t listed = 0;
  for (const query::DiffRow& row : query::DiffTop(diff)) {
    const profile::FlameFunction& f = diff.tree.functions[row.function];
    if (row.self_before == row.self_after || ++listed > kMostChanges) break;
    json.BeginObject().Field("name", f.name).Field("module", f.module);
    json.Field("self_before", row.self_before).Field("self_after", row.self_after);
    json.Field("total_before", row.total_before).Field("total_after", row.total_after).EndObject();
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
  if (!answer.hint.empty()) json.Field("hint", answer.hint);
  if (answer.found != nullptr) answer.found->AppendTo(json, !answer.before_total.empty());
  if (!answer.filed_under.empty()) json.Field("filed_under", answer.filed_under);
  if (answer.arriving) json.Field("arriving", true);
  if (answer.changes != nullptr) AppendChanges(json, *answer.changes);
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
  json.EndObject();
  return out;
}

}  // namespace

Result<Parameters> Parameters::Read(const net::HttpRequest& request,
                                    std::initializer_list<std::string_view> known) {
  Parameters p;
  p.tenant_ = static_cast<std::uint32_t>(ParseUint(request.Header(":tenant")).value_or(0));
  static constexpr std::array<std::string_view, 3> kMayRepeat = {"by", "span", "attribute"};
  for (auto& [name, value] : request.QueryParameters()) {
    if (p.values_.contains(name) &&
        std::find(kMayRepeat.begin(), kMayRepeat.end(), name) == kMayRepeat.end()) {
      return Bad(name, "given more than once");
    }
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return Bad(name, fmt::format("not known here; there are: {}", fmt::join(known, ", ")));
    }
    p.values_.emplace(std::move(name), std::move(value));
  }
  return p;
}

std::string Parameters::Get(std::string_view name, std::string_view otherwise) const {
  const auto it = values_.find(name);
  return it == values_.end() ? std::string(otherwise) : it->second;
}

std::vector<std::string> Parameters::All(std::string_view name) const {
  std::vector<std::string> out;
  const auto [begin, end] = values_.equal_range(name);
  for (auto it = begin; it != end; ++it) out.push_back(it->second);
  return out;
}

Result<std::int64_t> Parameters::Int(std::string_view name, std::int64_t otherwise,
                                     std::int64_t least, std::int64_t most) const {
  const auto it = values_.find(name);
  if (it == values_.end()) return otherwise;
  const auto number = ParseInt(it->second);
  if (!number || *number < least || *number > most) {
    return Bad(name, fmt::format("expected a whole number from {} to {}", least, most));
  }
  return *number;
}

Result<bool> Parameters::Flag(std::string_view name) const {
  const std::string text = Get(name, "false");
  if (text != "true" && text != "false") return Bad(name, "expected true or false");
  return text == "true";
}

Result<double> Parameters::Share(std::string_view name, double otherwise) const {
  const auto it = values_.find(name);
  if (it == values_.end()) return otherwise;
  double value = 0;
  const char* end = it->second.data() + it->second.size();
  const auto [stop, error] = std::from_chars(it->second.data(), end, value);
  if (error != std::errc() || stop != end || !(value >= 0 && value <= 1)) {
    return Bad(name, "expected a share from 0 to 1");
  }
  return value;
}

Result<store::TimeRange> Parameters::Range(std::string_view prefix) const {
  const std::int64_t now = NowUnixNs();
  const auto time = [&](std::string_view name, const std::string& text) -> Result<std::int64_t> {
    auto ns = ParseTime(text, now);
    if (!ns) return Bad(fmt::format("{}{}", prefix, name), ns.error().message());
    // Times that nothing is stored for are slips: other units, a digit too many.
    const bool late = name == "from" && *ns > now + kNsPerDay;
    const bool early = name == "to" && *ns < kYear2000;
    if (late || early) {
      return Bad(
          fmt::format("{}{}", prefix, name),
          fmt::format("'{}' is {}, {}; Unix times may be in s, ms, us or ns", text, FormatTime(*ns),
                      late ? "which is to come" : "before anything that is stored"));
    }
    return ns;
  };
  const std::string from = Get(fmt::format("{}from", prefix));
  const std::string to = Get(fmt::format("{}to", prefix));
  const std::string since = Get(fmt::format("{}since", prefix));
  // A little into the future, because senders' clocks differ.
  store::TimeRange range{.from_ns = now - 3600 * kNsPerSecond, .to_ns = now + 3600 * kNsPerSecond};
  if (!from.empty()) {
    WHEREFORE_ASSIGN_OR_RETURN(range.from_ns, time("from", from));
  }
  if (!to.empty()) {
    WHEREFORE_ASSIGN_OR_RETURN(range.to_ns, time("to", to));
  }
  if (!since.empty() && from.empty()) {
    WHEREFORE_ASSIGN_OR_RETURN(const std::int64_t ago, ParseDuration(since));
    range.from_ns = std::max<std::int64_t>((to.empty() ? now : range.to_ns) - ago, 0);
  }
  if (range.to_ns <= range.from_ns) return Bad(fmt::format("{}to", prefix), "must be after from");
  return range;
}

Result<query::Selection> Parameters::Selection(std::string_view prefix) const {
  query::Selection selection{.tenant = tenant_};
  const std::string text = Get(fmt::format("{}query", prefix), Get("query"));
  WHEREFORE_ASSIGN_OR_RETURN(selection.selector, query::Selector::Parse(text));
  WHEREFORE_ASSIGN_OR_RETURN(selection.range, Range(prefix));
  selection.type = Get("type");
  return selection;
}

Result<query::Lens> Parameters::Lens() const {
  return query::Lens::Parse(Get("lens"));
}

Result<query::Search> Parameters::Search() const {
  auto search = query::Search::Parse(Get("search"));
  if (!search) return std::move(search).error().Within("parameter 'search'");
  return search;
}

Result<query::ListOf> Parameters::List(std::int64_t limit, std::int64_t most) const {
  auto search = query::NameFilter::Parse(Get("search"));
  if (!search) return std::move(search).error().Within("parameter 'search'");
  WHEREFORE_ASSIGN_OR_RETURN(const std::int64_t number, Int("limit", limit, 1, most));
  return query::ListOf{.search = *std::move(search), .limit = static_cast<std::size_t>(number)};
}

Result<profile::PruneOptions> Parameters::Prune(std::int64_t default_nodes) const {
  profile::PruneOptions options;
  WHEREFORE_ASSIGN_OR_RETURN(options.min_share, Share("min_share", 0));
  WHEREFORE_ASSIGN_OR_RETURN(const std::int64_t nodes,
                             Int("max_nodes", default_nodes, 0, 10'000'000));
  options.max_nodes = static_cast<std::size_t>(nodes);
  return options;
}

Result<profile::TraceId> ParseTraceId(std::string_view hex) {
  return ParseHexId<profile::TraceId>(hex, "trace");
}
Result<profile::SpanId> ParseSpanId(std::string_view hex) {
  return ParseHexId<profile::SpanId>(hex, "span");
}

Result<net::HttpResponse> RenderTree(const net::HttpRequest& request, const std::string& format,
                                     const TreeAnswer& answer) {
  if (!format.empty() && format != "json" && format != "binary") {
    return Bad("format", "expected json or binary");
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
    response.body = formats::EncodeFlameBinary(
        *answer.tree, meta, {.self = answer.before_self, .count = answer.before_count});
  } else {
    response.body = TreeJson(answer);
  }
  AddEtag(request, response);
  return response;
}

void AppendOverflow(JsonWriter& json, std::initializer_list<std::int64_t> sums) {
  if (std::ranges::any_of(sums, IsBeyond)) json.Field("overflow", true);
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
