#include "insight/alerts/read_rules.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/text.h"
#include "insight/alerts/labels.h"
#include "profile/tenant.h"
#include "settings/fields.h"
#include "settings/yaml.h"

namespace wherefore::insight {

using namespace settings;  // tables of keys

std::string AlertReceiver::Id() const {
  return (kind == Kind::kAlertmanager ? "alertmanager " : "webhook ") + UrlWithoutUser(url);
}

bool IsLabelName(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  return std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

namespace {

constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kLeastEvery = 5 * kNsPerSecond;
constexpr std::int64_t kMostOver = 24 * kHour;
constexpr std::size_t kMostRules = 5'000;
constexpr std::size_t kMostReceivers = 16;

std::vector<std::string_view> Words(std::string_view text) {
  std::vector<std::string_view> words;
  while (!(text = Trim(text)).empty()) {
    const std::size_t end = std::min(text.find_first_of(" \t\n"), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return words;
}

std::optional<double> ParseNumber(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

std::optional<double> ParseShareOf(std::string_view text) {
  if (!text.ends_with('%')) return std::nullopt;
  const auto value = ParseNumber(text.substr(0, text.size() - 1));
  return value ? std::optional(*value / 100) : std::nullopt;
}

// A number, a part of something, a time or a size.
std::optional<double> ParseBound(std::string_view text) {
  if (const auto share = ParseShareOf(text)) return share;
  if (const auto number = ParseNumber(text)) return number;
  if (const auto time = ParseDuration(text)) return static_cast<double>(*time);
  if (const auto bytes = ParseBytes(text)) return static_cast<double>(*bytes);
  return std::nullopt;
}

std::optional<Condition::Side> ParseSide(std::string_view word) {
  if (word == "above") return Condition::Side::kAbove;
  if (word == "below") return Condition::Side::kBelow;
  return std::nullopt;
}

Result<Condition> ReadChange(const std::vector<std::string_view>& words) {
  Condition c{.kind = Condition::Kind::kChange};
  const auto side = words.size() == 5 ? ParseSide(words[1]) : std::nullopt;
  const auto bound = side ? ParseShareOf(words[2]) : std::nullopt;
  if (!bound || words[3] != "against") {
    return Error(Code::kInvalid, "expected `change above 10% against yesterday`");
  }
  c.side = *side;
  c.bound = *bound;
  if (words[4] == "previous_version") {
    c.against = Against::kPreviousVersion;
  } else if (words[4] == "yesterday") {
    c.against = Against::kYesterday;
  } else if (words[4] == "previous") {
    c.against = Against::kPrevious;
  } else {
    return Error(Code::kInvalid,
                 "a change is `against` previous_version, yesterday or previous (the window "
                 "before)");
  }
  return c;
}

}  // namespace

Result<Condition> ReadCondition(std::string_view text) {
  const std::vector<std::string_view> words = Words(text);
  Result<Condition> read =
      Error(Code::kInvalid,
            "expected `above 20%`, `below 2`, `change above 10% against yesterday`, `anomaly` or "
            "`gap 3m`");
  if (words.empty()) return read;
  if (const auto side = ParseSide(words[0]); side && words.size() == 2) {
    const auto bound = ParseBound(words[1]);
    if (!bound || *bound < 0)
      return Error(Code::kInvalid,
                   "expected a number, 20%, 5ms or 64MB after " + std::string(words[0]));
    read = Condition{.side = *side, .bound = *bound};
  } else if (words[0] == "change") {
    read = ReadChange(words);
  } else if (words[0] == "anomaly" && words.size() <= 2) {
    const auto anomaly = words.size() == 2 ? ParseSide(words[1]) : Condition::Side::kEither;
    if (!anomaly) return Error(Code::kInvalid, "expected `anomaly`, `anomaly above` or `below`");
    read = Condition{.kind = Condition::Kind::kAnomaly, .side = *anomaly};
  } else if (words[0] == "gap" && words.size() == 2) {
    const auto gap = ParseDuration(words[1]);
    if (!gap || *gap <= 0) return Error(Code::kInvalid, "expected a time after gap, such as 3m");
    read = Condition{.kind = Condition::Kind::kGap, .bound = static_cast<double>(*gap)};
  }
  if (read) read->text = std::string(Trim(text));
  return read;
}

namespace {

// As ParseDuration reads it: 90s, 10m, 1h30m, 7d.
Result<std::int64_t> ReadTime(const Node& node) {
  if (node.kind == Node::Kind::kScalar) {
    if (const auto ns = ParseDuration(node.text)) return *ns;
    if (node.text == "0") return 0;
  }
  return Error(Code::kInvalid, "expected a duration such as 90s, 10m or 1h");
}
auto TimeBetween(std::int64_t least, std::int64_t most) {
  return [least, most](const Node& node) -> Result<std::int64_t> {
    WHEREFORE_ASSIGN_OR_RETURN(const std::int64_t ns, ReadTime(node));
    if (ns < least || ns > most) {
      return Error(Code::kInvalid,
                   fmt::format("expected {} to {}", FormatDuration(least), FormatDuration(most)));
    }
    return ns;
  };
}

Result<query::Selector> ReadSelector(const Node& node) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::string text, ReadText(node));
  WHEREFORE_ASSIGN_OR_RETURN(auto selector, query::Selector::Parse(text));
  if (!selector.narrowing().empty())
    return Error(Code::kInvalid, "expected services, not single spans, traces or profiles");
  return selector;
}

Result<std::string> ReadUrl(const Node& node) {
  WHEREFORE_ASSIGN_OR_RETURN(std::string url, ReadText(node));
  const bool http = url.starts_with("http://") || url.starts_with("https://");
  if (!http || url.size() > 2000 || url.find_first_of(" \r\n\t") != std::string::npos)
    return Error(Code::kInvalid, "expected an address such as http://127.0.0.1:9093");
  while (url.ends_with('/')) url.pop_back();
  return url;
}

Result<Pattern> ReadFunction(const Node& node) {
  WHEREFORE_ASSIGN_OR_RETURN(std::string text, ReadText(node));
  WHEREFORE_ASSIGN_OR_RETURN(auto regex, query::CompileRegex(text));
  return Pattern{.regex = std::move(regex), .text = std::move(text)};
}

void CheckLabels(const Entry& entry, Problems& problems) {
  for (const Entry& label : entry.value.entries) {
    if (!IsLabelName(label.key)) {
      problems.Fail(label.place, fmt::format("`{}`: a label's name has letters, digits and _ only, "
                                             "and does not begin with a digit",
                                             label.key));
    } else if (label.key == "alertname" || label.key == "service" || label.key == "tenant") {
      problems.Fail(label.place, fmt::format("`{}` is a label of its own accord", label.key));
    }
  }
}

void CheckTemplates(const Entry& entry, Problems& problems) {
  for (const Entry& text : entry.value.entries) {
    if (!IsLabelName(text.key))
      problems.Fail(text.place, fmt::format("`{}`: expected letters, digits and _", text.key));
    if (const auto fits = CheckTemplate(text.value.text); !fits)
      problems.Fail(text.value.place, fmt::format("`{}`: {}", text.key, fits.error().message()));
  }
}

const Fields<AlertRule>& RuleFields() {
  static const Fields<AlertRule> fields = {
      {"alert", Text(&AlertRule::alert)},
      {"select",
       [](const Entry& entry, AlertRule& rule, Problems& problems) {
         Scalar(&AlertRule::selector, ReadSelector)(entry, rule, problems);
         rule.select = entry.value.text;
       }},
      {"type", Text(&AlertRule::type)},
      {"function",
       [](const Entry& entry, AlertRule& rule, Problems& problems) {
         FrameMatch match;
         Scalar(&FrameMatch::frame, ReadFunction)(entry, match, problems);
         if (match.frame.set()) rule.frames.match = {std::move(match)};
       }},
      {"measure",
       [](const Entry& entry, AlertRule& rule, Problems& problems) {
         rule.has_measure = true;
         Choice(&AlertRule::measure, std::vector<std::pair<std::string_view, AlertMeasure>>{
                                         {"share", AlertMeasure::kShare},
                                         {"cores", AlertMeasure::kCores},
                                         {"per_request", AlertMeasure::kPerRequest},
                                         {"value", AlertMeasure::kValue}})(entry, rule, problems);
       }},
      {"over", Scalar(&AlertRule::over_ns, TimeBetween(10 * kNsPerSecond, kMostOver))},
      {"when", Scalar(&AlertRule::when,
                      [](const Node& node) -> Result<Condition> {
                        WHEREFORE_ASSIGN_OR_RETURN(const std::string text, ReadText(node));
                        return ReadCondition(text);
                      })},
      {"for", Scalar(&AlertRule::for_ns, TimeBetween(0, 7 * kNsPerDay))},
      {"keep_firing_for", Scalar(&AlertRule::keep_firing_for_ns, TimeBetween(0, 7 * kNsPerDay))},
      {"labels",
       [](const Entry& entry, AlertRule& rule, Problems& problems) {
         TextMap (&AlertRule::labels)(entry, rule, problems);
         CheckLabels(entry, problems);
       }},
      {"annotations",
       [](const Entry& entry, AlertRule& rule, Problems& problems) {
         TextMap (&AlertRule::annotations)(entry, rule, problems);
         CheckTemplates(entry, problems);
       }},
  };
  return fields;
}

const Node& Of(const Node& rule, std::string_view key) {
  const Node* const value = rule.Find(key);
  return value != nullptr ? *value : rule;
}

// Whether a bound can be compared with what is measured, by how it is written.
void CheckBound(const Node& node, const AlertRule& rule, Problems& problems) {
  if (rule.when.kind != Condition::Kind::kBound) return;
  const bool per_cent = rule.when.text.ends_with('%');
  const Node& at = Of(node, "when");
  if (rule.measure == AlertMeasure::kShare && !per_cent) {
    problems.Fail(at.place,
                  "`when`: expected a share in per cent, such as `above 20%`; what "
                  "else is measured, `measure` says");
  } else if (rule.measure != AlertMeasure::kShare && per_cent) {
    problems.Fail(at.place, "`when`: a share is compared with per cent; here `measure` is another");
  } else if (rule.measure == AlertMeasure::kShare && rule.when.bound > 1) {
    problems.Fail(at.place, "`when`: no share is above 100%");
  }
}

// What a rule cannot do without, and what does not go together.
void CheckRule(const Node& node, AlertRule& rule, Problems& problems) {
  if (rule.alert.empty()) problems.Fail(node.place, "a rule needs an `alert`: its name");
  const bool gap = rule.when.kind == Condition::Kind::kGap;
  if (rule.when.text.empty()) {
    if (node.Find("when") == nullptr)
      problems.Fail(node.place, fmt::format("alert `{}` needs `when`", rule.alert));
    return;
  }
  if (gap && (rule.has_measure || !rule.frames.match.empty())) {
    problems.Fail(Of(node, rule.has_measure ? "measure" : "function").place,
                  "`when: gap` is about whether there are profiles: it has no `measure` and no "
                  "`function`");
  }
  if (!rule.has_measure && rule.frames.match.empty()) rule.measure = AlertMeasure::kCores;
  CheckBound(node, rule, problems);
  if (rule.measure == AlertMeasure::kShare && rule.frames.match.empty() && !gap)
    problems.Fail(Of(node, "measure").place,
                  "`measure: share` needs a `function`: everything has a share of 100%");
  if (rule.over_ns == 0) {
    const bool anomaly = rule.when.kind == Condition::Kind::kAnomaly;
    rule.over_ns = gap ? kNsPerDay : anomaly ? kHour : 10 * kMinute;
  }
  if (gap && rule.when.bound >= static_cast<double>(rule.over_ns))
    problems.Fail(Of(node, "when").place,
                  "`when`: a gap this long is not seen; `over` must be "
                  "longer");
  if (rule.type.empty() && !gap) rule.type = "cpu";
}

void AddRule(const Node& node, AlertGroup& group, Problems& problems) {
  if (!ExpectMap(node, "rule", problems)) return;
  AlertRule rule{.group = group.name,
                 .tenant = profile::Tenant(group.tenant).number,
                 .tenant_name = group.tenant,
                 .every_ns = group.every_ns,
                 .delay_ns = group.delay_ns,
                 .place = node.place.Text()};
  ReadMap(node, RuleFields(), rule, problems);
  CheckRule(node, rule, problems);
  group.rules.push_back(std::move(rule));
}

const Fields<AlertGroup>& GroupFields() {
  static const Fields<AlertGroup> fields = {
      {"name", Text(&AlertGroup::name)},
      {"tenant", Text(&AlertGroup::tenant)},
      {"every", Scalar(&AlertGroup::every_ns, TimeBetween(kLeastEvery, kNsPerDay))},
      {"delay", Scalar(&AlertGroup::delay_ns, TimeBetween(0, kHour))},
      {"rules", [](const Entry& entry, AlertGroup&,
                   Problems& problems) { (void)ExpectList(entry.value, entry.key, problems); }},
  };
  return fields;
}

void AddGroup(const Node& node, AlertConfig& config, Problems& problems) {
  if (!ExpectMap(node, "group", problems)) return;
  AlertGroup group;
  ReadMap(node, GroupFields(), group, problems);
  if (group.name.empty()) {
    problems.Fail(node.place, "a group needs a `name`");
  } else if (std::ranges::find(config.groups, group.name, &AlertGroup::name) !=
             config.groups.end()) {
    problems.Fail(node.place, fmt::format("a second group `{}`", group.name));
  }
  // After the group's own keys, whatever their order is.
  if (const Node* rules = node.Find("rules"); rules != nullptr) {
    for (const Node& rule : rules->items) AddRule(rule, group, problems);
  }
  config.groups.push_back(std::move(group));
}

struct ReceiverKeys {
  std::string alertmanager;
  std::string webhook;
  AlertReceiver receiver;
};

const Fields<ReceiverKeys>& ReceiverFields() {
  static const Fields<ReceiverKeys> fields = {
      {"alertmanager", Scalar(&ReceiverKeys::alertmanager, ReadUrl)},
      {"webhook", Scalar(&ReceiverKeys::webhook, ReadUrl)},
      {"token_file", Text(In(&ReceiverKeys::receiver, &AlertReceiver::token_file))},
      {"timeout", Scalar(In(&ReceiverKeys::receiver, &AlertReceiver::timeout_ns),
                         TimeBetween(100'000'000, 5 * kMinute))},
  };
  return fields;
}

void AddReceiver(const Node& node, AlertConfig& config, Problems& problems) {
  if (!ExpectMap(node, "receiver", problems)) return;
  ReceiverKeys keys;
  ReadMap(node, ReceiverFields(), keys, problems);
  const bool named = node.Find("alertmanager") != nullptr || node.Find("webhook") != nullptr;
  if (!named || (!keys.alertmanager.empty() && !keys.webhook.empty())) {
    problems.Fail(node.place, "a receiver is an `alertmanager` or a `webhook`");
    return;
  }
  keys.receiver.kind =
      keys.webhook.empty() ? AlertReceiver::Kind::kAlertmanager : AlertReceiver::Kind::kWebhook;
  keys.receiver.url = keys.webhook.empty() ? keys.alertmanager : keys.webhook;
  if (std::ranges::find(config.receivers, keys.receiver.Id(), &AlertReceiver::Id) !=
      config.receivers.end())
    problems.Fail(node.place, "a second receiver with this address");
  config.receivers.push_back(std::move(keys.receiver));
}

const Fields<AlertConfig>& ConfigFields() {
  static const Fields<AlertConfig> fields = {
      {"external_url", Scalar(&AlertConfig::external_url, ReadUrl)},
      {"receivers",
       [](const Entry& entry, AlertConfig& config, Problems& problems) {
         if (!ExpectList(entry.value, entry.key, problems)) return;
         for (const Node& item : entry.value.items) AddReceiver(item, config, problems);
         if (config.receivers.size() > kMostReceivers)
           problems.Fail(entry.place, fmt::format("more than {} receivers", kMostReceivers));
       }},
      {"groups",
       [](const Entry& entry, AlertConfig& config, Problems& problems) {
         if (!ExpectList(entry.value, entry.key, problems)) return;
         for (const Node& item : entry.value.items) AddGroup(item, config, problems);
       }},
  };
  return fields;
}

// Two rules must not make the same alert: it could not be told whose it is.
void CheckDistinct(const Node& root, const AlertConfig& config, Problems& problems) {
  std::set<std::tuple<std::uint32_t, std::string, std::string, std::map<std::string, std::string>>>
      seen;
  std::size_t rules = 0;
  for (const AlertGroup& group : config.groups) {
    for (const AlertRule& rule : group.rules) {
      ++rules;
      if (!seen.emplace(rule.tenant, rule.alert, rule.selector.Text(), rule.labels).second) {
        problems.Fail(root.place,
                      fmt::format("the rule at {} is a second `{}` for the same services: give it "
                                  "another name or another label",
                                  rule.place, rule.alert));
      }
    }
  }
  if (rules > kMostRules) problems.Fail(root.place, fmt::format("more than {} rules", kMostRules));
}

}  // namespace

Result<AlertConfig> ParseAlerts(std::string_view text, std::string_view file) {
  Problems problems;
  AlertConfig config = ReadAlerts(text, file, problems);
  if (problems.failed()) return problems.error();
  return config;
}

AlertConfig ReadAlerts(std::string_view text, std::string_view file, Problems& problems) {
  AlertConfig config;
  const std::optional<Node> root = ParseYaml(text, file, problems);
  // Somebody writes it just now, or by mistake: nothing at all is no wish to end every alert.
  if (root && root->is_null()) problems.Fail(root->place, "it is empty; `groups: []` has no rules");
  if (!root || root->is_null() || !ExpectMap(*root, "alerts", problems)) return config;
  ReadMap(*root, ConfigFields(), config, problems);
  CheckDistinct(*root, config, problems);
  return config;
}

}  // namespace wherefore::insight
