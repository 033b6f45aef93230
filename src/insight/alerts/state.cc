#include "insight/alerts/state.h"

#include <array>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "settings/problems.h"
#include "settings/yaml.h"

namespace wherefore::insight {
namespace {

// For so long after it was resolved an alert needs more to fire again.
constexpr std::int64_t kAgain = kNsPerDay;

std::string PercentEncoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

// The page that shows it: what was judged, with the function searched for.
std::string LinkOf(const AlertRule& rule, const std::string& service,
                   const std::string& external_url) {
  std::string link = fmt::format("{}/s/{}?type={}", external_url, PercentEncoded(service),
                                 PercentEncoded(rule.type));
  std::string matchers;
  for (const query::Matcher& matcher : rule.selector.label_matchers()) {
    constexpr std::array kOps = {"=", "!=", "=~", "!~"};
    std::string value;
    for (const char c : matcher.value) {
      if (c == '"' || c == '\\') value += '\\';
      value += c;
    }
    matchers += fmt::format("{}{}{}\"{}\"", matchers.empty() ? "" : ",", matcher.label,
                            kOps[static_cast<std::size_t>(matcher.op)], value);
  }
  if (!matchers.empty()) link += "&q=" + PercentEncoded(matchers);
  if (!rule.function().empty()) link += "&search=" + PercentEncoded(rule.function());
  return link;
}

bool Holds(const AlertState& state, const Measured& measured, std::int64_t at_ns) {
  if (measured.truth != Truth::kTrue) return false;
  // What hovers around its bound passes it again and again, by chance.
  const bool again = state.ends_ns != 0 && at_ns - state.ends_ns < kAgain;
  return !again || measured.surely;
}

AlertMove Fire(AlertState& state, const AlertRule& rule, std::int64_t at_ns) {
  state.phase = AlertPhase::kFiring;
  state.starts_ns = at_ns;
  state.link = fmt::format("{}&from={}&to={}", state.link.substr(0, state.link.find("&from=")),
                           (at_ns - rule.delay_ns - rule.over_ns) / 1'000'000,
                           (at_ns - rule.delay_ns) / 1'000'000);
  state.quiet_ns = 0;
  return AlertMove::kFiring;
}

void Annotate(AlertState& state, const AlertRule& rule) {
  const Measured& m = state.measured;
  const TemplateValues values{.value = FormatMeasured(m.value, m.unit),
                              .low = FormatMeasured(m.low, m.unit),
                              .high = FormatMeasured(m.high, m.unit),
                              .bound = BoundText(rule.when),
                              .labels = state.labels};
  state.annotations.clear();
  for (const auto& [name, text] : rule.annotations) state.annotations[name] = Expand(text, values);
  if (!state.annotations.contains("summary"))
    state.annotations["summary"] = SentenceOf(rule, state.service, m);
}

}  // namespace

std::string_view PhaseName(AlertPhase phase) {
  if (phase == AlertPhase::kFiring) return "firing";
  return phase == AlertPhase::kPending ? "pending" : "inactive";
}

std::string_view MoveName(AlertMove move) {
  switch (move) {
    case AlertMove::kPending:
      return "pending";
    case AlertMove::kFiring:
      return "firing";
    case AlertMove::kResolved:
      return "resolved";
    case AlertMove::kInactive:
    case AlertMove::kNone:
      break;
  }
  return "inactive";
}

AlertState MakeState(const AlertRule& rule, const std::string& service,
                     const std::string& external_url) {
  AlertState state{.tenant = rule.tenant,
                   .labels = rule.labels,
                   .group = rule.group,
                   .alert = rule.alert,
                   .service = service,
                   .when = rule.when.text,
                   .link = LinkOf(rule, service, external_url),
                   .every_ns = rule.every_ns};
  state.labels["alertname"] = rule.alert;
  state.labels["service"] = service;
  if (!rule.tenant_name.empty()) state.labels["tenant"] = rule.tenant_name;
  state.fingerprint = FingerprintOf(state.labels);
  return state;
}

AlertMove Advance(AlertState& state, const AlertRule& rule, const Measured& measured,
                  std::int64_t at_ns, bool absent_counts) {
  state.measured = measured;
  state.judged_ns = at_ns;
  Truth truth = measured.truth;
  if (measured.absent && absent_counts) truth = Truth::kFalse;
  if (Holds(state, measured, at_ns)) {
    state.quiet_ns = 0;
    if (state.phase == AlertPhase::kFiring) return AlertMove::kNone;
    if (state.phase == AlertPhase::kInactive) state.active_ns = at_ns;
    if (at_ns - state.active_ns >= rule.for_ns) {
      Annotate(state, rule);
      return Fire(state, rule, at_ns);
    }
    const bool pending = state.phase == AlertPhase::kInactive;
    state.phase = AlertPhase::kPending;
    return pending ? AlertMove::kPending : AlertMove::kNone;
  }
  if (truth != Truth::kFalse) return AlertMove::kNone;
  if (state.phase == AlertPhase::kPending) return End(state, at_ns);
  if (state.phase != AlertPhase::kFiring) return AlertMove::kNone;
  if (state.quiet_ns == 0) state.quiet_ns = at_ns;
  return at_ns - state.quiet_ns >= rule.keep_firing_for_ns ? End(state, at_ns) : AlertMove::kNone;
}

AlertMove End(AlertState& state, std::int64_t at_ns) {
  const AlertPhase phase = state.phase;
  state.phase = AlertPhase::kInactive;
  state.quiet_ns = 0;
  if (phase == AlertPhase::kPending) return AlertMove::kInactive;
  if (phase == AlertPhase::kInactive) return AlertMove::kNone;
  state.ends_ns = at_ns;
  return AlertMove::kResolved;
}

std::string SentenceOf(const AlertRule& rule, const std::string& service,
                       const Measured& measured) {
  const auto text = [&](double value) { return FormatMeasured(value, measured.unit); };
  if (rule.when.kind == Condition::Kind::kGap)
    return fmt::format("{}: no profiles for {}", service, text(measured.value));
  std::string what = rule.function().empty() ? std::string("everything") : rule.function();
  if (!rule.type.empty()) what += " in " + rule.type;
  std::string range;
  if (measured.low != measured.high)
    range = fmt::format(" ({} to {})", text(measured.low), text(measured.high));
  const bool days = rule.when.kind == Condition::Kind::kAnomaly;
  return fmt::format("{}: {} {}{}{}", service, what, text(measured.value), range,
                     days ? " against the same hours of the last 7 days" : ", " + rule.when.text);
}

store::AlertEvent EventOf(const AlertState& state, AlertMove move, std::int64_t at_ns) {
  store::AlertEvent event{.tenant = state.tenant,
                          .time_ns = at_ns,
                          .kind = "state",
                          .state = std::string(MoveName(move)),
                          .fingerprint = state.fingerprint,
                          .group = state.group,
                          .alert = state.alert,
                          .service = state.service,
                          .value = state.measured.value,
                          .low = state.measured.low,
                          .high = state.measured.high};
  const bool fired = move == AlertMove::kFiring || move == AlertMove::kResolved;
  event.starts_ns = fired ? state.starts_ns : state.active_ns;
  event.ends_ns = move == AlertMove::kResolved ? state.ends_ns : 0;
  for (const auto& label : state.labels) event.labels.emplace_back(label);
  JsonWriter json(event.detail);
  json.BeginObject().Field("unit", state.measured.unit).Field("when", state.when);
  json.Field("every_ms", state.every_ns / 1'000'000)
      .Field("active_ms", state.active_ns / 1'000'000);
  json.Field("link", state.link).Key("annotations").BeginObject();
  for (const auto& [name, text] : state.annotations) json.Field(name, text);
  json.EndObject().EndObject();
  return event;
}

AlertState StateOf(const store::AlertEvent& event) {
  AlertState state{.tenant = event.tenant,
                   .fingerprint = event.fingerprint,
                   .group = event.group,
                   .alert = event.alert,
                   .service = event.service,
                   .judged_ns = event.time_ns};
  for (const auto& [name, value] : event.labels) state.labels[name] = value;
  state.measured = {.value = event.value, .low = event.low, .high = event.high};
  settings::Problems ignored;
  const auto detail = settings::ParseYaml(event.detail, "alert_events", ignored);
  const auto text = [&](const char* key) {
    const settings::Node* const found = detail ? detail->Find(key) : nullptr;
    return found != nullptr ? found->text : std::string();
  };
  const auto ms = [&](const char* key, std::int64_t otherwise) {
    return ParseInt(text(key)).value_or(otherwise) * 1'000'000;
  };
  state.measured.unit = text("unit");
  state.when = text("when");
  state.link = text("link");
  state.every_ns = ms("every_ms", 60'000);
  state.active_ns = ms("active_ms", event.starts_ns / 1'000'000);
  if (const settings::Node* all = detail ? detail->Find("annotations") : nullptr) {
    for (const settings::Entry& one : all->entries) state.annotations[one.key] = one.value.text;
  }
  if (event.state == "pending") {
    state.phase = AlertPhase::kPending;
    state.active_ns = event.starts_ns;
  } else if (event.state == "firing") {
    state.phase = AlertPhase::kFiring;
    state.starts_ns = event.starts_ns;
  } else if (event.state == "resolved") {
    state.starts_ns = event.starts_ns;
    state.ends_ns = event.ends_ns;
  }
  return state;
}

}  // namespace wherefore::insight
