// Trees from YAML, references, merging: what is read, and where mistakes are.
#include "settings/yaml.h"

#include <map>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "gateway/config/references.h"
#include "gateway/config/sources.h"
#include "settings/fields.h"

namespace wherefore::gateway {

using namespace settings;  // trees with places
namespace {

Node Parsed(const std::string& text) {
  Problems problems;
  auto node = ParseYaml(text, "f.yaml", problems);
  EXPECT_TRUE(node) << problems.error().message();
  return node.value_or(Node());
}

std::string Mistake(const std::string& text) {
  Problems problems;
  EXPECT_FALSE(ParseYaml(text, "f.yaml", problems)) << text;
  return problems.failed() ? problems.error().message() : "";
}

TEST(ConfigYaml, EveryNodeKnowsItsPlace) {
  const Node root = Parsed("a:\n  b: [x, 'y']\n  c:\n");
  const Node* const list = root.Find("a")->Find("b");
  ASSERT_EQ(list->items.size(), 2u);
  EXPECT_EQ(list->items[1].place.Text(), "f.yaml:2:10");
  EXPECT_TRUE(list->items[1].quoted);
  EXPECT_FALSE(list->items[0].quoted);
  EXPECT_TRUE(root.Find("a")->Find("c")->is_null());
  EXPECT_TRUE(Parsed("").is_null());
}

TEST(ConfigYaml, MistakesHaveLineAndColumn) {
  EXPECT_EQ(Mistake("a: 1\nb: 2\na: 3\n"), "f.yaml:3:1: `a` is here twice; first in line 1");
  EXPECT_TRUE(Mistake("a: [1, 2\nb: 3\n").starts_with("f.yaml:"));
  EXPECT_EQ(Mistake("? [a]\n: 1\n"), "f.yaml:1:3: a key is a name, not a list");
  EXPECT_TRUE(Mistake("a: 1\n---\nb: 2\n").starts_with("f.yaml:3:"));
  EXPECT_EQ(Mistake("a: 1\nb: \xff\n"), "f.yaml:2:1: this line is not text in UTF-8");
  EXPECT_TRUE(Mistake(std::string(kMaxConfigBytes + 1, ' ')).contains("1 MiB"));
}

TEST(ConfigYaml, AliasesAreBounded) {
  EXPECT_EQ(Parsed("a: &x {k: 1}\nb: *x\n").Find("b")->Find("k")->text, "1");
  EXPECT_TRUE(Mistake("a: &x [*x]\n").contains("f.yaml:1:"));
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) bomb += (j > 0 ? ", *a" : "*a") + std::to_string(i - 1);
    bomb += "]\n";
  }
  EXPECT_TRUE(Mistake(bomb).contains("more than 100,000 values"));
}

TEST(ConfigYaml, ItsOwnEntriesComeBeforeTakenOverOnes) {
  const Node root = Parsed("base: &b {x: 1, y: 2}\nall:\n  <<: *b\n  x: 3\n");
  EXPECT_EQ(root.Find("all")->Find("x")->text, "3");
  EXPECT_EQ(root.Find("all")->Find("y")->text, "2");
}

TEST(ConfigYaml, DeepNestingIsAnErrorWithALine) {
  EXPECT_TRUE(Mistake(std::string(5000, '[')).starts_with("f.yaml:1:"));
  std::string deep;
  for (int i = 0; i < 2000; ++i) deep += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  EXPECT_TRUE(Mistake(deep.substr(0, kMaxConfigBytes)).starts_with("f.yaml:"));
}

// The value of `v` after references were replaced; problems as text.
struct Replaced {
  Node node;
  std::string problems;
};
Replaced Replace(const std::string& yaml) {
  static const std::map<std::string, std::string> kVariables = {
      {"N", "5"}, {"FLAG", "true"}, {"ZIP", "0123"}, {"LIST", "[a, b]"}, {"EMPTY", ""}};
  Problems problems;
  Node root = Parsed("v: " + yaml + "\n");
  ReplaceReferences(
      root,
      [](const std::string& name) -> std::optional<std::string> {
        const auto found = kVariables.find(name);
        return found == kVariables.end() ? std::nullopt : std::optional(found->second);
      },
      problems);
  Replaced out{.node = *root.Find("v")};
  for (const Problem& p : problems.list()) {
    out.problems += (p.warning ? "warning " : "error ") + p.Text() + "\n";
  }
  return out;
}

TEST(ConfigReferences, OneUnquotedReferenceTakesYamlsType) {
  EXPECT_EQ(ReadWhole(Replace("${N}").node, 0, 9).value_or(0), 5);
  EXPECT_EQ(ReadWhole(Replace("${env:N}").node, 0, 9).value_or(0), 5);
  EXPECT_TRUE(ReadFlag(Replace("${FLAG}").node).value_or(false));
  EXPECT_FALSE(ReadWhole(Replace("\"${N}\"").node, 0, 9));
  EXPECT_FALSE(ReadWhole(Replace("${N}${N}").node, 0, 99));
  EXPECT_EQ(Replace("${ZIP}").node.text, "0123");
  EXPECT_EQ(Replace("${LIST}").node.kind, Node::Kind::kScalar);
  EXPECT_EQ(Replace("${LIST}").node.text, "[a, b]");
}

TEST(ConfigReferences, DefaultsDollarsAndParts) {
  EXPECT_EQ(Replace("${env:NO:-7}").node.text, "7");
  EXPECT_EQ(Replace("${env:NO:-}").node.text, "");
  EXPECT_EQ(Replace("http://${env:NO:-host}:${N}/$$x$y").node.text, "http://host:5/$x$y");
  EXPECT_EQ(Replace("$$${N}").node.text, "$5");
  EXPECT_TRUE(Replace("${EMPTY}").node.is_null());
}

TEST(ConfigReferences, UnsetIsEmptyAndAWarningWithItsPlace) {
  const Replaced unset = Replace("${ONEUPTIME_TOKEN}");
  EXPECT_TRUE(unset.node.is_null());
  EXPECT_EQ(unset.problems,
            "warning f.yaml:1:4: the variable ONEUPTIME_TOKEN is not set; it counts as empty\n");
  for (const char* wrong :
       {"${file:/x}", "${http://x}", "${1A}", "${}", "${A", "${${A}}", "${A:-b}"}) {
    EXPECT_TRUE(Replace(std::string("'") + wrong + "'").problems.starts_with("error f.yaml:1:4: "))
        << wrong;
  }
}

TEST(ConfigSources, LaterOnesWinDeeply) {
  Node base = Parsed("a: {x: 1, y: [1, 2]}\nb: 1\n");
  Merge(base, Parsed("a: {y: [3], z: 4}\n"));
  EXPECT_EQ(base.Find("a")->Find("x")->text, "1");
  EXPECT_EQ(base.Find("a")->Find("y")->items.size(), 1u);
  EXPECT_EQ(base.Find("a")->Find("z")->text, "4");
  EXPECT_EQ(base.Find("b")->text, "1");
}

TEST(ConfigSources, SetsArePathsAndYaml) {
  Problems problems;
  const Node root = ReadSources(
      {.sets = {"exporters.otlphttp/traces.endpoint=http://h:1", "a.b={c: [1, 2]}", "x::y.z::w=1"}},
      FromEnvironment, problems);
  ASSERT_FALSE(problems.failed()) << problems.error().message();
  EXPECT_EQ(root.Find("exporters")->Find("otlphttp/traces")->Find("endpoint")->text, "http://h:1");
  EXPECT_EQ(root.Find("a")->Find("b")->Find("c")->items.size(), 2u);
  EXPECT_EQ(root.Find("x")->Find("y.z")->Find("w")->text, "1");
  Problems wrong;
  (void)ReadSources({.sets = {"nothing", "a..b=1", "a=[", "a=5"}}, FromEnvironment, wrong);
  ASSERT_EQ(wrong.list().size(), 3u);
  for (const Problem& p : wrong.list()) EXPECT_TRUE(p.Text().starts_with("--set ")) << p.Text();
}

TEST(ConfigSources, TellsPipelinesFromOptions) {
  EXPECT_TRUE(IsPipelineConfig("# x\nreceivers:\n  otlp:\n"));
  EXPECT_TRUE(IsPipelineConfig("profiling:\n  cpu: true\n"));
  EXPECT_TRUE(IsPipelineConfig("{\"service\": {}}"));
  EXPECT_TRUE(IsPipelineConfig("'service':\n"));
  EXPECT_FALSE(IsPipelineConfig("retention = 7d\nhttp-port: 4040\n"));
  EXPECT_FALSE(IsPipelineConfig(""));
}

struct Everything {
  std::int64_t duration = -1;
  std::int64_t bytes = -1;
  double share = -1;
  int whole = -1;
  std::vector<std::string> list;
  std::map<std::string, std::string> map;
};

std::string ReadEverything(const std::string& yaml, Everything& out) {
  static const Fields<Everything> kFields = {{"duration", Duration(&Everything::duration)},
                                             {"bytes", Bytes(&Everything::bytes)},
                                             {"share", Share(&Everything::share)},
                                             {"whole", Whole(&Everything::whole, 1, 10)},
                                             {"list", Texts(&Everything::list)},
                                             {"map", TextMap(&Everything::map)}};
  Problems problems;
  ReadMap(Parsed(yaml), kFields, out, problems);
  std::string text;
  for (const Problem& p : problems.list()) text += p.Text() + "\n";
  return text;
}

TEST(ConfigFields, Values) {
  const std::map<std::string, std::int64_t> durations = {
      {"200ms", 200'000'000}, {"1m30s", 90'000'000'000},      {"1.5h", 5'400'000'000'000}, {"0", 0},
      {"10us", 10'000},       {"1h0m0.5s", 3'600'500'000'000}};
  for (const auto& [text, ns] : durations) {
    Everything out;
    EXPECT_EQ(ReadEverything("duration: " + text, out), "");
    EXPECT_EQ(out.duration, ns) << text;
  }
  Everything out;
  EXPECT_EQ(
      ReadEverything("bytes: 512KB\nshare: 90%\nlist: [a, 5]\nmap: {k: 5, e: , x: ''}\n", out), "");
  EXPECT_EQ(out.bytes, 512'000);
  EXPECT_DOUBLE_EQ(out.share, 0.9);
  EXPECT_EQ(out.list, (std::vector<std::string>{"a", "5"}));
  EXPECT_EQ(out.map, (std::map<std::string, std::string>{{"k", "5"}}));
}

TEST(ConfigFields, MistakesNameKeyPlaceAndWhatIsExpected) {
  Everything out;
  EXPECT_EQ(ReadEverything("duration: 5", out),
            "f.yaml:1:11: `duration`: expected a duration with its unit, such as 5s or 200ms, not "
            "`5`\n");
  EXPECT_EQ(ReadEverything("durration: 5s", out),
            "f.yaml:1:1: unknown key `durration`; did you mean `duration`? there is: duration, "
            "bytes, share, whole, list, map\n");
  EXPECT_EQ(ReadEverything("whole: 11", out),
            "f.yaml:1:8: `whole`: expected a whole number from 1 to 10, not `11`\n");
  EXPECT_EQ(ReadEverything("list: {a: 1}", out),
            "f.yaml:1:7: `list`: expected a list, not a map\n");
  for (const char* wrong :
       {"duration: -5s", "duration: 5 s", "duration: s", "duration: 1d", "bytes: much",
        "share: 101%", "whole: '5'", "whole: 0x5", "map: [a]", "list: [[a]]", "duration: 1e300h"}) {
    EXPECT_TRUE(ReadEverything(wrong, out).starts_with("f.yaml:1:")) << wrong;
  }
}

}  // namespace
}  // namespace wherefore::gateway
