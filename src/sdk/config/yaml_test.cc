#include "sdk/config/yaml.h"

#include <gtest/gtest.h>

namespace wherefore::sdk {
namespace {

std::string Flat(const YamlDocument& document) {
  std::string out;
  for (const YamlScalar& s : document.scalars) {
    for (std::size_t i = 0; i < s.path.size(); ++i) out += (i == 0 ? "" : "/") + s.path[i];
    out += fmt::format("={}@{}\n", s.value, s.line);
  }
  return out;
}

TEST(Yaml, FollowsIndentation) {
  EXPECT_EQ(Flat(ReadYaml("a:\n  b: 1\n  c:\n      d: x y\n  e: 2\nf: 3\n")),
            "a/b=1@2\na/c/d=x y@4\na/e=2@5\nf=3@6\n");
}

TEST(Yaml, CutsCommentsButNotHashesInsideWordsAndQuotes) {
  EXPECT_EQ(Flat(ReadYaml("# top\na: 1 # one\nb: x#y\nc: \"# no\"  # yes\nd: 'it''s # so'\n")),
            "a=1@2\nb=x#y@3\nc=# no@4\nd=it's # so@5\n");
}

TEST(Yaml, ReadsListsInEveryForm) {
  EXPECT_EQ(Flat(ReadYaml("a: [x, 'y, z', 3]\nb:\n- p\n- q\nc:\n  - r\nd: 1\n")),
            "a=x@1\na=y, z@1\na=3@1\nb=p@3\nb=q@4\nc=r@6\nd=1@7\n");
}

TEST(Yaml, ReadsMappingsOnOneLine) {
  EXPECT_EQ(Flat(ReadYaml("cpu: {enabled: true, more: {rate: 99}, list: [a, b]}\nx: 1\n")),
            "cpu/enabled=true@1\ncpu/more/rate=99@1\ncpu/list=a@1\ncpu/list=b@1\nx=1@2\n");
}

TEST(Yaml, KeepsColonsInsideValuesAndQuotedKeys) {
  EXPECT_EQ(Flat(ReadYaml("u: http://[::1]:4318/x\n\"a: b\": 2\r\ne: \"tab\\tquote\\\"\"\n")),
            "u=http://[::1]:4318/x@1\na: b=2@2\ne=tab\tquote\"@3\n");
}

TEST(Yaml, NamesTheLineOfWhatItCannotRead) {
  const YamlDocument document =
      ReadYaml("a: |\n  text\n\tb: 1\nc: &x 1\nd: [1\ne: \"open\nf: 1\n- k: v\n");
  std::vector<int> lines;
  for (const YamlNote& note : document.notes) lines.push_back(note.line);
  EXPECT_EQ(lines, (std::vector<int>{1, 2, 3, 4, 5, 6, 8}));
  EXPECT_EQ(Flat(document), "f=1@7\n");
}

TEST(Yaml, SurvivesBracketsWithoutEnd) {
  EXPECT_FALSE(ReadYaml("a: " + std::string(100'000, '[')).notes.empty());
  EXPECT_FALSE(ReadYaml("a: " + std::string(1'000, '[') + std::string(1'000, ']')).notes.empty());
}

}  // namespace
}  // namespace wherefore::sdk
