// Requests for tests of exporters: profiles and spans whose totals can be told apart.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "formats/formats.h"
#include "profile/sink.h"

namespace wherefore::gateway {

// A profile with one sample per value, of one function and service.
inline profile::Batch TestBatch(const std::string& service, const std::string& function,
                                std::int64_t value, int samples = 1) {
  profile::Batch batch;
  const auto text = [&](std::string_view t) { return batch.AddText(t); };
  batch.own_attributes.push_back(
      {text("service.name"),
       0,
       {.kind = profile::Value::Kind::kString, .text = text(service), .number = 0}});
  batch.resources.push_back({.attributes = {0, 1}});
  batch.scopes.push_back({.name = text("test")});
  batch.functions.push_back({.name = text(function)});
  batch.lines.push_back({.function = 1, .line = 7});
  batch.frames.push_back({.lines = {0, 1}});
  batch.stack_frames.push_back(1);
  batch.stacks.push_back({0, 1});
  profile::Profile p;
  p.resource = 1;
  p.scope = 1;
  p.sample_type = {text("cpu"), text("nanoseconds")};
  p.time_ns = static_cast<std::uint64_t>(NowUnixNs());
  p.duration_ns = kNsPerSecond;
  p.sample_count = static_cast<std::uint32_t>(samples);
  batch.profiles.push_back(p);
  for (int i = 0; i < samples; ++i) batch.samples.Append(1, {}, 0, value, {}, {});
  return batch;
}

inline profile::WriteRequest TestRequest(int number, int samples = 1,
                                         const std::string& tenant = {}) {
  profile::WriteRequest request;
  request.data = TestBatch("shop", "f" + std::to_string(number), number + 1, samples);
  request.identity = HashString("request " + std::to_string(number) + tenant);
  request.arrival_ns = NowUnixNs();
  request.tenant_name = tenant;
  return request;
}

}  // namespace wherefore::gateway
