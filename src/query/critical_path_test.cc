#include "query/critical_path.h"

#include <chrono>
#include <map>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace wherefore::query {
namespace {

constexpr std::int64_t kMs = 1'000'000;
enum Kind : std::uint8_t { kInternal = 1, kServer = 2, kClient = 3 };

profile::SpanId IdOf(std::uint64_t number) {
  profile::SpanId id{};
  for (std::size_t i = 0; i < id.size(); ++i) id[i] = static_cast<std::uint8_t>(number >> (8 * i));
  return id;
}

class Trace {
 public:
  // Times in milliseconds; `parent`: the name of another one, "" for none.
  Trace& Add(const std::string& name, double from, double to, const std::string& parent = "r",
             std::uint8_t kind = kInternal, const std::string& service = "a") {
    store::SpanRow span;
    span.id = IdOf(rows_.size() + 1);
    span.name = name;
    span.kind = kind;
    span.service_name = service;
    span.start_ns = static_cast<std::int64_t>(from * kMs);
    span.duration_ns = static_cast<std::int64_t>(to * kMs) - span.start_ns;
    ids_[name] = span.id;
    if (!parent.empty()) span.parent = ids_.contains(parent) ? ids_[parent] : IdOf(999'999);
    rows_.push_back(span);
    return *this;
  }
  // Milliseconds on the path by name.
  [[nodiscard]] std::map<std::string, double> Path() const {
    std::map<std::string, double> sums;
    const CriticalPath path = FindCriticalPath(rows_);
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < path.segments.size(); ++i) {
      const PathSegment& s = path.segments[i];
      if (i > 0) {
        EXPECT_EQ(s.start_ns, path.segments[i - 1].end_ns) << "gapless";
      }
      sums[s.span == kNoSpan ? "?" : rows_[s.span].name] +=
          static_cast<double>(s.end_ns - s.start_ns) / kMs;
      sum += s.end_ns - s.start_ns;
    }
    EXPECT_EQ(sum, path.duration_ns);
    return sums;
  }
  std::vector<store::SpanRow>& rows() { return rows_; }

 private:
  std::vector<store::SpanRow> rows_;
  std::map<std::string, profile::SpanId> ids_;
};

using Sums = std::map<std::string, double>;

Trace Root() {
  return std::move(Trace().Add("r", 0, 100, ""));
}

TEST(CriticalPath, OneAfterTheOther) {
  EXPECT_EQ(Root().Add("x", 10, 40).Add("y", 40, 90).Path(),
            (Sums{{"r", 20}, {"x", 30}, {"y", 50}}));
}
TEST(CriticalPath, OfTwoAtOnceTheLonger) {
  EXPECT_EQ(Root().Add("x", 10, 60).Add("y", 10, 90).Path(), (Sums{{"r", 20}, {"y", 80}}));
}
TEST(CriticalPath, WhatStillRanWhenTheNextBeganWasNotWaitedFor) {
  EXPECT_EQ(Root().Add("x", 20, 80).Add("y", 50, 100).Path(), (Sums{{"r", 50}, {"y", 50}}));
}
TEST(CriticalPath, WhatOutlivesItsParentWasNotWaitedFor) {
  EXPECT_EQ(Root().Add("x", 10, 300).Add("y", 20, 60).Path(), (Sums{{"r", 60}, {"y", 40}}));
}
TEST(CriticalPath, ClientAndServer) {
  EXPECT_EQ(Root().Add("c", 10, 90, "r", kClient).Add("s", 20, 85, "c", kServer, "b").Path(),
            (Sums{{"r", 20}, {"c", 15}, {"s", 65}}));
}
TEST(CriticalPath, AnotherClockIsCorrected) {
  Trace trace = Root();
  trace.Add("c", 10, 90, "r", kClient).Add("s", 520, 585, "c", kServer, "b");
  trace.Add("t", 530, 580, "s", kInternal, "b");
  EXPECT_EQ(trace.Path(), (Sums{{"r", 20}, {"c", 15}, {"s", 15}, {"t", 50}}));
  const CriticalPath path = FindCriticalPath(trace.rows());
  EXPECT_EQ(path.moved_ns[2], -502.5 * kMs);
  EXPECT_EQ(path.moved_ns[3], path.moved_ns[2]);
  EXPECT_EQ(path.moved_ns[1], 0);
}
TEST(CriticalPath, AServerThatEndsALittleLaterIsClipped) {
  EXPECT_EQ(Root().Add("c", 10, 90, "r", kClient).Add("s", 12, 90.5, "c", kServer, "b").Path(),
            (Sums{{"r", 20}, {"c", 2}, {"s", 78}}));
}

TEST(CriticalPath, WithoutARootItIsFromTheFirstToTheLast) {
  Trace trace;
  trace.Add("x", 10, 40, "lost").Add("y", 60, 90, "lost");
  EXPECT_EQ(trace.Path(), (Sums{{"?", 20}, {"x", 30}, {"y", 30}}));
  EXPECT_EQ(FindCriticalPath(trace.rows()).root, kNoSpan);
  EXPECT_EQ(FindCriticalPath({}).duration_ns, 0);
}

TEST(CriticalPath, CirclesAreCutOpen) {
  Trace trace;
  trace.Add("x", 0, 50, "").Add("y", 10, 40, "x");
  trace.rows()[0].parent = trace.rows()[1].id;
  EXPECT_EQ(trace.Path(), (Sums{{"x", 20}, {"y", 30}}));
}

TEST(CriticalPath, AddsUpOnAnyTrace) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 10'000; ++round) {
    Trace trace;
    const std::size_t spans = 1 + random() % 12;
    for (std::size_t i = 0; i < spans; ++i) {
      const double from = static_cast<double>(random() % 1000) / 7;
      const double to = from + static_cast<double>(random() % 1000) / 9;
      trace.Add(fmt::format("{}", i), from, to, "", static_cast<std::uint8_t>(random() % 6),
                random() % 2 == 0 ? "a" : "b");
    }
    for (store::SpanRow& row : trace.rows()) {
      // A parent, a circle, one that is missing, or none.
      const std::uint64_t parent = random() % (spans + 3);
      row.parent = parent > spans + 1 ? profile::SpanId{} : IdOf(parent);
    }
    (void)trace.Path();  // it checks the sums
    if (HasFailure()) FAIL() << "round " << round;
  }
}

TEST(CriticalPath, AChainOfAHundredThousandSpans) {
  Trace trace;
  constexpr int kSpans = 100'000;
  for (int i = 0; i < kSpans; ++i)
    trace.Add(fmt::format("{}", i), i, 2 * kSpans - i, i == 0 ? "" : fmt::format("{}", i - 1));
  const auto begin = std::chrono::steady_clock::now();
  const CriticalPath path = FindCriticalPath(trace.rows());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_EQ(path.segments.size(), 2u * kSpans - 1);
}

}  // namespace
}  // namespace wherefore::query
