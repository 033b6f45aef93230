#include "cli/replay.h"

#include <gtest/gtest.h>

namespace wherefore::cli {
namespace {

TEST(Replay, MovesEverythingByOneOffsetAndKeepsLinks) {
  profile::Batch batch;
  batch.profiles.push_back({.time_ns = 1000, .duration_ns = 100, .id = {1}});
  batch.profiles.push_back({.time_ns = 500, .duration_ns = 100, .id = {2}});
  batch.profiles.push_back({});  // without a time: it stays without one
  batch.links.push_back({.trace = {7}, .span = {9}});
  batch.times = {1050};
  profile::SpanBatch spans;
  spans.spans.push_back({.trace = {7}, .id = {9}, .parent = {}, .start_ns = 900, .end_ns = 1200});

  Replay replay;
  replay.Include(batch);
  replay.Include(spans);
  replay.Move(batch, 5200);
  replay.Move(spans, 5200);

  EXPECT_EQ(spans.spans[0].end_ns, 5200U);
  EXPECT_EQ(spans.spans[0].start_ns, 4900U);
  EXPECT_EQ(batch.profiles[0].time_ns, 5000U);
  EXPECT_EQ(batch.profiles[1].time_ns, 4500U);
  EXPECT_EQ(batch.profiles[2].time_ns, 0U);
  EXPECT_EQ(batch.times[0], 5050U);
  // New ids, the same on both sides; no parent stays no parent, and the null link stays null.
  EXPECT_NE(spans.spans[0].trace, profile::TraceId{7});
  EXPECT_EQ(batch.links[1].trace, spans.spans[0].trace);
  EXPECT_EQ(batch.links[1].span, spans.spans[0].id);
  EXPECT_EQ(spans.spans[0].parent, profile::SpanId{});
  EXPECT_EQ(batch.links[0].trace, profile::TraceId{});
  EXPECT_NE(batch.profiles[0].id, batch.profiles[1].id);
}

TEST(Replay, TwoReplaysHaveDifferentIds) {
  profile::SpanBatch first;
  first.spans.push_back({.trace = {7}, .id = {9}, .start_ns = 1, .end_ns = 2});
  profile::SpanBatch second;
  second.spans = first.spans;
  Replay one;
  one.Include(first);
  one.Move(first, 10);
  Replay two;
  two.Include(second);
  two.Move(second, 10);
  EXPECT_NE(first.spans[0].trace, second.spans[0].trace);
}

}  // namespace
}  // namespace wherefore::cli
