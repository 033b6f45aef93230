#include <gtest/gtest.h>

#include "query/engine.h"

namespace wherefore::query {
namespace {

TEST(Diff, LaysBothTreesOverEachOther) {
  const auto tree = [](std::initializer_list<std::pair<const char*, int>> leaves) {
    profile::TreeBuilder b;
    const std::uint32_t main = b.Child(0, b.AddFunction({.name = "main"}));
    for (const auto& [name, value] : leaves)
      b.AddValue(b.Child(main, b.AddFunction({.name = name})), value, 1);
    return b.Build();
  };
  const DiffTree d = Diff(tree({{"a", 10}, {"gone", 5}}), tree({{"a", 12}, {"fresh", 7}}));
  ASSERT_EQ(d.tree.size(), 5u);
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> by_name;
  for (std::size_t i = 0; i < d.tree.size(); ++i)
    by_name[std::string(d.tree.Name(i))] = {d.before[i], d.tree.total[i]};
  EXPECT_EQ(by_name["main"], std::make_pair(std::int64_t{15}, std::int64_t{19}));
  EXPECT_EQ(by_name["a"], std::make_pair(std::int64_t{10}, std::int64_t{12}));
  EXPECT_EQ(by_name["gone"], std::make_pair(std::int64_t{5}, std::int64_t{0}));
  EXPECT_EQ(by_name["fresh"], std::make_pair(std::int64_t{0}, std::int64_t{7}));
  const auto rows = DiffTop(d);
  EXPECT_EQ(d.tree.functions[rows[0].function].name, "fresh");
  EXPECT_EQ(d.tree.functions[rows[1].function].name, "gone");
}

}  // namespace
}  // namespace wherefore::query
