// Api: alerts, their rules, silences and history, and dry runs.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "api/api.h"
#include "api/request.h"
#include "base/clock.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "insight/alerts/alerts.h"
#include "insight/alerts/dry_run.h"
#include "insight/alerts/history.h"
#include "insight/alerts/read_rules.h"
#include "net/tenant.h"

namespace wherefore::api {
namespace {

using insight::AlertPhase;
using insight::AlertsSeen;
using insight::Measured;
using net::HttpRequest;
using net::HttpResponse;

void WriteTexts(JsonWriter& json, std::string_view key, const insight::AlertLabels& texts) {
  json.Key(key).BeginObject();
  for (const auto& [name, text] : texts) json.Field(name, text);
  json.EndObject();
}

std::string TextOf(const Measured& m) {
  std::string text = insight::FormatMeasured(m.value, m.unit);
  if (m.low != m.high)
    text += fmt::format(" ({} to {})", insight::FormatMeasured(m.low, m.unit),
                        insight::FormatMeasured(m.high, m.unit));
  return text;
}

void WriteMeasured(JsonWriter& json, const Measured& m) {
  json.Field("value", m.value).Field("low", m.low).Field("high", m.high).Field("unit", m.unit);
  json.Field("text", TextOf(m));
}

void WriteAlert(JsonWriter& json, const AlertsSeen::One& one) {
  const insight::AlertState& state = one.state;
  json.BeginObject().Field("fingerprint", insight::FingerprintText(state.fingerprint));
  json.Field("state", insight::PhaseName(state.phase)).Field("alert", state.alert);
  json.Field("service", state.service).Field("group", state.group).Field("when", state.when);
  WriteTexts(json, "labels", state.labels);
  WriteTexts(json, "annotations", state.annotations);
  json.Field("activeAt", FormatTime(state.active_ns));
  if (state.phase == AlertPhase::kFiring) json.Field("startsAt", FormatTime(state.starts_ns));
  WriteMeasured(json, state.measured);
  json.Field("generatorURL", state.link).Key("silencedBy").BeginArray();
  for (const std::string& id : one.silenced_by) json.String(id);
  json.EndArray().EndObject();
}

void WriteRule(JsonWriter& json, const insight::AlertRule& rule) {
  json.Field("alert", rule.alert).Field("group", rule.group).Field("select", rule.select);
  json.Field("type", rule.type).Field("function", rule.function()).Field("when", rule.when.text);
  const char* measure = "value";
  if (rule.measure == insight::AlertMeasure::kShare) measure = "share";
  if (rule.measure == insight::AlertMeasure::kCores) measure = "cores";
  if (rule.measure == insight::AlertMeasure::kPerRequest) measure = "per_request";
  if (rule.when.kind != insight::Condition::Kind::kGap) json.Field("measure", measure);
  json.Field("over_s", static_cast<double>(rule.over_ns) / 1e9);
  json.Field("every_s", static_cast<double>(rule.every_ns) / 1e9);
  json.Field("for_s", static_cast<double>(rule.for_ns) / 1e9);
  json.Field("keep_firing_for_s", static_cast<double>(rule.keep_firing_for_ns) / 1e9);
  WriteTexts(json, "labels", rule.labels);
}

HttpResponse AlertsJson(const AlertsSeen& seen) {
  HttpResponse response;
  JsonWriter json(response.body);
  json.BeginObject().Key("alerts").BeginArray();
  for (const AlertPhase phase : {AlertPhase::kFiring, AlertPhase::kPending}) {
    for (const AlertsSeen::One& one : seen.alerts) {
      if (one.state.phase == phase) WriteAlert(json, one);
    }
  }
  json.EndArray().Key("rules").BeginArray();
  for (const AlertsSeen::Rule& one : seen.rules) {
    json.BeginObject();
    WriteRule(json, one.rule);
    json.Field("from", one.from).Field("services", one.services).Field("pending", one.pending);
    json.Field("firing", one.firing);
    if (one.judged_ns != 0) json.Field("judgedAt", FormatTime(one.judged_ns));
    if (!one.problem.empty()) json.Field("problem", one.problem);
    json.EndObject();
  }
  json.EndArray().Key("receivers").BeginArray();
  for (const AlertsSeen::Receiver& one : seen.receivers) {
    json.BeginObject().Field("receiver", one.id).Field("waiting", one.waiting);
    if (one.told_ns != 0) json.Field("toldAt", FormatTime(one.told_ns));
    if (!one.problem.empty()) json.Field("problem", one.problem);
    json.EndObject();
  }
  json.EndArray().Key("problems").BeginArray();
  for (const std::string& problem : seen.problems) json.String(problem);
  json.EndArray().EndObject();
  return response;
}

void WriteEvent(JsonWriter& json, const insight::AlertHistoryEvent& event) {
  json.BeginObject().Field("time", FormatTime(event.time_ns)).Field("kind", event.kind);
  json.Field("state", event.state).Field("alert", event.alert).Field("service", event.service);
  json.Field("fingerprint", insight::FingerprintText(event.fingerprint));
  if (event.starts_ns != 0) json.Field("startsAt", FormatTime(event.starts_ns));
  if (event.ends_ns != 0) json.Field("endsAt", FormatTime(event.ends_ns));
  if (!event.id.empty()) json.Field("receiver", event.id);
  if (event.kind == "state") WriteMeasured(json, insight::StateOf(event).measured);
  json.EndObject();
}

void WriteTime(JsonWriter& json, const insight::DryRun& run, const insight::WouldFire& time,
               std::int64_t end_ns) {
  const insight::AlertRule& rule = run.rules[time.rule];
  json.BeginObject().Field("alert", rule.alert).Field("group", rule.group);
  json.Field("service", time.service).Field("state", insight::PhaseName(time.phase));
  json.Field("from", FormatTime(time.from_ns));
  if (time.to_ns != 0) json.Field("to", FormatTime(time.to_ns));
  const std::int64_t to = time.to_ns != 0 ? time.to_ns : end_ns;
  json.Field("seconds", static_cast<double>(to - time.from_ns) / 1e9);
  for (const auto& [key, measured] : {std::pair("first", &time.first), {"most", &time.most}}) {
    json.Key(key).BeginObject();
    WriteMeasured(json, *measured);
    json.EndObject();
  }
  json.EndObject();
}

HttpResponse DryRunJson(const insight::DryRun& run, const query::TimeRange& range) {
  HttpResponse response;
  JsonWriter json(response.body);
  json.BeginObject().Field("from", FormatTime(range.from_ns)).Field("to", FormatTime(range.to_ns));
  json.Key("times").BeginArray();
  for (const insight::WouldFire& time : run.times) WriteTime(json, run, time, range.to_ns);
  json.EndArray().Key("rules").BeginArray();
  for (std::size_t i = 0; i < run.rules.size(); ++i) {
    const insight::DryRun::OfRule& of = run.of_rules[i];
    json.BeginObject();
    WriteRule(json, run.rules[i]);
    json.Field("services", of.services).Field("moments", of.moments).Field("unknown", of.unknown);
    json.Field("step_s", static_cast<double>(of.step_ns) / 1e9);
    if (!of.note.empty()) json.Field("note", of.note);
    json.EndObject();
  }
  json.EndArray().EndObject();
  return response;
}

// `time_ns`: how long it may take; it is many queries.
Result<HttpResponse> TestRules(query::QueryContext& context, const HttpRequest& request,
                               std::int64_t time_ns) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto p,
                             Parameters::Read(request, {"from", "to", "since", "step", "file"}));
  WHEREFORE_ASSIGN_OR_RETURN(query::TimeRange range, p.Range());
  range.to_ns = std::min(range.to_ns, NowUnixNs());
  if (range.from_ns >= range.to_ns) return Error(Code::kInvalid, "from: expected a past time");
  insight::DryRunOptions options{.range = range};
  if (p.Has("step")) {
    WHEREFORE_ASSIGN_OR_RETURN(options.step_ns, ParseDuration(p.Get("step")));
    if (options.step_ns < kNsPerSecond) return Error(Code::kInvalid, "step: expected 1s or more");
    if ((range.to_ns - range.from_ns) / options.step_ns > 100'000)
      return Error(Code::kInvalid, "step: that is more than 100,000 moments");
  }
  WHEREFORE_ASSIGN_OR_RETURN(insight::AlertConfig config,
                             insight::ParseAlerts(*request.body, p.Get("file", "rules")));
  // Whoever asks sees what is theirs.
  for (insight::AlertGroup& group : config.groups) {
    for (insight::AlertRule& rule : group.rules) rule.tenant = request.tenant;
  }
  if (time_ns > 0) request.cancel.SetDeadline(MonotonicNs() + time_ns);
  WHEREFORE_ASSIGN_OR_RETURN(const auto run,
                             insight::RunDry(context, config, options, request.cancel));
  return DryRunJson(run, range);
}

Result<HttpResponse> History(query::QueryContext& context, const HttpRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto p,
                             Parameters::Read(request, {"from", "to", "since", "alert", "service",
                                                        "deliveries", "limit"}));
  WHEREFORE_ASSIGN_OR_RETURN(const query::TimeRange range, p.Range());
  WHEREFORE_ASSIGN_OR_RETURN(const std::int64_t limit, p.Int("limit", 1000, 1, 100'000));
  WHEREFORE_ASSIGN_OR_RETURN(const bool deliveries, p.Flag("deliveries"));
  WHEREFORE_ASSIGN_OR_RETURN(const auto events,
                             insight::AlertHistory(context,
                                                   {.tenant = request.tenant,
                                                    .from_ns = range.from_ns,
                                                    .to_ns = range.to_ns,
                                                    .alert = p.Get("alert"),
                                                    .service = p.Get("service"),
                                                    .deliveries = deliveries,
                                                    .limit = static_cast<std::size_t>(limit)},
                                                   request.cancel));
  HttpResponse response;
  JsonWriter json(response.body);
  json.BeginObject().Key("events").BeginArray();
  for (const auto& event : events) WriteEvent(json, event);
  json.EndArray().EndObject();
  return response;
}

// A name may have slashes of its own.
std::string Behind(std::string_view prefix, const HttpRequest& request) {
  return request.path.substr(prefix.size());
}

}  // namespace

void Api::AddSilenceRoutes(net::Router& router, insight::Alerts& alerts) {
  AddRoute(router, "GET", "/api/v1/silences", "silences", net::WorkKind::kQuick,
           [&alerts](const HttpRequest& request) -> Result<HttpResponse> {
             WHEREFORE_RETURN_IF_ERROR(Parameters::Read(request, {}));
             const std::int64_t now = NowUnixNs();
             HttpResponse response;
             JsonWriter json(response.body);
             json.BeginObject().Key("silences").BeginArray();
             for (const auto& silence : alerts.Silences(request.tenant))
               insight::WriteSilence(json, silence, now);
             json.EndArray().EndObject();
             return response;
           });
  AddRoute(
      router, "POST", "/api/v1/silences", "silence", net::WorkKind::kQuick,
      [&alerts](const HttpRequest& request) -> Result<HttpResponse> {
        WHEREFORE_RETURN_IF_ERROR(Parameters::Read(request, {}));
        WHEREFORE_ASSIGN_OR_RETURN(auto silence, insight::ReadSilence(*request.body, NowUnixNs()));
        silence.tenant = request.tenant;
        WHEREFORE_ASSIGN_OR_RETURN(const std::string id, alerts.SetSilence(std::move(silence)));
        HttpResponse response;
        JsonWriter(response.body).BeginObject().Field("silenceID", id).EndObject();
        return response;
      });
  AddRoute(router, "DELETE", "/api/v1/silences/{silence}", "unsilence", net::WorkKind::kQuick,
           [&alerts](const HttpRequest& request) -> Result<HttpResponse> {
             WHEREFORE_RETURN_IF_ERROR(Parameters::Read(request, {}));
             WHEREFORE_RETURN_IF_ERROR(
                 alerts.EndSilence(request.tenant, Behind("/api/v1/silences/", request)));
             return HttpResponse{.body = "{}"};
           });
}

void Api::AddAlertRoutes(net::Router& router) {
  if (operations_.alerts == nullptr) return;
  insight::Alerts& alerts = *operations_.alerts;
  AddSilenceRoutes(router, alerts);
  AddRoute(router, "GET", "/api/v1/alerts", "alerts", net::WorkKind::kQuick,
           [&alerts](const HttpRequest& request) -> Result<HttpResponse> {
             WHEREFORE_RETURN_IF_ERROR(Parameters::Read(request, {}));
             return AlertsJson(alerts.Seen(request.tenant));
           });
  AddRoute(
      router, "GET", "/api/v1/alerts/history", "alert_history", net::WorkKind::kQuick,
      [this](const HttpRequest& request) { return History(context_, request); },
      operations_.catch_up);
  AddRoute(
      router, "POST", "/api/v1/alerts/test", "alert_test", net::WorkKind::kHeavy,
      [this](const HttpRequest& request) {
        constexpr std::int64_t kTimes = 5;
        return TestRules(context_, request, kTimes * operations_.query_timeout_ns);
      },
      operations_.catch_up);
  AddRoute(router, "POST", "/api/v1/alerts/rules", "alert_rules", net::WorkKind::kQuick,
           [&alerts](const HttpRequest& request) -> Result<HttpResponse> {
             WHEREFORE_RETURN_IF_ERROR(Parameters::Read(request, {}));
             const std::string tenant =
                 request.tenant == 0 ? "" : std::string(request.Header(net::kTenantHeader));
             WHEREFORE_RETURN_IF_ERROR(alerts.SetRules(request.tenant, tenant, *request.body));
             return HttpResponse{.body = "{}"};
           });
  AddRoute(router, "DELETE", "/api/v1/alerts/rules/{group}", "alert_rules_removed",
           net::WorkKind::kQuick, [&alerts](const HttpRequest& request) -> Result<HttpResponse> {
             WHEREFORE_RETURN_IF_ERROR(Parameters::Read(request, {}));
             WHEREFORE_RETURN_IF_ERROR(
                 alerts.RemoveRules(request.tenant, Behind("/api/v1/alerts/rules/", request)));
             return HttpResponse{.body = "{}"};
           });
}

}  // namespace wherefore::api
