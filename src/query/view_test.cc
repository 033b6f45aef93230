#include "query/view.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "profile/tree_path.h"

namespace wherefore::query {
namespace {

using profile::FlameTree;

// main calls a (10) and b (1); a calls leaf (90).
FlameTree Tree(std::int64_t leaf = 90) {
  profile::TreeBuilder builder;
  const auto main = builder.Child(0, builder.AddFunction({.name = "main"}));
  const auto a = builder.Child(main, builder.AddFunction({.name = "a"}));
  builder.AddValue(a, 10, 1);
  builder.AddValue(builder.Child(main, builder.AddFunction({.name = "b"})), 1, 1);
  builder.AddValue(builder.Child(a, builder.AddFunction({.name = "leaf"})), leaf, 9);
  return builder.Build();
}

View Show(const ViewOptions& options) {
  auto view = ShowTree(Tree(), options, {});
  EXPECT_TRUE(view) << view.error().message();
  return view ? *std::move(view) : View{};
}

TEST(View, WithoutOptionsIsTheTreeItself) {
  const View view = Show({});
  EXPECT_EQ(view.tree.size(), 5u);
  EXPECT_EQ(view.full_nodes, 5u);
  EXPECT_EQ(view.tree.total[0], 101);
  EXPECT_FALSE(view.found);
  EXPECT_EQ(view.hint, "");
}

TEST(View, TheLensComesBeforeTheSearch) {
  const ViewOptions options{.lens = *Lens::Parse("hide:^leaf$"), .search = *Search::Parse("leaf")};
  const View view = Show(options);
  ASSERT_TRUE(view.found);
  EXPECT_EQ(view.found->nodes, 0u) << "what the lens hid is not found";
  EXPECT_EQ(view.tree.total[0], 101) << "its value went to its caller";
}

TEST(View, PruningKeepsWhatTheSearchFound) {
  const profile::PruneOptions small{.min_share = 0.05};
  const auto names = [](const View& view) {
    std::set<std::string> out;
    for (const profile::FlameFunction& f : view.tree.functions) out.insert(f.name);
    return out;
  };
  EXPECT_FALSE(names(Show({.prune = small})).contains("b"));
  const View searched = Show({.search = *Search::Parse("^b$"), .prune = small});
  EXPECT_TRUE(names(searched).contains("b"));
  ASSERT_TRUE(searched.found);
  EXPECT_EQ(searched.found->value, 1);
  EXPECT_EQ(searched.full_nodes, 5u);
}

TEST(View, OneSideOfAFunctionAndWhatIsBelowARoot) {
  const View callers = Show({.side = FunctionSide{{.name = "leaf"}, true}});
  ASSERT_EQ(callers.tree.size(), 4u) << "root, leaf, a, main";
  EXPECT_EQ(callers.tree.total[0], 90);
  const View nobody = Show({.side = FunctionSide{{.name = "nobody"}, false}});
  EXPECT_EQ(nobody.hint, "no function is called 'nobody' in this selection");
  const View in_module = Show({.side = FunctionSide{{.name = "leaf", .module = "x.so"}, false}});
  EXPECT_EQ(in_module.hint, "no function is called 'leaf' in x.so");

  const FlameTree whole = Tree();
  const auto hashes = profile::PathHashes(whole);
  const View below = Show({.root = hashes[2]});  // main, a: the largest child first
  EXPECT_EQ(below.tree.total[0], 100);
  const auto missing = ShowTree(Tree(), {.root = 1}, {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), Code::kNotFound);
}

TEST(View, ADifferenceIsSearchedOnBothSides) {
  const auto view = ShowDiff(Tree(50), Tree(90), {.search = *Search::Parse("leaf")}, {});
  ASSERT_TRUE(view);
  ASSERT_TRUE(view->found);
  EXPECT_EQ(view->found->value, 90);
  EXPECT_EQ(view->found->before, 50);
  EXPECT_EQ(view->shown.tree.total[0], 101);
  EXPECT_EQ(view->shown.before[0], 61);
}

TEST(View, StopsWhenItsQuestionIsCancelled) {
  const CancelToken cancel;
  cancel.Cancel();
  EXPECT_FALSE(ShowTree(Tree(), {}, cancel));
  EXPECT_FALSE(ShowDiff(Tree(), Tree(), {}, cancel));
}

}  // namespace
}  // namespace wherefore::query
