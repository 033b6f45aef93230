// Generated services for tests of statistics: known costs per request, instances that differ,
// drift, load, and mixes of endpoints, written through the store as senders would.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "profile/span_batch.h"
#include "query/selector.h"
#include "query/test_data.h"
#include "store/test_queries.h"

namespace wherefore::query {

struct GeneratedPath {
  std::vector<std::string> stack;  // leaf first
  std::size_t endpoint = 0;
  double cost = 0;  // samples of a request, on average
};

struct GeneratedSide {
  std::string version;
  std::vector<GeneratedPath> paths;
  std::vector<double> requests;  // by endpoint, in each profile, on average
  int instances = 5;
  int profiles = 1;     // of each instance, one after the other
  double differ = 0;    // coefficient of variation of a path's cost between instances
  double mix = 0;       // the same of an endpoint's requests
  double drift = 0;     // the same of a path's cost in one fifth of the time
  bool linked = false;  // samples to the spans of their requests
};

inline constexpr std::int64_t kGeneratedProfileNs = 10 * kNsPerSecond;

class GeneratedDeployment {
 public:
  GeneratedDeployment(store::Kept kept, std::uint64_t seed)
      : data_(kept), random_(seed), start_ns_((NowUnixNs() / kNsPerSecond - 7200) * kNsPerSecond) {}

  void Write(const GeneratedSide& side) {
    store::BatchBuilder batch;
    profile::SpanBatch spans;
    for (int i = 0; i < side.instances; ++i) WriteInstance(side, i, batch, spans);
    data_.Write(batch.Request(side.version));
    profile::WriteRequest request;
    ASSERT_TRUE(spans.Validate());
    request.data = std::move(spans);
    request.identity = HashString(side.version + " spans");
    data_.Write(std::move(request));
    data_.Flush();
  }
  // How many requests of each endpoint both sides had.
  [[nodiscard]] const std::vector<double>& requests() const { return requests_; }
  [[nodiscard]] store::Reader& reader() { return data_.reader(); }
  [[nodiscard]] Selection Of(const std::string& version) const {
    Selection selection{.type = "samples", .range = {start_ns_, start_ns_ + 7200 * kNsPerSecond}};
    selection.selector = *Selector::Parse(fmt::format("{{version=\"{}\"}}", version));
    return selection;
  }

 private:
  // Around 1, with this coefficient of variation.
  double Factor(double variation) {
    if (variation <= 0) return 1;
    const double shape = 1 / (variation * variation);
    return std::gamma_distribution<double>(shape, 1 / shape)(random_);
  }
  int Poisson(double mean) { return mean > 0 ? std::poisson_distribution<int>(mean)(random_) : 0; }

  void WriteInstance(const GeneratedSide& side, int instance, store::BatchBuilder& batch,
                     profile::SpanBatch& spans) {
    const store::Labels labels = {{"pod", fmt::format("{}-{}", side.version, instance)},
                                  {"version", side.version}};
    const profile::Id resource = Resource(spans, labels);
    std::vector<double> cost, drifted, requests;
    for (const GeneratedPath& path : side.paths) {
      cost.push_back(path.cost * Factor(side.differ));
      drifted.push_back(cost.back() * Factor(side.drift));
    }
    for (const double mean : side.requests) requests.push_back(mean * Factor(side.mix));
    const int fifth = side.profiles / 5;
    const int from = fifth > 0 ? static_cast<int>(random_() % (side.profiles - fifth + 1)) : 0;
    for (int p = 0; p < side.profiles; ++p) {
      const std::int64_t time = start_ns_ + p * kGeneratedProfileNs;
      const bool drifts = p >= from && p < from + fifth;
      const auto ids = WriteRequests(requests, time, resource, spans);
      batch.Add({.resource = labels,
                 .time_ns = time,
                 .duration_ns = static_cast<std::uint64_t>(kGeneratedProfileNs)},
                Samples(side, drifts ? drifted : cost, ids));
    }
  }

  using Ids = std::vector<std::vector<std::uint64_t>>;  // of requests, by endpoint
  Ids WriteRequests(const std::vector<double>& means, std::int64_t time, profile::Id resource,
                    profile::SpanBatch& spans) {
    Ids ids(means.size());
    requests_.resize(means.size());
    for (std::size_t e = 0; e < means.size(); ++e) {
      for (int n = std::max(Poisson(means[e]), 1); n > 0; --n) {
        ids[e].push_back(++last_id_);
        requests_[e] += 1;
        profile::Span span;
        span.resource = resource;
        std::memcpy(span.trace.data(), FromHex(TraceOf(last_id_))->data(), 16);
        std::memcpy(span.id.data(), FromHex(SpanOf(last_id_))->data(), 8);
        span.name = spans.AddText(fmt::format("endpoint{}", e));
        span.kind = 2;
        span.start_ns = static_cast<std::uint64_t>(time) + random_() % kGeneratedProfileNs;
        span.end_ns = span.start_ns + 1'000'000;
        spans.spans.push_back(span);
      }
    }
    return ids;
  }

  std::vector<store::BatchBuilder::Sample> Samples(const GeneratedSide& side,
                                                   const std::vector<double>& cost,
                                                   const Ids& ids) {
    std::vector<store::BatchBuilder::Sample> samples;
    for (std::size_t k = 0; k < side.paths.size(); ++k) {
      const GeneratedPath& path = side.paths[k];
      const std::vector<std::uint64_t>& requests = ids[path.endpoint];
      const int seen = Poisson(cost[k] * static_cast<double>(requests.size()));
      if (seen == 0) continue;
      if (!side.linked) {
        samples.push_back({path.stack, seen, {}, {}, {}, {}});
        continue;
      }
      std::vector<int> of_each(requests.size());
      for (int i = 0; i < seen; ++i) ++of_each[random_() % requests.size()];
      for (std::size_t r = 0; r < requests.size(); ++r) {
        if (of_each[r] > 0)
          samples.push_back(
              {path.stack, of_each[r], TraceOf(requests[r]), SpanOf(requests[r]), {}, {}});
      }
    }
    return samples;
  }

  static std::string TraceOf(std::uint64_t id) { return fmt::format("{:032x}", id); }
  static std::string SpanOf(std::uint64_t id) { return fmt::format("{:016x}", id); }
  static profile::Id Resource(profile::SpanBatch& spans, const store::Labels& labels) {
    const auto begin = static_cast<std::uint32_t>(spans.own_attributes.size());
    const auto add = [&](std::string_view name, std::string_view value) {
      spans.own_attributes.push_back(
          {spans.AddText(name), 0, {profile::Value::Kind::kString, spans.AddText(value), 0}});
    };
    add("service.name", "shop");
    for (const auto& [name, value] : labels) add(name, value);
    spans.resources.push_back(
        {{begin, static_cast<std::uint32_t>(spans.own_attributes.size()) - begin}, 0, 0, 0});
    return static_cast<profile::Id>(spans.resources.size() - 1);
  }

  store::TestData data_;
  std::mt19937_64 random_;
  const std::int64_t start_ns_;
  std::uint64_t last_id_ = 0;
  std::vector<double> requests_;
};

}  // namespace wherefore::query
