// Flame graphs and tables that are built only as far as they are shown, against the whole tree cut
// afterwards: equal to the unit.
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "query/context.h"
#include "query/flame.h"
#include "query/top.h"
#include "store/test_queries.h"

namespace wherefore::query {
namespace {

using profile::FlameTree;
using store::BatchBuilder;

class ShownFlameTest : public store::QueryTest {
 protected:
  void SetUp() override {
    QueryTest::SetUp();
    context_ = std::make_unique<QueryContext>(reader());
  }
  // Services whose call trees partly agree; two days, so two dictionaries a service; functions of
  // one name in several modules; recursion; many equal values.
  void PutRandomServices(int services, int stacks) {
    for (int s = 0; s < services; ++s) {
      BatchBuilder batch;
      for (int day = 0; day < 2; ++day) {
        std::vector<BatchBuilder::Sample> samples;
        for (int i = 0; i < stacks; ++i) samples.push_back({RandomStack(s), Below(4) + 1});
        batch.Add({.service = fmt::format("s{}", s), .time_ns = now_ - day * 86'400 * kNsPerSecond},
                  samples);
      }
      Write(batch.Request(fmt::format("service {}", s)));
    }
    Flush();
  }
  std::vector<std::string> RandomStack(int service) {
    std::vector<std::string> stack;
    for (int depth = static_cast<int>(Below(12)); depth >= 0; --depth) {
      const bool own = Below(3) == 0;
      stack.push_back(
          own ? fmt::format("s{}`f{}", service, Below(6))
              : fmt::format("lib{}`{}f{}", Below(2), Below(3) == 0 ? "std::" : "", Below(6)));
    }
    return stack;
  }
  // One to three steps that go by functions.
  Lens RandomLens() {
    static constexpr std::array kSteps = {
        "focus:f1",   "hide:f2",        "merge:^lib0",  "collapse:f3", "drop:f4$",
        "hide:lib1`", "recursion:.",    "merge:f[0-3]", "focus:lib1",  "my-code",
        "own:-lib.`", "own:-lib1` -f2", "own"};
    std::string text = kSteps[static_cast<std::size_t>(Below(kSteps.size()))];
    for (std::int64_t more = Below(3); more > 0; --more)
      text += std::string(" > ") + kSteps[static_cast<std::size_t>(Below(kSteps.size()))];
    auto lens = Lens::Parse(text);
    EXPECT_TRUE(lens && lens->IsByFunction()) << text;
    return *std::move(lens);
  }
  std::int64_t Below(int n) { return std::uniform_int_distribution<>(0, n - 1)(random_); }
  [[nodiscard]] Selection Of(const std::string& query = "") const {
    Selection selection{.type = "samples",
                        .range = {now_ - 2 * 86'400 * kNsPerSecond, now_ + kNsPerSecond}};
    if (!query.empty()) selection.selector = *Selector::Parse(query);
    return selection;
  }
  FlameTree Whole(const Selection& selection) {
    auto answer = Flame(*context_, selection, {});
    EXPECT_TRUE(answer) << answer.error().message();
    return answer ? std::move(answer->tree) : FlameTree{};
  }

  std::mt19937 random_{20'261'118};
  std::unique_ptr<QueryContext> context_;
};

WHEREFORE_ASK_WHEREVER_IT_CAN(ShownFlameTest);

void ExpectSame(const FlameTree& shown, const FlameTree& cut) {
  ASSERT_EQ(shown.size(), cut.size());
  for (std::size_t i = 0; i < cut.size(); ++i) {
    const auto& a = shown.functions[shown.function[i]];
    const auto& b = cut.functions[cut.function[i]];
    ASSERT_EQ(std::tie(a.name, a.module), std::tie(b.name, b.module)) << "node " << i;
  }
  EXPECT_EQ(shown.depth, cut.depth);
  EXPECT_EQ(shown.self, cut.self);
  EXPECT_EQ(shown.total, cut.total);
  EXPECT_EQ(shown.self_count, cut.self_count);
  EXPECT_EQ(shown.total_count, cut.total_count);
  EXPECT_EQ(shown.hidden_nodes, cut.hidden_nodes);
  EXPECT_EQ(shown.functions.size(), cut.functions.size());
}

TEST_P(ShownFlameTest, TwoHundredRandomQuestionsEqualTheWholeTreeCut) {
  PutRandomServices(5, 400);
  for (int round = 0; round < 200; ++round) {
    const Selection selection = Of(Below(3) == 0 ? fmt::format("s{}", Below(5)) : "");
    const FlameTree whole = Whole(selection);
    ViewOptions options;
    options.prune.max_nodes = static_cast<std::size_t>(Below(4) == 0 ? 0 : Below(3000) + 1);
    options.prune.min_share = Below(3) == 0 ? static_cast<double>(Below(50)) / 1000 : 0;
    const auto shown = ShowFlame(*context_, selection, options, {});
    ASSERT_TRUE(shown) << shown.error().message();
    SCOPED_TRACE(fmt::format("round {}: {} nodes at most, {} at least, of {}", round,
                             options.prune.max_nodes, options.prune.min_share, whole.size()));
    EXPECT_EQ(shown->view.full_nodes, whole.size());
    ExpectSame(shown->view.tree, profile::Prune(whole, options.prune));
    if (HasFailure()) break;
  }
}

TEST_P(ShownFlameTest, WithALensItEqualsTheWholeTreeThroughTheLens) {
  PutRandomServices(5, 300);
  for (int round = 0; round < 150; ++round) {
    const Selection selection = Of(Below(3) == 0 ? fmt::format("s{}", Below(5)) : "");
    ViewOptions options{.lens = RandomLens()};
    options.prune.max_nodes = static_cast<std::size_t>(Below(2000) + 1);
    SCOPED_TRACE(fmt::format("round {}: {}, {} nodes at most", round, options.lens.Text(),
                             options.prune.max_nodes));
    const auto shown = ShowFlame(*context_, selection, options, {});
    ASSERT_TRUE(shown) << shown.error().message();
    const auto wanted = ShowTree(Whole(selection), options, {});
    ASSERT_TRUE(wanted);
    EXPECT_EQ(shown->view.full_nodes, wanted->full_nodes);
    ExpectSame(shown->view.tree, wanted->tree);
    const auto through = options.lens.Apply(Whole(selection), {});
    ASSERT_TRUE(through);
    const auto top = Top(*context_, selection, options.lens, {}, {});
    ASSERT_TRUE(top);
    EXPECT_EQ(top->total, through->total[0]);
    const auto rows = profile::Top(*through);
    ASSERT_EQ(top->rows.size(), rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(top->functions[top->rows[i].function].name,
                through->functions[rows[i].function].name);
      EXPECT_EQ(top->rows[i].self, rows[i].self);
      EXPECT_EQ(top->rows[i].total, rows[i].total);
    }
    if (HasFailure()) break;
  }
}

TEST_P(ShownFlameTest, ByNameEqualsTheTreeMergedByName) {
  PutRandomServices(4, 300);
  for (int round = 0; round < 100; ++round) {
    const Selection selection = Of(Below(2) == 0 ? fmt::format("s{}", Below(4)) : "");
    const auto whole = FlameByName(*context_, selection, {}, {});
    ASSERT_TRUE(whole);
    const FlameTree by_module = Whole(selection);
    EXPECT_EQ(whole->total[0], by_module.total[0]);
    EXPECT_LT(whole->size(), by_module.size());
    const auto max_nodes = static_cast<std::size_t>(Below(2000) + 1);
    const auto shown = FlameByName(*context_, selection, {.max_nodes = max_nodes}, {});
    ASSERT_TRUE(shown);
    FlameTree cut = profile::Prune(*whole, {.max_nodes = max_nodes});
    ASSERT_EQ(shown->size(), cut.size());
    for (std::size_t i = 0; i < cut.size(); ++i) ASSERT_EQ(shown->Name(i), cut.Name(i));
    EXPECT_EQ(shown->depth, cut.depth);
    EXPECT_EQ(shown->self, cut.self);
    EXPECT_EQ(shown->total, cut.total);
  }
}

TEST_P(ShownFlameTest, TheTableWithoutATreeEqualsTheTreesTable) {
  PutRandomServices(4, 300);
  for (const char* query : {"", "s0", "s3"}) {
    const FlameTree whole = Whole(Of(query));
    const auto top = Top(*context_, Of(query), {}, {}, {});
    ASSERT_TRUE(top) << top.error().message();
    const auto rows = profile::Top(whole);
    EXPECT_EQ(top->total, whole.total[0]);
    EXPECT_EQ(top->count, whole.total_count[0]);
    ASSERT_EQ(top->rows.size(), rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto& a = top->functions[top->rows[i].function];
      const auto& b = whole.functions[rows[i].function];
      EXPECT_EQ(std::tie(a.name, a.module), std::tie(b.name, b.module));
      EXPECT_EQ(top->rows[i].self, rows[i].self);
      EXPECT_EQ(top->rows[i].total, rows[i].total);
      EXPECT_EQ(top->rows[i].self_count, rows[i].self_count);
      EXPECT_EQ(top->rows[i].total_count, rows[i].total_count);
    }
  }
}

TEST_P(ShownFlameTest, DifferencesEqualThoseOfTheWholeTrees) {
  PutRandomServices(4, 300);
  for (int round = 0; round < 60; ++round) {
    const Selection before = Of(Below(2) == 0 ? fmt::format("s{}", Below(4)) : "");
    const Selection after = Of(Below(2) == 0 ? fmt::format("s{}", Below(4)) : "");
    ViewOptions options;
    if (Below(2) == 0) options.lens = RandomLens();
    options.prune.max_nodes = static_cast<std::size_t>(Below(2000) + 1);
    options.prune.min_share = Below(3) == 0 ? static_cast<double>(Below(50)) / 1000 : 0;
    SCOPED_TRACE(fmt::format("round {}: {}", round, options.lens.Text()));
    const auto shown = ShowDifference(*context_, before, after, options, false, {});
    ASSERT_TRUE(shown) << shown.error().message();
    const auto whole = ShowDifference(*context_, before, after, options, true, {});
    ASSERT_TRUE(whole);
    ASSERT_EQ(shown->view.whole.tree.size(), 0u);
    ExpectSame(shown->view.shown.tree, whole->view.shown.tree);
    EXPECT_EQ(shown->view.shown.before, whole->view.shown.before);
    EXPECT_EQ(shown->view.shown.before_self, whole->view.shown.before_self);
    EXPECT_EQ(shown->view.shown.before_count, whole->view.shown.before_count);
    EXPECT_EQ(shown->view.full_nodes, whole->view.full_nodes);
    const auto& a = shown->view.changes;
    const auto& b = whole->view.changes;
    ASSERT_EQ(a.rows.size(), b.rows.size());
    for (std::size_t i = 0; i < a.rows.size(); ++i) {
      EXPECT_EQ(a.functions[a.rows[i].function].name, b.functions[b.rows[i].function].name);
      EXPECT_EQ(a.rows[i].self_before, b.rows[i].self_before);
      EXPECT_EQ(a.rows[i].self_after, b.rows[i].self_after);
      EXPECT_EQ(a.rows[i].total_before, b.rows[i].total_before);
      EXPECT_EQ(a.rows[i].total_after, b.rows[i].total_after);
    }
    if (HasFailure()) break;
  }
}

TEST_P(ShownFlameTest, NothingAtAllIsARoot) {
  ViewOptions options;
  options.prune.max_nodes = 100;
  const auto shown = ShowFlame(*context_, Of("nobody"), options, {});
  ASSERT_TRUE(shown) << shown.error().message();
  EXPECT_EQ(shown->view.full_nodes, 1u);
  ExpectSame(shown->view.tree, Whole(Of("nobody")));
  EXPECT_FALSE(shown->hint.empty());
  const auto difference = ShowDifference(*context_, Of("nobody"), Of("nobody"), options, false, {});
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->view.shown.tree.size(), 1u);
  EXPECT_EQ(difference->view.shown.before, std::vector<std::int64_t>{0});
  const auto by_name = FlameByName(*context_, Of("nobody"), {.max_nodes = 100}, {});
  ASSERT_TRUE(by_name);
  EXPECT_EQ(by_name->size(), 1u);
  const auto top = Top(*context_, Of("nobody"), {}, {}, {});
  ASSERT_TRUE(top);
  EXPECT_TRUE(top->rows.empty());
}

TEST_P(ShownFlameTest, NegativeAndHugeValuesGoTheWholeWay) {
  BatchBuilder batch;
  batch.Add({.time_ns = now_}, {{{"a", "main"}, -5}, {{"b", "main"}, 7}, {{"c"}, INT64_MAX}});
  Write(batch.Request("odd"));
  Flush();
  const FlameTree whole = Whole(Of());
  ViewOptions options;
  options.prune.max_nodes = 3;
  const auto shown = ShowFlame(*context_, Of(), options, {});
  ASSERT_TRUE(shown);
  ExpectSame(shown->view.tree, profile::Prune(whole, options.prune));
}

}  // namespace
}  // namespace wherefore::query
