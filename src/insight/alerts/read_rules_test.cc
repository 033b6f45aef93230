// Rules of alerts from YAML: what is read, and where mistakes are.
#include "insight/alerts/read_rules.h"

#include <gtest/gtest.h>

#include "insight/alerts/labels.h"
#include "insight/alerts/silence.h"

namespace wherefore::insight {
namespace {

std::string Mistake(const std::string& text) {
  settings::Problems problems;
  static_cast<void>(ReadAlerts(text, "a.yaml", problems));
  return problems.failed() ? problems.error().message() : "";
}

std::string Rule(const std::string& keys) {
  return "groups:\n  - name: g\n    rules:\n      - alert: A\n" + keys;
}

TEST(AlertRules, AreReadWithEveryKey) {
  settings::Problems problems;
  const AlertConfig config = ReadAlerts(
      "external_url: http://here/\n"
      "receivers: [{alertmanager: 'http://127.0.0.1:9093/', timeout: 5s}, {webhook: "
      "'http://u:p@h/x', token_file: /t}]\n"
      "groups:\n"
      "  - rules:\n"
      "      - {alert: Hot, select: 'shop{region=eu}', type: wall, function: '^a', measure: "
      "share,\n"
      "         over: 5m, when: above 20%, for: 2m, keep_firing_for: 3m, labels: {team: a},\n"
      "         annotations: {summary: 'it is {{ $value }}'}}\n"
      "    name: g\n"
      "    every: 30s\n"
      "    delay: 0s\n",
      "a.yaml", problems);
  ASSERT_FALSE(problems.failed()) << problems.error().message();
  EXPECT_EQ(config.external_url, "http://here");
  ASSERT_EQ(config.receivers.size(), 2u);
  EXPECT_EQ(config.receivers[0].Id(), "alertmanager http://127.0.0.1:9093");
  EXPECT_EQ(config.receivers[1].Id().find("u:p"), std::string::npos);
  ASSERT_EQ(config.groups.size(), 1u);
  ASSERT_EQ(config.groups[0].rules.size(), 1u);
  const AlertRule& rule = config.groups[0].rules[0];
  EXPECT_EQ(rule.group, "g");
  EXPECT_EQ(rule.every_ns, 30 * kNsPerSecond);
  EXPECT_EQ(rule.delay_ns, 0);
  EXPECT_EQ(rule.function(), "^a");
  EXPECT_EQ(rule.over_ns, 5 * kMinute);
  EXPECT_DOUBLE_EQ(rule.when.bound, 0.2);
  EXPECT_EQ(rule.for_ns, 2 * kMinute);
  EXPECT_EQ(rule.keep_firing_for_ns, 3 * kMinute);
  EXPECT_EQ(rule.place, "a.yaml:5:9");
}

TEST(AlertRules, ConditionsSayWhatTheyMean) {
  const auto read = [](const char* text) { return ReadCondition(text); };
  EXPECT_DOUBLE_EQ(read("above 5ms")->bound, 5e6);
  EXPECT_DOUBLE_EQ(read("below 64MiB")->bound, 64.0 * 1024 * 1024);
  EXPECT_DOUBLE_EQ(read(" above  1.5 ")->bound, 1.5);
  EXPECT_EQ(read("change below -20% against yesterday")->side, Condition::Side::kBelow);
  EXPECT_DOUBLE_EQ(read("change below -20% against yesterday")->bound, -0.2);
  EXPECT_EQ(read("change above 10% against previous_version")->against, Against::kPreviousVersion);
  EXPECT_EQ(read("anomaly")->side, Condition::Side::kEither);
  EXPECT_EQ(read("anomaly below")->side, Condition::Side::kBelow);
  EXPECT_DOUBLE_EQ(read("gap 3m")->bound, 180e9);
  for (const char* bad : {"", "above", "above x", "above -1", "above nan", "above inf",
                          "above 1e999", "over 20%", "change above 10%",
                          "change above 10 against yesterday", "change above 10% against tomorrow",
                          "anomaly maybe", "gap", "gap -3m", "gap 0s", "above 20% please"})
    EXPECT_FALSE(read(bad)) << bad;
}

TEST(AlertRules, MistakesNameFileLineAndKey) {
  EXPECT_EQ(Mistake(Rule("        select: shop\n        when: above 2\n")), "");
  const std::string unknown = Mistake(Rule("        wehn: above 2\n"));
  EXPECT_TRUE(unknown.starts_with("a.yaml:5:9: ")) << unknown;
  EXPECT_TRUE(unknown.contains("`wehn`") && unknown.contains("`when`")) << unknown;
  const std::string when = Mistake(Rule("        when: above many\n"));
  EXPECT_TRUE(when.starts_with("a.yaml:5:15: `when`")) << when;
  EXPECT_TRUE(Mistake(Rule("        function: '('\n        when: above 2%\n"))
                  .starts_with("a.yaml:5:19: `function`"));
  EXPECT_TRUE(Mistake(Rule("        for: soon\n        when: above 2\n")).contains("`for`"));
  EXPECT_TRUE(Mistake(Rule("        labels: {a-b: c}\n        when: above 2\n"))
                  .starts_with("a.yaml:5:18: `a-b`"));
  EXPECT_TRUE(Mistake(Rule("        labels: {service: c}\n        when: above 2\n"))
                  .contains("of its own accord"));
  EXPECT_TRUE(Mistake(Rule("        annotations: {s: '{{ $valeu }}'}\n        when: above 2\n"))
                  .contains("$labels.NAME"));
  EXPECT_TRUE(Mistake(Rule("        when: above 20%\n")).contains("here `measure` is another"));
  EXPECT_TRUE(Mistake(Rule("        function: a\n        when: above 2\n")).contains("per cent"));
  EXPECT_TRUE(Mistake(Rule("        measure: share\n        when: above 2%\n"))
                  .contains("needs a `function`"));
  EXPECT_TRUE(
      Mistake(Rule("        measure: cores\n        when: gap 3m\n")).contains("no `measure`"));
  EXPECT_TRUE(Mistake(Rule("        select: 'a{span_id=\"0000000000000001\"}'\n"
                           "        when: above 2\n"))
                  .contains("not single spans"));
  EXPECT_TRUE(Mistake(Rule("        select: a\n")).contains("alert `A` needs `when`"));
  EXPECT_TRUE(Mistake("groups: [{rules: []}]").contains("a group needs a `name`"));
  EXPECT_TRUE(Mistake("groups: [{name: a}, {name: a}]").contains("a second group"));
  EXPECT_TRUE(Mistake("receivers: [{url: x}]").contains("`url`"));
  EXPECT_TRUE(Mistake("receivers: [{webhook: x}]").contains("`webhook`: expected an address"));
  EXPECT_TRUE(Mistake("receivers: [{timeout: 5s}]").contains("`alertmanager` or a `webhook`"));
  EXPECT_TRUE(Mistake(Rule("        when: above 2\n      - {alert: A, when: above 3}\n"))
                  .contains("a second `A`"));
  EXPECT_TRUE(Mistake("[]").starts_with("a.yaml:1:1: "));
}

TEST(AlertRules, AnEmptyFileIsNoWishToEndEveryAlert) {
  for (const char* text : {"", "\n", "# later\n"}) {
    settings::Problems problems;
    (void)ReadAlerts(text, "a.yaml", problems);
    EXPECT_TRUE(problems.failed()) << "'" << text << "'";
  }
  settings::Problems problems;
  (void)ReadAlerts("groups: []\n", "a.yaml", problems);
  EXPECT_FALSE(problems.failed()) << problems.error().message();
}

TEST(AlertLabels, AreIdentifiedAsAlertmanagerDoesIt) {
  // {alertname="Hot", service="shop"}: as Prometheus' model.LabelSet.Fingerprint gives it.
  EXPECT_NE(FingerprintOf({{"a", "bc"}}), FingerprintOf({{"ab", "c"}}));
  EXPECT_EQ(FingerprintText(FingerprintOf({})), "cbf29ce484222325");
}

TEST(AlertLabels, TextsNameValues) {
  const AlertLabels labels{{"team", "a"}};
  const TemplateValues values{"1 %", "0 %", "2 %", "above 1%", labels};
  EXPECT_EQ(Expand("{{ $value }} ({{low}} to {{$high}}), {{ bound }}, {{ $labels.team }}", values),
            "1 % (0 % to 2 %), above 1%, a");
  EXPECT_EQ(Expand("{{ $labels.none }}|{{ open", values), "|{{ open");
  EXPECT_FALSE(CheckTemplate("{{ $labels }}"));
}

TEST(Silences, MatchAsAlertmanagersDo) {
  const AlertLabels labels{{"alertname", "Hot"}, {"service", "shop"}};
  const auto matches = [&](const char* text) {
    const auto matcher = ReadMatcher(text);
    EXPECT_TRUE(matcher) << text;
    return matcher && matcher->Matches(labels);
  };
  EXPECT_TRUE(matches("Hot"));
  EXPECT_TRUE(matches("service=~sh.*"));
  EXPECT_FALSE(matches("service=~sh"));
  EXPECT_TRUE(matches("service!=cart"));
  EXPECT_FALSE(matches("service!~shop|cart"));
  EXPECT_TRUE(matches("none="));
  EXPECT_TRUE(matches("service!~=x"));
  EXPECT_FALSE(ReadMatcher("a b=c"));
  EXPECT_FALSE(ReadMatcher("service!x"));
  EXPECT_FALSE(ReadMatcher("service=~("));
}

TEST(Silences, ComeBackFromTheirEvents) {
  const auto read =
      ReadSilence(R"({"matchers":[{"name":"service","value":"a\"b\u00e4'","isRegex":false}],)"
                  R"("endsAt":"2099-01-01T00:00:00Z","createdBy":"me","comment":"why: #5\nso"})",
                  1000);
  ASSERT_TRUE(read) << read.error().message();
  Silence silence = *read;
  silence.id = "x";
  silence.tenant = 7;
  const auto back = SilenceOf(EventOf(silence, 2000));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(back->starts_ns, 1000);
  EXPECT_EQ(back->comment, "why: #5\nso");
  EXPECT_EQ(back->tenant, 7u);
  ASSERT_EQ(back->matchers.size(), 1u);
  EXPECT_EQ(back->matchers[0].value, "a\"bä'");
}

}  // namespace
}  // namespace wherefore::insight
