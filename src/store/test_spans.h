// Spans to put into the store of a test.
#pragma once

#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "base/text.h"
#include "profile/sink.h"
#include "profile/span_batch.h"

namespace wherefore::store {

inline constexpr const char* kTrace = "0102030405060708090a0b0c0d0e0f10";
inline constexpr const char* kSpan = "1112131415161718";

// Two spans of one trace.
inline profile::WriteRequest SpanRequest(std::int64_t time_ns) {
  profile::SpanBatch batch;
  const auto text = [&](std::string_view t) { return batch.AddText(t); };
  batch.own_attributes.push_back(
      {text("service.name"), 0, {profile::Value::Kind::kString, text("shop"), 0}});
  batch.resources.push_back({{0, 1}, 0, 0, 0});
  batch.own_attributes.push_back(
      {text("http.route"), 0, {profile::Value::Kind::kString, text("/pay"), 0}});
  batch.own_attributes.push_back({text("http.status"), 0, {profile::Value::Kind::kInt, 0, 200}});
  batch.events.push_back({static_cast<std::uint64_t>(time_ns) + 1, text("retry"), {2, 1}, 0});
  for (std::uint8_t i = 1; i <= 2; ++i) {
    profile::Span span;
    span.resource = 1;
    std::memcpy(span.trace.data(), FromHex(kTrace)->data(), 16);
    span.id[0] = i;
    if (i == 2) span.parent[0] = 1;
    span.name = text(i == 1 ? "POST /pay" : "SELECT");
    span.kind = 2;
    span.status_code = i == 2 ? 2 : 0;
    span.start_ns = static_cast<std::uint64_t>(time_ns) + i;
    span.end_ns = span.start_ns + std::uint64_t{1000} * i;
    span.attributes = {1, 2};
    span.events = {0, 1};
    batch.spans.push_back(span);
  }
  EXPECT_TRUE(batch.Validate());
  profile::WriteRequest request;
  request.data = std::move(batch);
  request.identity = HashString("spans");
  return request;
}

}  // namespace wherefore::store
