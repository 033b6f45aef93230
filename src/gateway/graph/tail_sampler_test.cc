// tail_sampling: what is kept, what waits on disk, and what a restart leaves.
#include "gateway/graph/tail_sampler.h"

#include <chrono>
#include <future>

#include <gtest/gtest.h>
#include <re2/re2.h>

#include "base/test_directory.h"
#include "gateway/process/test_requests.h"
#include "gateway/test_sink.h"

namespace wherefore::gateway {
namespace {

using Kind = TailPolicy::Kind;

profile::TraceId TraceOf(std::uint8_t n) {
  profile::TraceId trace{};
  trace[0] = trace[15] = n;
  return trace;
}

struct SpanSpec {
  std::uint8_t trace = 1;
  std::uint8_t status = 0;
  std::uint64_t start_ms = 0;
  std::uint64_t end_ms = 1;
  TextAttributes attributes;
};

profile::WriteRequest Spans(const std::vector<SpanSpec>& specs) {
  static std::uint64_t next = 0;
  profile::SpanBatch batch;
  const profile::Id resource = AddResource(batch, "shop");
  for (const SpanSpec& spec : specs) {
    profile::Span span{.resource = resource, .trace = TraceOf(spec.trace)};
    span.id[0] = static_cast<std::uint8_t>(++next);
    span.id[1] = 1;
    span.status_code = spec.status;
    span.start_ns = 1 + spec.start_ms * 1'000'000;
    span.end_ns = 1 + spec.end_ms * 1'000'000;
    span.attributes = AddOwn(batch, spec.attributes);
    batch.spans.push_back(span);
  }
  profile::WriteRequest request;
  request.data = std::move(batch);
  request.identity = {++next, 1};
  return request;
}

bool Keeps(const std::vector<TailPolicy>& policies, const std::vector<SpanSpec>& specs) {
  const profile::WriteRequest request = Spans(specs);
  TraceFacts facts;
  for (const profile::Span& span : SpansOf(request).spans) {
    facts.Add(SpansOf(request), span, policies);
  }
  return facts.Kept(TraceOf(specs[0].trace), policies);
}

TEST(TailPolicy, EachKind) {
  const std::vector<TailPolicy> slow = {{.kind = Kind::kLatency, .threshold_ms = 100}};
  EXPECT_TRUE(Keeps(slow, {{.end_ms = 20}, {.start_ms = 50, .end_ms = 100}}));
  EXPECT_FALSE(Keeps(slow, {{.end_ms = 99}}));
  const std::vector<TailPolicy> failed = {{.kind = Kind::kStatusCode, .status_codes = {2}}};
  EXPECT_TRUE(Keeps(failed, {{.status = 1}, {.status = 2}}));
  EXPECT_FALSE(Keeps(failed, {{.status = 1}}));
  const std::vector<TailPolicy> text = {
      {.kind = Kind::kStringAttribute, .key = "k", .values = {"a", "b"}}};
  EXPECT_TRUE(Keeps(text, {{.attributes = {{"k", "b"}}}}));
  EXPECT_FALSE(Keeps(text, {{.attributes = {{"k", "bb"}}}}));
  const std::vector<TailPolicy> match = {{.kind = Kind::kStringAttribute,
                                          .key = "service.name",
                                          .expressions = {std::make_shared<re2::RE2>("^sh")}}};
  EXPECT_TRUE(Keeps(match, {{}}));
  EXPECT_TRUE(Keeps({{.kind = Kind::kAlways}}, {{}}));
  EXPECT_TRUE(Keeps({{.kind = Kind::kProbabilistic, .sampling_percentage = 100}}, {{}}));
  EXPECT_FALSE(Keeps({{.kind = Kind::kProbabilistic}}, {{}}));
}

TEST(TailPolicy, AndNeedsAllOfItsParts) {
  const std::vector<TailPolicy> both = {
      {.kind = Kind::kAnd,
       .parts = {{.kind = Kind::kStatusCode, .status_codes = {2}},
                 {.kind = Kind::kLatency, .threshold_ms = 100}}},
      {.kind = Kind::kStringAttribute, .key = "k", .values = {"x"}}};
  EXPECT_FALSE(Keeps(both, {{.status = 2}}));
  EXPECT_TRUE(Keeps(both, {{.status = 2, .end_ms = 500}}));
  EXPECT_TRUE(Keeps(both, {{.attributes = {{"k", "x"}}}}));
}

class TailSamplerTest : public testing::Test {
 protected:
  std::unique_ptr<TailSampler> Make(std::int64_t wait_ms) {
    auto sampler = std::make_unique<TailSampler>(
        "traces tail_sampling",
        TailOptions{.decision_wait_ns = wait_ms * 1'000'000,
                    .policies = {{.kind = Kind::kStatusCode, .status_codes = {2}}}},
        QueueOptions{.directory = directory_.path()}, next_);
    const Result<> started = sampler->Start();
    EXPECT_TRUE(started) << started.error().message();
    return sampler;
  }
  static void Send(TailSampler& sampler, profile::WriteRequest request) {
    std::promise<bool> taken;
    sampler.Write(std::move(request),
                  [&](const Result<profile::WriteAnswer>& r) { taken.set_value(r.has_value()); });
    EXPECT_TRUE(taken.get_future().get());
  }
  // Spans that came out, by trace; waits until there are as many.
  std::map<std::uint8_t, int> Came(std::size_t spans) {
    std::map<std::uint8_t, int> by_trace;
    std::size_t count = 0;
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (count < spans && std::chrono::steady_clock::now() < until) {
      for (const auto& request : next_->Take()) {
        for (const profile::Span& span : SpansOf(request).spans) {
          ++by_trace[span.trace[0]];
          ++count;
        }
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return by_trace;
  }

  TestDirectory directory_;
  std::shared_ptr<FakeSink> next_ = std::make_shared<FakeSink>();
};

TEST_F(TailSamplerTest, WholeTracesGoOnWhenOneOfTheirSpansQualifies) {
  const auto sampler = Make(300);
  Send(*sampler, Spans({{.trace = 1}, {.trace = 2}}));
  Send(*sampler, Spans({{.trace = 1, .status = 2}, {.trace = 3}}));
  EXPECT_EQ(Came(2), (std::map<std::uint8_t, int>{{1, 2}}));
  Send(*sampler, Spans({{.trace = 1}, {.trace = 3, .status = 2}}));  // decided already
  EXPECT_EQ(Came(1), (std::map<std::uint8_t, int>{{1, 1}}));
}

TEST_F(TailSamplerTest, WhatWaitedSurvivesARestart) {
  auto sampler = Make(3'600'000);
  Send(*sampler, Spans({{.trace = 1, .status = 2}, {.trace = 2}}));
  sampler.reset();
  EXPECT_TRUE(next_->Take().empty());
  sampler = Make(1);
  EXPECT_EQ(Came(1), (std::map<std::uint8_t, int>{{1, 1}}));
}

TEST_F(TailSamplerTest, ItTriesAgainUntilTheRestTakesIt) {
  next_->AnswerNext(Error(Code::kUnavailable, "disk full"));
  const auto sampler = Make(1);
  Send(*sampler, Spans({{.trace = 1, .status = 2}}));
  EXPECT_EQ(Came(2), (std::map<std::uint8_t, int>{{1, 2}}));  // refused once, then taken
}

}  // namespace
}  // namespace wherefore::gateway
