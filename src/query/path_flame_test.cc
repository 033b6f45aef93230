// Critical paths as flame graphs, over traces as they should not be.
#include "query/path_flame.h"

#include <cstring>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "profile/span_batch.h"
#include "query/critical_path.h"
#include "query/trace_accounting.h"
#include "query/traces.h"
#include "store/test_queries.h"

namespace wherefore::query {
namespace {

class PathFlameTest : public store::QueryTest {
 protected:
  // Spans with clocks that differ, parents that are missing or go in a circle, and children that
  // outlive their parents.
  void Put(std::uint8_t number, std::mt19937& random) {
    profile::SpanBatch batch;
    const char* const services[] = {"shop", "db", "web"};
    for (const char* service : services) {
      batch.own_attributes.push_back({batch.AddText("service.name"),
                                      0,
                                      {profile::Value::Kind::kString, batch.AddText(service), 0}});
      batch.resources.push_back(
          {{static_cast<std::uint32_t>(batch.own_attributes.size() - 1), 1}, 0, 0, 0});
    }
    const auto spans = static_cast<std::uint32_t>(1 + random() % 30);
    for (std::uint32_t i = 0; i < spans; ++i) {
      profile::Span span;
      span.resource = static_cast<std::uint32_t>(1 + random() % 3);
      span.trace = {7, number};
      span.id = {1, static_cast<std::uint8_t>(i + 1)};
      if (i > 0 || random() % 5 == 0)
        span.parent = {1, static_cast<std::uint8_t>(1 + random() % (spans + 1))};
      span.name = batch.AddText(fmt::format("op{}", random() % 4));
      span.kind = static_cast<std::uint8_t>(random() % 6);
      span.start_ns = static_cast<std::uint64_t>(now_ - kNsPerSecond) + random() % 50'000'000;
      span.end_ns = span.start_ns + random() % 100'000'000;
      batch.spans.push_back(span);
    }
    ASSERT_TRUE(batch.Validate());
    profile::WriteRequest request;
    request.data = std::move(batch);
    request.identity = HashString(fmt::format("{}", number));
    Write(std::move(request));
  }
};

TEST_P(PathFlameTest, PathsAndPartsAreTheDurationsExactly) {
  std::mt19937 random(3);
  std::vector<profile::TraceId> traces;
  for (std::uint8_t i = 0; i < 100; ++i) {
    Put(i, random);
    traces.push_back({7, i});
  }
  Flush();
  QueryContext context(reader());
  std::int64_t all = 0;
  for (const profile::TraceId& trace : traces) {
    const auto spans = Trace(context, 0, trace, {});
    ASSERT_TRUE(spans);
    const std::int64_t duration = FindCriticalPath(*spans).duration_ns;
    const auto flame = CriticalPathFlame(context, 0, {trace}, "", "", {});
    ASSERT_TRUE(flame) << flame.error().message();
    EXPECT_EQ(flame->tree.total[0], duration) << ToHex(trace);
    EXPECT_EQ(flame->traces, 1u);
    all += duration;
    const auto accounts = AccountTrace(context, 0, trace, {});
    ASSERT_TRUE(accounts);
    ASSERT_EQ(accounts->accounts.size(), spans->size());
    for (std::size_t i = 0; i < spans->size(); ++i) {
      std::int64_t sum = 0;
      for (const AccountPart& part : accounts->accounts[i].parts) sum += part.value;
      EXPECT_EQ(sum, (*spans)[i].duration_ns) << ToHex(trace) << " " << i;
    }
  }
  const auto together = CriticalPathFlame(context, 0, traces, "", "", {});
  ASSERT_TRUE(together);
  EXPECT_EQ(together->tree.total[0], all);
  EXPECT_EQ(together->traces, traces.size());
}

WHEREFORE_ASK_WHEREVER_IT_CAN(PathFlameTest);

}  // namespace
}  // namespace wherefore::query
