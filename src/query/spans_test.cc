// Samples that a profiler files under the root of a request, wherever it is kept.
#include <gtest/gtest.h>

#include "base/text.h"
#include "query/context.h"
#include "query/span_profile.h"
#include "store/test_queries.h"
#include "store/test_spans.h"

namespace wherefore::query {
namespace {

// Two spans of one trace (store::SpanRequest): the root, and a child from 2 to 2002 ns.
constexpr const char* kRoot = "0100000000000000";
constexpr const char* kChild = "0200000000000000";

class SpansTest : public store::QueryTest {
 protected:
  // One sample of the root, seen at these moments.
  void Put(std::int64_t value, const std::vector<std::int64_t>& times) {
    store::BatchBuilder batch;
    std::vector<std::uint64_t> at;
    for (const std::int64_t t : times) at.push_back(static_cast<std::uint64_t>(now_ + t));
    batch.Add({.time_ns = now_ - kNsPerSecond}, {{{"main"}, value, store::kTrace, kRoot, at}});
    Write(batch.Request("profile"));
    Write(store::SpanRequest(now_));
    Flush();
  }
  SpanProfileAnswer Ask(const std::vector<const char*>& spans) {
    profile::TraceId trace{};
    FromHex(store::kTrace)->copy(reinterpret_cast<char*>(trace.data()), trace.size());
    std::vector<profile::SpanId> ids(spans.size());
    for (std::size_t i = 0; i < spans.size(); ++i)
      FromHex(spans[i])->copy(reinterpret_cast<char*>(ids[i].data()), ids[i].size());
    QueryContext context(reader());
    auto answer = SpanProfile(context, 0, trace, ids, "samples", {});
    EXPECT_TRUE(answer) << answer.error().message();
    return answer ? *std::move(answer) : SpanProfileAnswer{};
  }
};

TEST_P(SpansTest, OneValueForSeveralTimesIsSharedOutWithoutLoss) {
  Put(10, {100, 200, 300});
  const auto child = Ask({kChild});
  EXPECT_EQ(child.tree.total[0], 10) << "all of them were taken while it ran";
  EXPECT_EQ(child.filed_under, kRoot);
}

TEST_P(SpansTest, WhatWasTakenOutsideASpanIsNotItsOwn) {
  Put(1000, {1, 200, 5000});
  EXPECT_EQ(Ask({kChild}).tree.total[0], 333);
  EXPECT_EQ(Ask({kRoot}).tree.total[0], 1000);
  EXPECT_EQ(Ask({kRoot, kChild}).tree.total[0], 1000) << "the root has them already";
}

WHEREFORE_ASK_WHEREVER_IT_CAN(SpansTest);

}  // namespace
}  // namespace wherefore::query
