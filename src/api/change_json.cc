#include "api/change_json.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/shell.h"
#include "base/text.h"
#include "net/url.h"
#include "query/versions.h"

namespace wherefore::api {
namespace {

// "{service="shop",service.version="v1"}", as the API and the page take it.
std::string QueryOf(const query::ServiceChange& change, const std::string& version) {
  const auto selector =
      query::SelectorOf(change.service, version.empty() ? "" : change.label, version);
  return selector ? selector->Text() : change.service;
}

struct SideTexts {
  std::string query, base_query;
  std::int64_t from_ms, to_ms, base_from_ms, base_to_ms;
};
SideTexts SidesOf(const query::ServiceChange& change) {
  return {.query = QueryOf(change, change.version_after),
          .base_query = QueryOf(change, change.version_before),
          .from_ms = change.after.range.from_ns / 1'000'000,
          .to_ms = change.after.range.to_ns / 1'000'000,
          .base_from_ms = change.before.range.from_ns / 1'000'000,
          .base_to_ms = change.before.range.to_ns / 1'000'000};
}

}  // namespace

std::string ModeOf(const query::ServiceChange& change) {
  return change.tested.compared == query::Compared::kPerRequest ? "request" : "share";
}

std::string CommandOf(const query::ServiceChange& change) {
  const SideTexts s = SidesOf(change);
  return fmt::format(
      "wherefore diff --baseline {} --comparison {} --type cpu --from {} --to {} --base-from {} "
      "--base-to {} --mode {}",
      ShellQuoted(s.base_query), ShellQuoted(s.query), s.from_ms, s.to_ms, s.base_from_ms,
      s.base_to_ms, ModeOf(change));
}

std::string AddressOf(const query::ServiceChange& change) {
  const SideTexts s = SidesOf(change);
  return fmt::format(
      "/diff?query={}&base_query={}&type=cpu&mode={}&from={}&to={}&base_from={}&base_to={}",
      net::PercentEncode(s.query), net::PercentEncode(s.base_query), ModeOf(change), s.from_ms,
      s.to_ms, s.base_from_ms, s.base_to_ms);
}

void AppendSides(JsonWriter& json, const query::ServiceChange& change) {
  const SideTexts s = SidesOf(change);
  json.Key("since").BeginObject().Field("label", change.label);
  json.Field("before", change.version_before).Field("after", change.version_after);
  json.Field("at_ms", change.since_ns / 1'000'000).EndObject();
  json.Key("sides").BeginObject().Field("query", s.query).Field("from_ms", s.from_ms);
  json.Field("to_ms", s.to_ms).Field("base_query", s.base_query);
  json.Field("base_from_ms", s.base_from_ms).Field("base_to_ms", s.base_to_ms).EndObject();
}

std::string Lines::At(const std::string& file, std::int64_t line) {
  constexpr std::size_t kLongest = 400;
  if (file.empty() || line <= 0 || files_.empty()) return {};
  const auto [at, fresh] = texts_.try_emplace(file);
  if (fresh) {
    if (auto read = files_.Read(file)) at->second = std::move(read->text);
  }
  std::string_view text = at->second;
  for (std::int64_t n = 1; n < line && !text.empty(); ++n)
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  text = text.substr(0, std::min(text.find('\n'), kLongest));
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  text.remove_prefix(first);
  while (!text.empty() && !IsValidUtf8(text)) text.remove_suffix(1);  // cut inside a letter
  return std::string(text);
}

void AppendFunctions(JsonWriter& json, std::string_view key,
                     const std::vector<profile::FlameFunction>& functions) {
  json.Key(key).BeginArray();
  for (const profile::FlameFunction& f : functions)
    json.BeginObject().Field("name", f.name).Field("module", f.module).EndObject();
  json.EndArray();
}

void AppendTexts(JsonWriter& json, std::string_view key, const std::vector<std::string>& texts) {
  json.Key(key).BeginArray();
  for (const std::string& text : texts) json.String(text);
  json.EndArray();
}

void AppendOwn(JsonWriter& json, const query::ServiceChange::Told& told, Lines& lines) {
  if (told.own.name.empty()) return;
  json.Key("own").BeginObject().Field("function", told.own.name);
  json.Field("module", told.own.module).Field("file", told.own.file);
  json.Field("line", told.line);
  if (const std::string text = lines.At(told.own.file, told.line); !text.empty())
    json.Field("text", text);
  json.EndObject();
}

void AppendTold(JsonWriter& json, const query::ServiceChange::Told& told, Lines& lines) {
  const query::Cause& cause = told.cause;
  json.BeginObject().Field("function", cause.function.name).Field("module", cause.function.module);
  json.Field("kind", query::CauseKindName(cause.kind)).Field("change", cause.change);
  json.Field("low", cause.low).Field("high", cause.high);
  json.Field("share_of_before", cause.share_of_before);
  AppendOwn(json, told, lines);
  AppendFunctions(json, "callers", cause.callers);
  AppendTexts(json, "traces", cause.traces);
  json.EndObject();
}

void AppendStatistics(JsonWriter& json, const query::TestedDifference& tested) {
  json.Field("basis", query::CauseBasisName(tested.cause_basis));
  json.Field("groups", query::GroupingName(tested.grouping));
  json.Field("groups_before", tested.groups_before).Field("groups_after", tested.groups_after);
  json.Field("note", tested.note);
  const query::Comparison& c = tested.whole;
  json.Key("whole").BeginObject().Field("before", c.before).Field("after", c.after);
  json.Field("change", c.change).Field("low", c.low).Field("high", c.high).Field("p", c.p);
  json.Field("detectable", c.detectable).EndObject();
  json.Field("requests_before", tested.requests_before);
  json.Field("requests_after", tested.requests_after);
  if (tested.requests_after > 0) {
    json.Key("latency").BeginObject();
    json.Field("p50_ns_before", tested.times_before.median_ns);
    json.Field("p50_ns_after", tested.times_after.median_ns);
    json.Field("p99_ns_before", tested.times_before.p99_ns);
    json.Field("p99_ns_after", tested.times_after.p99_ns).EndObject();
  }
}

}  // namespace wherefore::api
