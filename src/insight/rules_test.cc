// Rules from YAML: what is read, and where mistakes are.
#include "insight/rules.h"

#include <fstream>

#include <gtest/gtest.h>

#include "base/test_directory.h"

namespace wherefore::insight {
namespace {

constexpr std::string_view kGood =
    "- {id: go-regexp, title: Compiled each time, language: go, type: cpu,\n"
    "   match: {frame: '^regexp\\.(Must)?Compile', not_under: '\\.init$'}, measure: total,\n"
    "   at_least: {share: 1%, observations: 30, cores: 0.5}, saving: 95%, fix: Compile once.}\n";

std::string Mistake(const std::string& text) {
  settings::Problems problems;
  static_cast<void>(ReadRules(text, "mine.yaml", problems));
  return problems.failed() ? problems.error().message() : "";
}

std::string With(const std::string& keys) {
  return "- id: a\n  title: t\n  fix: f\n  at_least: {share: 5%}\n" + keys;
}

TEST(Rules, AreReadWithEveryKey) {
  settings::Problems problems;
  const auto rules = ReadRules(kGood, "mine.yaml", problems);
  ASSERT_FALSE(problems.failed()) << problems.error().message();
  ASSERT_EQ(rules.size(), 1u);
  const Rule& rule = rules.front();
  EXPECT_EQ(rule.id, "go-regexp");
  EXPECT_EQ(rule.language, "go");
  EXPECT_EQ(rule.at_least_observations, 30);
  EXPECT_DOUBLE_EQ(rule.at_least_cores, 0.5);
  EXPECT_DOUBLE_EQ(rule.at_least_share, 0.01);
  EXPECT_DOUBLE_EQ(rule.saving, 0.95);
  ASSERT_EQ(rule.match.size(), 1u);
  EXPECT_EQ(rule.match.front().not_under.text, "\\.init$");
  EXPECT_EQ(rule.place, "mine.yaml:1:3");
}

TEST(Rules, MistakesNameFileLineAndKey) {
  EXPECT_EQ(Mistake(With("  match: {frame: x}\n")), "");
  const std::string unknown = Mistake(With("  macth: {frame: x}\n"));
  EXPECT_TRUE(unknown.starts_with("mine.yaml:5:3: ")) << unknown;
  EXPECT_TRUE(unknown.contains("`macth`") && unknown.contains("`match`")) << unknown;
  const std::string broken = Mistake(With("  match: {frame: '('}\n"));
  EXPECT_TRUE(broken.starts_with("mine.yaml:5:18: `frame`")) << broken;
  EXPECT_TRUE(Mistake(With("  match: {detector: dominnt}\n")).contains("expected one of dominant"));
  EXPECT_TRUE(Mistake(With("  match: {under: x}\n")).contains("expected `frame`"));
  EXPECT_TRUE(Mistake(With("  match: {detector: deep, frame: x}\n")).contains("stands alone"));
  const std::string share = Mistake(With("  match: {frame: x}\n  saving: 120%\n"));
  EXPECT_TRUE(share.starts_with("mine.yaml:6:11: `saving`")) << share;
  EXPECT_TRUE(Mistake("- title: t\n").contains("needs an `id`"));
  EXPECT_TRUE(Mistake("- id: a\n").contains("rule `a` needs `title`"));
  EXPECT_TRUE(Mistake(With("  match: {frame: x}\n") + With("  match: {frame: x}\n"))
                  .contains("a second rule `a`"));
  EXPECT_TRUE(Mistake("id: a\n").starts_with("mine.yaml:1:1: "));
  EXPECT_TRUE(Mistake("- [1, 2]\n").starts_with("mine.yaml:1:3: "));
  EXPECT_FALSE(Mistake("- id: 'a\n").empty());
}

TEST(Rules, TheUsersGoBeforeThoseThatAreShipped) {
  const TestDirectory folder;
  const auto shipped = LoadRules("");
  ASSERT_TRUE(shipped) << shipped.error().message();
  ASSERT_GT(shipped->size(), 40u);
  std::ofstream(folder / "a.yaml") << "- {id: json, enabled: false}\n" << kGood;
  std::ofstream(folder / "notes.txt") << "no rules: {";
  const auto rules = LoadRules(folder.path());
  ASSERT_TRUE(rules) << rules.error().message();
  EXPECT_EQ(rules->size(), shipped->size() - 1);
  for (const Rule& rule : *rules) {
    EXPECT_NE(rule.id, "json");
    if (rule.id == "go-regexp") {
      EXPECT_EQ(rule.title, "Compiled each time");
    }
  }
  std::ofstream(folder / "b.yaml") << "- {id: x, tilte: t}\n";
  const auto broken = LoadRules(folder.path());
  ASSERT_FALSE(broken);
  EXPECT_TRUE(broken.error().message().contains("b.yaml:1:11")) << broken.error().message();
  EXPECT_FALSE(LoadRules(folder / "nowhere"));
}

}  // namespace
}  // namespace wherefore::insight
