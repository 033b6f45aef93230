// Api: regressions, and what people say to them.
#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "api/api.h"
#include "api/change_json.h"
#include "api/request.h"
#include "api/source_files.h"
#include "base/clock.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "insight/regressions/read_change.h"
#include "insight/regressions/watch.h"

namespace wherefore::api {
namespace {

using insight::LookedAt;
using insight::Regression;
using insight::RegressionState;
using net::HttpRequest;
using net::HttpResponse;

std::int64_t Ms(std::int64_t ns) {
  return ns / 1'000'000;
}

void AppendChange(JsonWriter& json, const Regression& record) {
  const query::Cause& cause = record.cause();
  const query::Comparison& whole = record.change.tested.whole;
  const double share = cause.change != 0 ? cause.share_of_before / cause.change : 0;
  json.Key("change").BeginObject().Field("before", whole.before).Field("after", whole.after);
  json.Field("change", cause.change).Field("low", cause.low).Field("high", cause.high);
  json.Field("share", cause.share_of_before).Field("share_low", cause.low * share);
  json.Field("share_high", cause.high * share).EndObject();
  json.Key("cores").BeginObject().Field("change", record.told().cost);
  json.Field("low", record.told().cost_low).Field("high", record.told().cost_high).EndObject();
}

void AppendRecord(JsonWriter& json, const Regression& record, Lines& lines) {
  const query::ServiceChange& change = record.change;
  const query::Cause& cause = record.cause();
  json.BeginObject().Field("id", insight::IdText(record.id));
  json.Field("state", insight::StateName(record.state));
  json.Field("sentence", query::SentenceOf(change, record.told()));
  json.Field("service", change.service).Field("type", "cpu").Field("unit", "nanoseconds");
  json.Field("kind", query::CauseKindName(cause.kind));
  json.Key("function").BeginObject().Field("name", cause.function.name);
  json.Field("module", cause.function.module).EndObject();
  AppendOwn(json, record.told(), lines);
  AppendFunctions(json, "callers", cause.callers);
  json.Field("mode", ModeOf(change));
  AppendChange(json, record);
  json.Field("q", cause.q);
  AppendSides(json, change);
  AppendStatistics(json, change.tested);
  json.Field("first_seen_ms", Ms(record.first_seen_ns));
  json.Field("changed_ms", Ms(record.changed_ns)).Field("looked_ms", Ms(record.looked_ns));
  json.Field("looks", record.looks);
  AppendTexts(json, "endpoints", record.told().endpoints);
  json.Key("traces").BeginObject();
  AppendTexts(json, "before", record.told().traces_before);
  AppendTexts(json, "after", cause.traces);
  json.EndObject().Field("address", AddressOf(change)).Field("command", CommandOf(change));
  json.Field("why", record.why).Field("by", record.by);
  if (record.until_ns != 0) json.Field("until_ms", Ms(record.until_ns));
  json.EndObject();
}

void AppendVersion(JsonWriter& json, const LookedAt& looked,
                   const std::vector<Regression>& records) {
  const auto of_it = std::ranges::count_if(records, [&](const Regression& record) {
    return record.change.service == looked.service && record.change.label == looked.label &&
           record.change.version_after == looked.version;
  });
  const bool more = looked.looks < insight::kLooks.size();
  json.BeginObject().Field("service", looked.service).Field("label", looked.label);
  json.Field("before", looked.before).Field("after", looked.version);
  json.Field("at_ms", Ms(looked.since_ns));
  json.Field("looks", static_cast<std::int64_t>(looked.looks));
  json.Field("looked_ms", Ms(looked.looked_ns));
  json.Field("next_ms",
             more ? Ms(looked.since_ns + insight::kLooks[looked.looks].age_ns) : std::int64_t{0});
  json.Field("regressions", of_it);
  if (looked.detectable) json.Field("detectable_share", *looked.detectable);
  json.Field("note", looked.note).EndObject();
}

void AppendWork(JsonWriter& json, const insight::Regressions::Work& work) {
  json.Key("watch").BeginObject().Field("looks", work.looks).Field("skipped", work.skipped);
  json.Field("failed", work.failed).Field("cpu_share", work.used_share);
  json.Field("budget_share", work.budget_share).Field("last_ms", Ms(work.last_ns));
  json.Field("note", work.note).EndObject();
}

// Which records are wanted.
struct Wanted {
  std::string service;
  std::vector<RegressionState> states;  // empty: any
  std::int64_t since_ns = INT64_MIN;
  query::ListOf list;

  [[nodiscard]] bool Has(const Regression& record) const {
    if (!service.empty() && record.change.service != service) return false;
    if (!states.empty() && std::ranges::find(states, record.state) == states.end()) return false;
    // What is open is told however old it is.
    if (record.first_seen_ns < since_ns && record.state != RegressionState::kOpen) return false;
    return list.search.Matches(record.change.service) ||
           list.search.Matches(record.cause().function.name);
  }
};

Result<Wanted> ReadWanted(const Parameters& p) {
  Wanted wanted{.service = p.Get("service"), .states = {}, .list = {}};
  WHEREFORE_ASSIGN_OR_RETURN(wanted.list, p.List(100, 10'000));
  std::string rest = p.Get("state");
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const auto state = insight::StateOf(rest.substr(0, comma));
    if (!state) {
      return Error(Code::kInvalid,
                   "parameter 'state': expected open, acknowledged, muted or gone, with commas");
    }
    wanted.states.push_back(*state);
    rest.erase(0, std::min(comma + 1, rest.size()));
  }
  if (const std::string since = p.Get("since"); !since.empty()) {
    const std::int64_t now = NowUnixNs();
    if (const auto ago = ParseDuration(since)) {
      wanted.since_ns = now - *ago;
    } else {
      auto time = ParseTime(since, now);
      if (!time) return std::move(time).error().Within("parameter 'since'");
      wanted.since_ns = *time;
    }
  }
  return wanted;
}

Result<HttpResponse> ListRegressions(insight::Regressions& regressions, const SourceFiles& files,
                                     const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto p,
      Parameters::Read(request, {"service", "state", "since", "search", "limit", "max_age"}));
  WHEREFORE_ASSIGN_OR_RETURN(const Wanted wanted, ReadWanted(p));
  if (p.Has("max_age")) {
    WHEREFORE_ASSIGN_OR_RETURN(const std::int64_t most, p.Int("max_age", 60, 0, 86'400));
    if (NowUnixNs() - regressions.work().last_ns >= most * kNsPerSecond) regressions.Hurry();
  }
  const insight::RegressionsSeen seen = regressions.Seen(p.tenant());
  std::vector<const Regression*> found;
  for (const Regression& record : seen.records) {
    if (wanted.Has(record)) found.push_back(&record);
  }
  HttpResponse response;
  JsonWriter json(response.body);
  json.BeginObject().Field("at", FormatTime(NowUnixNs()));
  json.Field("open", std::ranges::count(seen.records, RegressionState::kOpen, &Regression::state));
  json.Field("total", found.size()).Field("looking", seen.looking);
  json.Key("regressions").BeginArray();
  Lines lines(files);
  for (std::size_t i = 0; i < std::min(found.size(), wanted.list.limit); ++i)
    AppendRecord(json, *found[i], lines);
  json.EndArray().Key("versions").BeginArray();
  std::size_t versions = 0;
  for (const LookedAt& looked : seen.versions) {
    if (!wanted.service.empty() && looked.service != wanted.service) continue;
    if (++versions <= wanted.list.limit) AppendVersion(json, looked, seen.records);
  }
  json.EndArray();
  AppendWork(json, regressions.work());
  json.EndObject();
  return response;
}

// "/api/v1/regressions/0123456789abcdef/mute"
Result<std::uint64_t> IdOf(const HttpRequest& request) {
  constexpr std::string_view kBefore = "/api/v1/regressions/";
  const std::string_view path = request.path;
  const std::string_view text = path.substr(kBefore.size(), path.rfind('/') - kBefore.size());
  const auto bytes = FromHex(text);
  if (!bytes || bytes->size() != sizeof(std::uint64_t))
    return Error(Code::kNotFound, fmt::format("no regression '{}'", text));
  std::uint64_t id = 0;
  for (const char byte : *bytes) id = id << 8U | static_cast<unsigned char>(byte);
  return id;
}

}  // namespace

void Api::AddRegressionRoutes(net::Router& router) {
  if (operations_.regressions == nullptr) return;
  insight::Regressions& regressions = *operations_.regressions;
  AddRoute(
      router, "GET", "/api/v1/regressions", "regressions", net::WorkKind::kQuick,
      [this, &regressions, files = SourceFiles(operations_.source_roots)](
          const HttpRequest& request) { return ListRegressions(regressions, files, request); });
  for (const auto& [action, state] : {std::pair("acknowledge", RegressionState::kAcknowledged),
                                      {"mute", RegressionState::kMuted},
                                      {"reopen", RegressionState::kOpen}}) {
    AddRoute(router, "POST", fmt::format("/api/v1/regressions/{{regression}}/{}", action),
             fmt::format("regression_{}", action), net::WorkKind::kQuick,
             [&regressions, state, files = SourceFiles(operations_.source_roots)](
                 const HttpRequest& request) -> Result<HttpResponse> {
               WHEREFORE_RETURN_IF_ERROR(Parameters::Read(request, {}));
               WHEREFORE_ASSIGN_OR_RETURN(const std::uint64_t id, IdOf(request));
               WHEREFORE_ASSIGN_OR_RETURN(
                   const auto change,
                   insight::ReadRegressionChange(state, *request.body, NowUnixNs()));
               WHEREFORE_ASSIGN_OR_RETURN(const Regression record,
                                          regressions.Change(request.tenant, id, change));
               HttpResponse response;
               JsonWriter json(response.body);
               Lines lines(files);
               AppendRecord(json, record, lines);
               return response;
             });
  }
}

}  // namespace wherefore::api
