// Generated requests with a little of everything that is stored: services, instances, types,
// buckets, labels, links, details, spans, tenants. The same seed gives the
// same requests.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/text.h"
#include "profile/span_batch.h"
#include "store/engine/ids.h"
#include "store/test_batch.h"

namespace wherefore::store {

class Generated {
 public:
  static constexpr std::uint32_t kOtherTenant = 7;
  static constexpr std::size_t kTraces = 12;

  Generated(std::uint32_t seed, std::int64_t now_ns) : random_(seed), now_ns_(now_ns) {}

  // Of every request another one with the same identity would be a repeat.
  std::vector<profile::WriteRequest> Requests() {
    std::vector<profile::WriteRequest> all;
    const std::int64_t ages[] = {0, kNsPerDay, 70 * kNsPerDay};
    for (const std::int64_t age : ages) {
      for (int i = 0; i < 3; ++i) all.push_back(Profiles(age, fmt::format("{} {}", age, i)));
    }
    all.push_back(Profiles(0, "other tenant", kOtherTenant));
    for (const char* service : {"shop", "db", "only spans"}) {
      all.push_back(Spans(service, 0));
      all.push_back(Spans(service, kNsPerDay));
    }
    all.push_back(Spans("shop", 0, kOtherTenant));
    return all;
  }

  // Sums that 64 bits do not hold, in both directions.
  profile::WriteRequest Huge() {
    BatchBuilder builder;
    // On the way beyond, and 6 in the end.
    constexpr std::int64_t kBoth[] = {INT64_MAX, INT64_MIN + 2, 5};
    for (int i = 0; i < 3; ++i) {
      builder.Add({.service = "huge", .time_ns = now_ns_ - (60 + i) * kNsPerSecond},
                  {{{"up", "main"}, INT64_MAX - i},
                   {{"down", "main"}, INT64_MIN + 1 + i},
                   {{"both", "main"}, kBoth[i]}});
    }
    return builder.Request("huge");
  }

  static profile::TraceId Trace(std::uint64_t number) {
    return AsId<profile::TraceId>(*FromHex(TraceHex(number)));
  }
  static profile::SpanId Span(std::uint64_t number) {
    return AsId<profile::SpanId>(*FromHex(SpanHex(number)));
  }
  static std::string TraceHex(std::uint64_t number) { return fmt::format("{:032x}", number + 1); }
  static std::string SpanHex(std::uint64_t number) { return fmt::format("{:016x}", number + 1); }
  // Spans of a trace, in every service alike.
  static constexpr std::uint64_t kSpansOfATrace = 4;
  static constexpr const char* kProfileId = "00000000000000f1";

 private:
  std::uint64_t Any(std::uint64_t below) { return random_() % below; }
  template <typename T>
  const T& AnyOf(const std::vector<T>& items) {
    return items[Any(items.size())];
  }

  BatchBuilder::Sample Sample(std::int64_t time_ns) {
    static const std::vector<std::string> kNames = {"main", "parse", "json::get", "map<int>::find",
                                                    "read", "send",  "malloc",    "std::sort"};
    BatchBuilder::Sample sample;
    for (std::uint64_t depth = Any(7); depth > 0; --depth) sample.stack.push_back(AnyOf(kNames));
    sample.value = static_cast<std::int64_t>(Any(100'000)) - 100;
    if (Any(3) == 0) {
      const bool only_span = Any(4) == 0;
      sample.trace = only_span ? std::string(32, '0') : TraceHex(Any(kTraces));
      sample.span = only_span && Any(2) == 0 ? kProfileId : SpanHex(Any(kTraces * kSpansOfATrace));
    }
    if (Any(4) == 0) {
      for (std::uint64_t i = 1 + Any(4); i > 0; --i)
        sample.times.push_back(static_cast<std::uint64_t>(time_ns) + Any(20 * kNsPerSecond));
    }
    if (Any(3) == 0) sample.attributes.emplace_back("thread", Any(2) == 0 ? "one" : "two");
    if (Any(6) == 0) sample.attributes.emplace_back("thread.id", fmt::format("{}", Any(9)));
    return sample;
  }

  profile::WriteRequest Profiles(std::int64_t age_ns, const std::string& identity,
                                 std::uint32_t tenant = 0) {
    using Type = std::pair<std::string, std::string>;
    static const std::vector<Type> kTypes = {{"samples", "count"},       {"cpu", "nanoseconds"},
                                             {"inuse_space", "bytes"},   {"threads", "count"},
                                             {"off_cpu", "nanoseconds"}, {"alloc_space", "bytes"}};
    static const std::vector<std::string> kServices = {"shop", "db", "web"};
    static const std::vector<std::uint64_t> kDurations = {0, 1, 10'000'000'000, 90'000'000'000,
                                                          200'000'000'000'000};
    BatchBuilder builder;
    for (int i = 0; i < 40; ++i) {
      const Type& type = AnyOf(kTypes);
      const std::int64_t time =
          now_ns_ - age_ns - static_cast<std::int64_t>(Any(1800) * kNsPerSecond + Any(1000));
      std::vector<BatchBuilder::Sample> samples;
      for (std::uint64_t k = Any(8); k > 0; --k) samples.push_back(Sample(time));
      // Some twice: they must stay two.
      if (!samples.empty() && Any(3) == 0) samples.push_back(samples[0]);
      builder.Add({.service = AnyOf(kServices),
                   .resource = {{"pod", Any(2) == 0 ? "a" : "b"}},
                   .time_ns = time,
                   .duration_ns = AnyOf(kDurations),
                   .type = type.first,
                   .unit = type.second,
                   .id = Any(2) == 0 ? fmt::format("{:032x}", 0xabc + Any(1000)) : "",
                   .attributes = {{"process.pid", fmt::format("{}", Any(5))},
                                  {"region", Any(2) == 0 ? "east" : "west"}}},
                  samples);
    }
    auto request = builder.Request("profiles " + identity + std::to_string(tenant), tenant);
    Decorate(std::get<profile::Batch>(request.data));
    return request;
  }

  // What the builder has no words for: inlined calls, values one by one, files as they were sent.
  void Decorate(profile::Batch& batch) {
    for (std::size_t i = 1; i + 1 < batch.frames.size(); i += 3) batch.frames[i].lines.count = 2;
    for (std::size_t i = 0; i < batch.samples.size(); ++i) {
      const std::uint32_t times = batch.samples.times[i].count;
      if (times < 2 || Any(2) == 0) continue;
      batch.samples.values[i] = {static_cast<std::uint32_t>(batch.values.size()), times};
      batch.samples.value[i] = 0;
      for (std::uint32_t k = 0; k < times; ++k) {
        batch.values.push_back(static_cast<std::int64_t>(Any(100)));
        batch.samples.value[i] += batch.values.back();
      }
    }
    for (std::size_t i = 0; i < batch.profiles.size(); i += 5) {
      batch.profiles[i].payload_format = batch.AddText("raw");
      batch.profiles[i].payload = batch.Text(batch.AddText(fmt::format("payload {}", i)));
    }
    EXPECT_TRUE(batch.Validate());
  }

  profile::WriteRequest Spans(const std::string& service, std::int64_t age_ns,
                              std::uint32_t tenant = 0) {
    profile::SpanBatch batch;
    const auto add = [&](std::string_view name, const std::string& value) {
      batch.own_attributes.push_back(
          {batch.AddText(name), 0, {profile::Value::Kind::kString, batch.AddText(value), 0}});
    };
    add("service.name", service);
    add("host", Any(2) == 0 ? "h1" : "h2");
    batch.resources.push_back({{0, 2}, 0, 0, 0});
    const std::uint64_t first = age_ns == 0 ? 0 : kTraces / 2;
    for (std::uint64_t trace = first; trace < first + kTraces / 2; ++trace) {
      for (std::uint64_t k = 0; k < kSpansOfATrace; ++k) {
        if (Any(4) == 0) continue;  // not every service is in every trace
        profile::Span span;
        span.resource = 1;
        span.trace = Trace(trace);
        span.id = Span(trace * kSpansOfATrace + k);
        if (k > 0) span.parent = Span(trace * kSpansOfATrace + k - 1);
        span.name = batch.AddText(k == 0 ? "GET /" : "query");
        span.kind = static_cast<std::uint8_t>(Any(6));
        span.status_code = static_cast<std::uint8_t>(Any(3));
        if (span.status_code == 2) span.status_message = batch.AddText("it failed");
        span.start_ns = static_cast<std::uint64_t>(now_ns_ - age_ns) - 1'000'000'000'000 +
                        trace * 1'000'000'000 + Any(900'000'000);
        span.end_ns = span.start_ns + Any(5'000'000'000);
        const auto begin = static_cast<std::uint32_t>(batch.own_attributes.size());
        add("route", Any(2) == 0 ? "/pay" : "/list");
        if (Any(4) == 0) add("pyroscope.profile.id", kProfileId);
        span.attributes = {begin, static_cast<std::uint32_t>(batch.own_attributes.size()) - begin};
        batch.spans.push_back(span);
      }
    }
    EXPECT_TRUE(batch.Validate());
    profile::WriteRequest request;
    request.data = std::move(batch);
    request.identity = HashString(fmt::format("spans {} {} {}", service, age_ns, tenant));
    request.tenant = tenant;
    request.arrival_ns = now_ns_;
    request.body_bytes = 1 << 20;
    return request;
  }

  std::mt19937 random_;
  const std::int64_t now_ns_;
};

}  // namespace wherefore::store
