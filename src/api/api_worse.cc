// Api: what got worse, service by service (worse_watch.h).
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "api/api.h"
#include "api/render.h"
#include "api/request.h"
#include "api/source_files.h"
#include "api/worse_watch.h"
#include "base/clock.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "query/versions.h"

namespace wherefore::api {
namespace {

using Look = WorseSeen::Look;
constexpr double kCertain = 0.05;  // largest q among services that is told as worse

// How small a risk it is that equal services are told as different.
bool GotWorse(const Look& look) {
  return look.change.verdict == query::ServiceVerdict::kWorse && look.q <= kCertain;
}

std::int64_t AgeMs(const Look& look, std::int64_t now) {
  return std::max<std::int64_t>(0, (now - look.looked_ns) / 1'000'000);
}

std::string ModeOf(const query::ServiceChange& change) {
  return change.tested.compared == query::Compared::kPerRequest ? "request" : "share";
}

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

std::string ShellQuoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

std::string CommandOf(const query::ServiceChange& change) {
  const SideTexts s = SidesOf(change);
  return fmt::format(
      "wherefore diff --baseline {} --comparison {} --type cpu --from {} --to {} --base-from {} "
      "--base-to {} --mode {}",
      ShellQuoted(s.base_query), ShellQuoted(s.query), s.from_ms, s.to_ms, s.base_from_ms,
      s.base_to_ms, ModeOf(change));
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

// The text of a line, as far as the file is here; each file is read once.
class Lines {
 public:
  explicit Lines(const SourceFiles& files) : files_(files) {}

  std::string At(const std::string& file, std::int64_t line) {
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

 private:
  static constexpr std::size_t kLongest = 400;
  const SourceFiles& files_;
  std::map<std::string, std::string> texts_;
};

void AppendTold(JsonWriter& json, const query::ServiceChange::Told& told, Lines& lines) {
  const query::Cause& cause = told.cause;
  json.BeginObject().Field("function", cause.function.name).Field("module", cause.function.module);
  json.Field("kind", query::CauseKindName(cause.kind)).Field("change", cause.change);
  json.Field("low", cause.low).Field("high", cause.high);
  json.Field("share_of_before", cause.share_of_before);
  if (!told.own.name.empty()) {
    json.Key("own").BeginObject().Field("function", told.own.name);
    json.Field("module", told.own.module).Field("file", told.own.file);
    json.Field("line", told.line);
    if (const std::string text = lines.At(told.own.file, told.line); !text.empty())
      json.Field("text", text);
    json.EndObject();
  }
  json.Key("callers").BeginArray();
  for (const profile::FlameFunction& f : cause.callers)
    json.BeginObject().Field("name", f.name).Field("module", f.module).EndObject();
  json.EndArray().Key("traces").BeginArray();
  for (const std::string& trace : cause.traces) json.String(trace);
  json.EndArray().EndObject();
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

void AppendLook(JsonWriter& json, const Look& look, std::size_t services, std::int64_t now,
                Lines& lines) {
  const query::ServiceChange& change = look.change;
  const bool worse = GotWorse(look);
  const bool doubtful = change.verdict == query::ServiceVerdict::kWorse && !worse;
  json.BeginObject().Field("service", change.service);
  json.Field("sentence", doubtful ? fmt::format("{}; among {} services that may be chance",
                                                query::SentenceOf(change), services)
                                  : query::SentenceOf(change));
  json.Field("verdict", doubtful ? "undecided" : query::ServiceVerdictName(change.verdict));
  json.Field("q", look.q).Field("reason", change.reason);
  json.Field("type", "cpu").Field("unit", "nanoseconds").Field("cores", change.cores);
  json.Field("age_ms", AgeMs(look, now));
  if (change.verdict != query::ServiceVerdict::kUnknown) {
    json.Field("mode", ModeOf(change));
    AppendSides(json, change);
    AppendStatistics(json, change.tested);
    json.Key("cost").BeginObject().Field("cores", change.cost).Field("low", change.cost_low);
    json.Field("high", change.cost_high).EndObject();
    if (change.detectable) json.Field("detectable_share", *change.detectable);
    json.Field("command", CommandOf(change));
  }
  json.Key("causes").BeginArray();
  for (const query::ServiceChange::Told& told : change.causes) AppendTold(json, told, lines);
  json.EndArray().Key("endpoints").BeginArray();
  for (const std::string& endpoint : change.endpoints) json.String(endpoint);
  json.EndArray().EndObject();
}

void AppendLooks(JsonWriter& json, std::string_view key, const std::vector<const Look*>& looks,
                 std::size_t limit, std::size_t services, std::int64_t now, Lines& lines) {
  json.Key(key).BeginArray();
  for (std::size_t i = 0; i < std::min(limit, looks.size()); ++i)
    AppendLook(json, *looks[i], services, now, lines);
  json.EndArray();
}

}  // namespace

Result<net::HttpResponse> AnswerWorse(WorseWatch& watch, const SourceFiles& files,
                                      const net::HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto p,
                             Parameters::Read(request, {"search", "limit", "max_age"}));
  WHEREFORE_ASSIGN_OR_RETURN(const auto wanted, p.List(100, 10'000));
  std::int64_t max_age = -1;
  if (p.Has("max_age")) {
    WHEREFORE_ASSIGN_OR_RETURN(max_age, p.Int("max_age", 60, 0, 86'400));
    max_age *= kNsPerSecond;
  }
  const WorseSeen seen = watch.Ask(p.tenant(), max_age);
  std::vector<const Look*> worse;
  std::vector<const Look*> others;
  std::int64_t oldest = 0;
  for (const auto& look : seen.looks) {
    oldest = oldest == 0 ? look->looked_ns : std::min(oldest, look->looked_ns);
    if (!wanted.search.Matches(look->change.service)) continue;
    (GotWorse(*look) ? worse : others).push_back(look.get());
  }
  std::ranges::stable_sort(worse, std::greater(),
                           [](const Look* look) { return look->change.cost_low; });
  const std::int64_t now = NowUnixNs();
  net::HttpResponse response;
  JsonWriter json(response.body);
  json.BeginObject().Field("at", FormatTime(now)).Field("looking", seen.looking);
  if (oldest > 0) json.Field("age_ms", std::max<std::int64_t>(0, (now - oldest) / 1'000'000));
  json.Field("looked_at", seen.looks.size()).Field("services", seen.services);
  json.Field("worse_in_all", worse.size());
  Lines lines(files);
  AppendLooks(json, "worse", worse, wanted.limit, seen.looks.size(), now, lines);
  AppendLooks(json, "others", others, wanted.limit, seen.looks.size(), now, lines);
  AppendMarks(json, seen, wanted.search);
  json.EndObject();
  return response;
}

}  // namespace wherefore::api
