// `profiling.conditional`: which requests qualify, what samples of the others lose, and how
// profiles wait for that.
#include <algorithm>
#include <future>
#include <map>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/test_directory.h"
#include "formats/formats.h"
#include "gateway/process/test_requests.h"
#include "gateway/profiling/reduce.h"
#include "gateway/profiling/trace_table.h"
#include "gateway/profiling/waiting_profiles.h"
#include "gateway/test_sink.h"
#include "profile/observations.h"
#include "profile/reduced.h"

namespace wherefore::gateway {
namespace {

using profile::Batch;
using profile::Id;
using Verdict = TraceTable::Verdict;

constexpr std::int64_t kMs = 1'000'000;

profile::TraceId Trace(int number) {
  profile::TraceId id{};
  id[0] = 7;
  id[14] = static_cast<std::uint8_t>(number >> 8);
  id[15] = static_cast<std::uint8_t>(number);
  return id;
}
profile::SpanId SpanOf(int number) {
  return {
      1, 0, 0, 0, 0, 0, static_cast<std::uint8_t>(number >> 8), static_cast<std::uint8_t>(number)};
}

struct SpanFacts {
  int trace = 1;
  std::int64_t took_ns = 10 * kMs;
  std::uint8_t status = 0;
  std::uint8_t kind = 2;
  bool child = false;
  std::uint32_t flags = 0;
};
profile::SpanBatch Spans(const std::string& service, const std::vector<SpanFacts>& all) {
  profile::SpanBatch batch;
  const Id resource = AddResource(batch, service);
  for (const SpanFacts& f : all) {
    profile::Span span{.resource = resource, .trace = Trace(f.trace), .id = SpanOf(f.trace)};
    if (f.child) span.parent = SpanOf(999);
    span.kind = f.kind;
    span.status_code = f.status;
    span.flags = f.flags;
    span.start_ns = 1'000'000'000;
    span.end_ns = span.start_ns + static_cast<std::uint64_t>(f.took_ns);
    batch.spans.push_back(span);
  }
  return batch;
}

// Samples of stack 1 or 2, linked to traces by number (0: not).
struct SampleFacts {
  Id stack = 1;
  int trace = 0;
  std::int64_t value = 10 * kMs;
  int times = 0;
  bool by_span = false;
};
Batch Samples(const std::string& service, const std::vector<SampleFacts>& all) {
  Batch batch;
  const Id resource = AddResource(batch, service);
  for (const char* const name : {"f", "g"}) {
    batch.functions.push_back({.name = batch.AddText(name)});
    batch.lines.push_back({.function = static_cast<Id>(batch.functions.size() - 1)});
    batch.frames.push_back({.lines = {static_cast<std::uint32_t>(batch.lines.size() - 1), 1}});
    batch.stack_frames.push_back(static_cast<Id>(batch.frames.size() - 1));
    batch.stacks.push_back({static_cast<std::uint32_t>(batch.stack_frames.size() - 1), 1});
  }
  batch.profiles.push_back(
      {.resource = resource,
       .sample_type = {.type = batch.AddText("cpu"), .unit = batch.AddText("nanoseconds")},
       .sample_count = static_cast<std::uint32_t>(all.size())});
  batch.profiles[0].period_type = batch.profiles[0].sample_type;
  batch.profiles[0].period = 10 * kMs;
  batch.profiles[0].time_ns = static_cast<std::uint64_t>(NowUnixNs());
  for (const SampleFacts& f : all) {
    Id link = 0;
    profile::Range attributes;
    if (f.trace != 0) {
      batch.links.push_back({f.by_span ? profile::TraceId{} : Trace(f.trace), SpanOf(f.trace)});
      link = static_cast<Id>(batch.links.size() - 1);
      attributes = {static_cast<std::uint32_t>(batch.attribute_refs.size()), 1};
      batch.attribute_refs.push_back(static_cast<Id>(batch.attributes.size()));
      batch.attributes.push_back({.key = batch.AddText("span_id"),
                                  .value = {.kind = profile::Value::Kind::kString,
                                            .text = batch.AddText(std::to_string(f.trace))}});
    }
    profile::Range times{static_cast<std::uint32_t>(batch.times.size()),
                         static_cast<std::uint32_t>(f.times)};
    for (int t = 0; t < f.times; ++t) batch.times.push_back(batch.profiles[0].time_ns);
    batch.samples.Append(f.stack, attributes, link, f.value, times, {});
  }
  return batch;
}

std::int64_t AllValues(const Batch& batch) {
  std::int64_t sum = 0;
  for (const std::int64_t value : batch.samples.value) sum += value;
  return sum;
}
std::int64_t AllObservations(const Batch& batch) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < batch.samples.size(); ++i) {
    sum += profile::Observations(batch, batch.profiles[0], i);
  }
  return sum;
}
std::string ReducedOf(const Batch& batch) {
  for (const Id id : batch.AttributeRefs(batch.profiles[0].attributes)) {
    if (batch.Text(batch.attributes[id].key) == profile::kReducedKey) {
      return std::string(batch.Text(batch.attributes[id].value.text));
    }
  }
  return {};
}

TEST(Reduce, EqualSamplesBecomeOneAndTotalsStay) {
  Batch batch = Samples("shop", {{1, 1}, {1, 2}, {1, 3, 20 * kMs, 2}, {2, 1}, {1, 0}, {2, 4}});
  const std::int64_t values = AllValues(batch);
  const std::int64_t observations = AllObservations(batch);
  std::vector<bool> keeps(batch.links.size());
  keeps[5] = true;  // of trace 4
  ASSERT_TRUE(ReduceDetail(batch, keeps, "conditional"));
  ASSERT_TRUE(batch.Validate());
  EXPECT_EQ(batch.samples.size(), 3u);
  EXPECT_EQ(batch.links.size(), 2u) << "other links left with the table";
  EXPECT_EQ(AllValues(batch), values);
  EXPECT_EQ(AllObservations(batch), observations);
  EXPECT_EQ(ReducedOf(batch), "conditional");
  // Also after the wire.
  const auto again = formats::DecodeOtlpProfiles(
      std::make_shared<const std::string>(formats::EncodeOtlpProfiles(batch)));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->rejected, 0u);
  EXPECT_EQ(again->message, "");
  EXPECT_EQ(AllValues(again->data), values);
  EXPECT_EQ(AllObservations(again->data), observations);
}

TEST(Reduce, WithoutDetailNothingHappens) {
  Batch batch = Samples("shop", {{1, 0}, {1, 0}});
  EXPECT_FALSE(ReduceDetail(batch, std::vector<bool>(1), "conditional"));
  EXPECT_EQ(batch.samples.size(), 2u);
  EXPECT_EQ(ReducedOf(batch), "");
}

TEST(Reduce, RandomBatchesKeepTheirSums) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<SampleFacts> all(random() % 50 + 1);
    for (SampleFacts& f : all) {
      f = {static_cast<Id>(random() % 2 + 1), static_cast<int>(random() % 5),
           static_cast<std::int64_t>(random() % 1000) - 100, static_cast<int>(random() % 3)};
    }
    Batch batch = Samples("shop", all);
    const std::int64_t values = AllValues(batch);
    const std::int64_t observations = AllObservations(batch);
    std::vector<bool> keeps(batch.links.size());
    for (std::size_t i = 0; i < keeps.size(); ++i) keeps[i] = random() % 3 == 0;
    (void)ReduceDetail(batch, keeps, "shed");
    ASSERT_TRUE(batch.Validate());
    ASSERT_EQ(AllValues(batch), values);
    ASSERT_EQ(AllObservations(batch), observations);
  }
}

class TraceTableTest : public testing::Test {
 protected:
  TraceTableTest() {
    table_.SetRules(
        ProfilingConditional{.slow_request_ns = 1000 * kMs, .cpu = 0.8, .errors = true});
  }
  Verdict Ask(int trace, bool by_span = false) {
    return table_.Ask(0, Samples("shop", {{.trace = trace, .by_span = by_span}}))[1];
  }
  TraceTable table_{100};
};

TEST_F(TraceTableTest, SlowAndFailedRequests) {
  table_.NoteSpans(0, Spans("shop", {{1, 1000 * kMs}, {2, 999 * kMs}, {3, 5 * kMs, 2}}));
  EXPECT_EQ(Ask(1), Verdict::kQualifies);
  EXPECT_EQ(Ask(2), Verdict::kOrdinary);
  EXPECT_EQ(Ask(3), Verdict::kQualifies);
  EXPECT_EQ(Ask(4), Verdict::kNoRequest);
  EXPECT_EQ(Ask(1, true), Verdict::kQualifies) << "by its span alone";
  EXPECT_EQ(table_.Ask(5, Samples("shop", {{1, 1}}))[1], Verdict::kNoRequest) << "another tenant";
}

TEST_F(TraceTableTest, WhatARequestIs) {
  constexpr std::int64_t kSlow = 2000 * kMs;
  table_.NoteSpans(
      0, Spans("shop", {{.trace = 1, .took_ns = kSlow, .kind = 3, .child = true},
                        {.trace = 2, .took_ns = kSlow, .kind = 1},
                        {.trace = 3, .took_ns = kSlow, .kind = 5, .child = true},
                        {.trace = 4, .took_ns = kSlow, .kind = 1, .child = true, .flags = 0x300}}));
  EXPECT_EQ(Ask(1), Verdict::kNoRequest) << "a client span with a parent";
  EXPECT_EQ(Ask(2), Verdict::kQualifies) << "no parent";
  EXPECT_EQ(Ask(3), Verdict::kQualifies) << "a consumer";
  EXPECT_EQ(Ask(4), Verdict::kQualifies) << "a remote parent";
}

TEST_F(TraceTableTest, BusyRequestsInEitherOrder) {
  const Batch busy = Samples("shop", {{1, 1, 70 * kMs}, {2, 1, 10 * kMs}, {1, 2, 79 * kMs}});
  table_.NoteCpu(0, LinkedCpuOf(busy));
  table_.NoteSpans(0, Spans("shop", {{1, 100 * kMs}, {2, 100 * kMs}}));
  EXPECT_EQ(Ask(1), Verdict::kQualifies);
  EXPECT_EQ(Ask(2), Verdict::kOrdinary);
  table_.NoteCpu(0, LinkedCpuOf(Samples("other", {{1, 2, 70 * kMs}})));
  EXPECT_EQ(Ask(2), Verdict::kOrdinary) << "another service's time";
  table_.NoteCpu(0, LinkedCpuOf(Samples("shop", {{1, 2, 1 * kMs}})));
  EXPECT_EQ(Ask(2), Verdict::kQualifies);
}

TEST_F(TraceTableTest, ForgetsTheOldest) {
  for (int i = 1; i <= 150; ++i) table_.NoteSpans(0, Spans("shop", {{i}}));
  EXPECT_EQ(Ask(50), Verdict::kNoRequest);
  EXPECT_EQ(Ask(51), Verdict::kOrdinary);
}

class WaitingProfilesTest : public testing::Test {
 protected:
  void Begin() {
    profiling_.Apply(ProfilingSettings{.conditional = rules_});
    waiting_ = std::make_unique<WaitingProfiles>(
        "otlp conditional", std::make_shared<const ProfilingConditional>(rules_),
        QueueOptions{.directory = directory_.path() + "/queue"}, profiling_, next_);
    ASSERT_TRUE(waiting_->Start());
  }
  Result<profile::WriteAnswer> Send(Batch batch, std::uint64_t identity) {
    profile::WriteRequest request;
    request.data = std::move(batch);
    request.identity = {identity, 1};
    std::promise<Result<profile::WriteAnswer>> answered;
    waiting_->Write(std::move(request), [&](Result<profile::WriteAnswer> answer) {
      answered.set_value(std::move(answer));
    });
    return answered.get_future().get();
  }
  std::vector<profile::WriteRequest> WaitForSome() {
    for (int i = 0; i < 1000; ++i) {
      if (auto got = next_->Take(); !got.empty()) return got;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return {};
  }

  const TestDirectory directory_;
  ProfilingConditional rules_{
      .slow_request_ns = 1000 * kMs, .errors = true, .decision_wait_ns = 300 * kMs};
  Profiling profiling_{Profiling::Options{.directory = directory_.path()}};
  std::shared_ptr<FakeSink> next_ = std::make_shared<FakeSink>();
  std::unique_ptr<WaitingProfiles> waiting_;
};

TEST_F(WaitingProfilesTest, SpansThatComeLaterDecide) {
  Begin();
  ASSERT_TRUE(Send(Samples("shop", {{1, 1}, {1, 2}, {1, 3}, {1, 4}}), 1));
  EXPECT_TRUE(next_->Take().empty()) << "it waits";
  const auto again = Send(Samples("shop", {{1, 1}, {1, 2}, {1, 3}, {1, 4}}), 1);
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->repeated);
  profiling_.traces().NoteSpans(0, Spans("shop", {{1, 2000 * kMs}, {2}, {3}}));
  const auto got = WaitForSome();
  ASSERT_EQ(got.size(), 1u);
  const Batch& batch = ProfilesOf(got[0]);
  EXPECT_EQ(AllValues(batch), 40 * kMs);
  EXPECT_EQ(batch.samples.size(), 3u) << "slow, not seen, and the rest as one";
  EXPECT_EQ(ReducedOf(batch), "conditional");
}

TEST_F(WaitingProfilesTest, WhatWaitedIsThereAfterARestart) {
  rules_.decision_wait_ns = 3600LL * 1000 * kMs;
  Begin();
  ASSERT_TRUE(Send(Samples("shop", {{1, 1}, {1, 2}}), 1));
  waiting_.reset();
  EXPECT_TRUE(next_->Take().empty());
  Begin();
  const auto got = WaitForSome();
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(ProfilesOf(got[0]).samples.size(), 2u) << "no request is known any more: kept";
}

}  // namespace
}  // namespace wherefore::gateway
