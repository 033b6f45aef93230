#include "query/diff.h"

#include <gtest/gtest.h>

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

TEST(Diff, FoldsWhatIsSmallOnBothSides) {
  const auto tree = [](std::int64_t gone, std::int64_t fresh) {
    profile::TreeBuilder b;
    const std::uint32_t main = b.Child(0, b.AddFunction({.name = "main"}));
    const auto add = [&](const std::string& name, std::int64_t value) {
      b.AddValue(b.Child(main, b.AddFunction({.name = name})), value, 1);
    };
    if (gone > 0) add("gone", gone);
    if (fresh > 0) add("fresh", fresh);
    for (int i = 0; i < 10; ++i) add("small" + std::to_string(i), 1);
    return b.Build();
  };
  const DiffTree whole = Diff(tree(50, 0), tree(0, 60));
  const DiffTree d = PruneDiff(whole, {.max_nodes = 4});
  ASSERT_EQ(d.tree.size(), 5u);  // root, main, fresh, gone, and other
  EXPECT_EQ(d.tree.Name(4), "other");
  EXPECT_EQ(d.tree.hidden_nodes[4], 10u);
  EXPECT_EQ(d.tree.self[4], 10);
  EXPECT_EQ(d.before_self[4], 10);
  EXPECT_EQ(d.before_count, (std::vector<std::int64_t>{0, 0, 0, 1, 10}));  // as it was sampled
  EXPECT_EQ(d.tree.total[0], whole.tree.total[0]);
  EXPECT_EQ(d.before[0], whole.before[0]);
  EXPECT_EQ(PruneDiff(whole, {}).tree.size(), whole.tree.size());
}

TEST(Diff, SidesOfDifferentScaleAreBroughtToOne) {
  profile::TreeBuilder file;
  file.AddValue(file.Child(0, file.AddFunction({.name = "keep"})), 1024, 1);
  const profile::FlameTree whole = file.Build();
  profile::TreeBuilder average;
  average.AddValue(average.Child(0, average.AddFunction({.name = "keep"})), 1'024'500, 1);
  profile::FlameTree thousandths = average.Build();
  thousandths.scale = 1000;
  for (const bool file_first : {true, false}) {
    const DiffTree diff = file_first ? Diff(whole, thousandths) : Diff(thousandths, whole);
    EXPECT_EQ(diff.tree.scale, 1000);
    EXPECT_EQ(diff.before[0], file_first ? 1'024'000 : 1'024'500);
    EXPECT_EQ(diff.tree.total[0], file_first ? 1'024'500 : 1'024'000);
  }
}

TEST(Diff, ChangesOfAnySizeAreRanked) {
  const auto side = [](std::int64_t a, std::int64_t b) {
    profile::TreeBuilder builder;
    builder.AddValue(builder.Child(0, builder.AddFunction({.name = "a"})), a, 1);
    builder.AddValue(builder.Child(0, builder.AddFunction({.name = "b"})), b, 1);
    return builder.Build();
  };
  const DiffTree diff = Diff(side(INT64_MIN, 5), side(INT64_MAX, 9));
  const auto rows = DiffTop(diff);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(diff.tree.functions[rows[0].function].name, "a");
}

}  // namespace
}  // namespace wherefore::query
