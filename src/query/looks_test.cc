#include "query/looks.h"

#include <gtest/gtest.h>

namespace wherefore::query {
namespace {

profile::SpanId Id(std::uint8_t n) {
  return {n, n, n, n, n, n, n, n};
}
store::SpanTime Span(std::uint8_t id, std::uint8_t parent, std::int64_t from, std::int64_t to) {
  return {.id = Id(id),
          .parent = parent == 0 ? profile::SpanId{} : Id(parent),
          .start_ns = from,
          .duration_ns = to - from};
}
std::int64_t Own(const std::vector<store::SpanTime>& spans, std::uint8_t id) {
  return OwnTimes(spans).at({{}, Id(id)});
}

TEST(Looks, WhatIsShownIsAtMostOwnTimeAndSoIsItsError) {
  const Looks few = ShowLooks(296, 4, 55);
  EXPECT_EQ(few.value, 55);
  EXPECT_EQ(few.looks, 4);
  EXPECT_EQ(few.error_ns, 55);
  const Looks fits = ShowLooks(100'000, 100, 1'000'000);
  EXPECT_EQ(fits.value, 100'000);
  EXPECT_NEAR(static_cast<double>(fits.error_ns), 21'616,
              5);  // 1000 x (1.92 + 1.96 x sqrt(100.96))
  EXPECT_EQ(ShowLooks(50, 1, std::nullopt).value, 50) << "of a span that is not stored";
  EXPECT_EQ(ShowLooks(50, 0, 10).value, 10) << "value without a whole look";
}

TEST(Looks, OwnTimeIsWithoutThatOfDirectChildren) {
  // Two that overlap, one that reaches beyond, one below a child.
  const std::vector<store::SpanTime> spans = {Span(1, 0, 0, 100), Span(2, 1, 10, 30),
                                              Span(3, 1, 20, 40), Span(4, 1, 90, 150),
                                              Span(5, 2, 10, 15)};
  EXPECT_EQ(Own(spans, 1), 60);
  EXPECT_EQ(Own(spans, 2), 15);
  EXPECT_EQ(Own(spans, 4), 60);
}

TEST(Looks, OneThatItsChildrenCoverAndALocalRootHaveAllOfTheirTime) {
  EXPECT_EQ(Own({Span(1, 0, 0, 1000), Span(2, 1, 1, 1000)}, 1), 1000);
  EXPECT_EQ(Own({Span(1, 0, 0, 1000), Span(2, 1, 20, 1000)}, 1), 20);
  store::SpanTime root = Span(1, 0, 0, 1000);
  root.names_holder = true;
  EXPECT_EQ(Own({root, Span(2, 1, 100, 900)}, 1), 1000);
}

TEST(Looks, PartsAreInProportionAndTogetherExactlyWhatIsShown) {
  InProportion share(10, 30);
  std::int64_t sum = 0;
  for (const std::int64_t part : {7, 7, 7, 9}) sum += share.Next(part);
  EXPECT_EQ(sum, 10);
  InProportion whole(INT64_MAX, INT64_MAX);
  EXPECT_EQ(whole.Next(INT64_MAX - 1), INT64_MAX - 1) << "no overflow on the way";
}

}  // namespace
}  // namespace wherefore::query
