#include "insight/alerts/silence.h"

#include <algorithm>
#include <optional>
#include <random>

#include <fmt/format.h>
#include <re2/re2.h>

#include "base/arithmetic.h"
#include "base/clock.h"
#include "base/text.h"
#include "insight/alerts/read_rules.h"
#include "query/selector.h"
#include "settings/fields.h"
#include "settings/yaml.h"

namespace wherefore::insight {

using namespace settings;  // tables of keys

namespace {

constexpr std::size_t kMostMatchers = 64;

Result<> Compile(SilenceMatcher& matcher) {
  if (!IsLabelName(matcher.name))
    return Error(Code::kInvalid, fmt::format("'{}' is not the name of a label", matcher.name));
  if (!matcher.is_regex) return {};
  WHEREFORE_ASSIGN_OR_RETURN(matcher.regex, query::CompileRegex(matcher.value));
  return {};
}

Result<std::int64_t> ReadMoment(const Node& node) {
  if (node.kind != Node::Kind::kScalar) return Error(Code::kInvalid, "expected a time");
  const std::string_view text = node.text;
  constexpr std::string_view kFromNow = "now+";
  if (!text.starts_with(kFromNow)) return ParseTime(text, NowUnixNs());
  Result<std::int64_t> later = ParseDuration(text.substr(kFromNow.size()));
  if (later) *later = SaturatingAdd(*later, NowUnixNs());
  return later;
}

// Any scalar: true and 5 are values of labels, too.
Result<std::string> ReadAnyText(const Node& node) {
  if (node.kind != Node::Kind::kScalar) return Error(Code::kInvalid, "expected a text");
  return node.text;
}

const Fields<SilenceMatcher>& MatcherFields() {
  static const Fields<SilenceMatcher> fields = {
      {"name", Text(&SilenceMatcher::name)},
      {"value", Scalar(&SilenceMatcher::value, ReadAnyText)},
      {"isRegex", Flag(&SilenceMatcher::is_regex)},
      {"isEqual", Flag(&SilenceMatcher::is_equal)},
  };
  return fields;
}

const Fields<Silence>& SilenceFields() {
  static const Fields<Silence> fields = {
      {"id", Text(&Silence::id)},
      {"matchers", Maps(&Silence::matchers, MatcherFields())},
      {"startsAt", Scalar(&Silence::starts_ns, ReadMoment)},
      {"endsAt", Scalar(&Silence::ends_ns, ReadMoment)},
      {"createdBy", Scalar(&Silence::created_by, ReadAnyText)},
      {"comment", Scalar(&Silence::comment, ReadAnyText)},
      {"status", Ignored("it follows from the times")},
      {"updatedAt", Ignored("it is when it is sent")},
  };
  return fields;
}

std::string_view StateAt(const Silence& silence, std::int64_t now_ns) {
  if (silence.ends_ns <= now_ns) return "expired";
  return silence.starts_ns > now_ns ? "pending" : "active";
}

}  // namespace

bool SilenceMatcher::Matches(const AlertLabels& labels) const {
  const auto label = labels.find(name);
  const std::string_view has = label == labels.end() ? std::string_view() : label->second;
  const bool fits = regex ? RE2::FullMatch(has, *regex) : has == value;
  return fits == is_equal;
}

bool Silence::Matches(const AlertLabels& labels) const {
  return std::ranges::all_of(matchers,
                             [&](const auto& matcher) { return matcher.Matches(labels); });
}

Result<Silence> ReadSilence(std::string_view json, std::int64_t now_ns) {
  Silence silence{.starts_ns = now_ns};
  Problems problems;
  const auto root = ParseJsonBody(json, "silence", problems);
  if (root && ExpectMap(*root, "silence", problems))
    ReadMap(*root, SilenceFields(), silence, problems);
  if (problems.failed()) return problems.error();
  if (silence.matchers.empty())
    return Error(Code::kInvalid, "silence: `matchers` are missing: it would silence everything");
  if (silence.matchers.size() > kMostMatchers)
    return Error(Code::kInvalid, fmt::format("silence: more than {} matchers", kMostMatchers));
  for (SilenceMatcher& matcher : silence.matchers) WHEREFORE_RETURN_IF_ERROR(Compile(matcher));
  const bool all_empty = std::ranges::all_of(
      silence.matchers, [](const SilenceMatcher& matcher) { return matcher.Matches({}); });
  if (all_empty) {
    return Error(Code::kInvalid,
                 "silence: its matchers match alerts without any label: it would "
                 "silence everything");
  }
  if (silence.ends_ns <= silence.starts_ns)
    return Error(Code::kInvalid, "silence: `endsAt` must be after `startsAt`");
  return silence;
}

Result<SilenceMatcher> ReadMatcher(std::string_view text) {
  const std::size_t at = text.find_first_of("=!");
  SilenceMatcher matcher{.name = "alertname", .value = std::string(text)};
  if (at != std::string_view::npos) {
    std::string_view rest = text.substr(at);
    matcher.name = text.substr(0, at);
    for (const auto& [op, regex, equal] : {std::tuple("=~", true, true),
                                           {"!~", true, false},
                                           {"!=", false, false},
                                           {"=", false, true}}) {
      if (!rest.starts_with(op)) continue;
      matcher.is_regex = regex;
      matcher.is_equal = equal;
      matcher.value = rest.substr(std::string_view(op).size());
      break;
    }
    if (rest.starts_with("!") && matcher.is_equal)
      return Error(Code::kInvalid, fmt::format("'{}': expected name=value, !=, =~ or !~", text));
  }
  WHEREFORE_RETURN_IF_ERROR(Compile(matcher));
  return matcher;
}

void WriteSilence(JsonWriter& json, const Silence& silence, std::int64_t now_ns) {
  json.BeginObject().Field("id", silence.id).Key("matchers").BeginArray();
  for (const SilenceMatcher& m : silence.matchers) {
    json.BeginObject().Field("name", m.name).Field("value", m.value);
    json.Field("isRegex", m.is_regex).Field("isEqual", m.is_equal).EndObject();
  }
  json.EndArray().Field("startsAt", FormatTime(silence.starts_ns));
  json.Field("endsAt", FormatTime(silence.ends_ns)).Field("createdBy", silence.created_by);
  json.Field("comment", silence.comment).Key("status").BeginObject();
  json.Field("state", StateAt(silence, now_ns)).EndObject().EndObject();
}

store::AlertEvent EventOf(const Silence& silence, std::int64_t now_ns) {
  store::AlertEvent event{.tenant = silence.tenant,
                          .time_ns = now_ns,
                          .kind = "silence",
                          .state = std::string(StateAt(silence, now_ns)),
                          .starts_ns = silence.starts_ns,
                          .ends_ns = silence.ends_ns,
                          .id = silence.id};
  JsonWriter json(event.detail);
  WriteSilence(json, silence, now_ns);
  return event;
}

Result<Silence> SilenceOf(const store::AlertEvent& event) {
  Silence silence{.id = event.id, .tenant = event.tenant};
  Problems problems;
  const auto root = ParseYaml(event.detail, "silence", problems);
  if (root && ExpectMap(*root, "silence", problems))
    ReadMap(*root, SilenceFields(), silence, problems);
  if (problems.failed()) return problems.error();
  for (SilenceMatcher& matcher : silence.matchers) WHEREFORE_RETURN_IF_ERROR(Compile(matcher));
  silence.starts_ns = event.starts_ns;  // to the nanosecond
  silence.ends_ns = event.ends_ns;
  return silence;
}

std::string MakeSilenceId() {
  std::random_device random;
  const auto next = [&] { return static_cast<std::uint32_t>(random()); };
  const std::uint32_t a = next();
  const std::uint32_t b = next();
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:04x}{:08x}", a, b >> 16U, b & 0xffffU,
                     next() & 0xffffU, next() & 0xffffU, next());
}

}  // namespace wherefore::insight
