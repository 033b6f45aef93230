// A store of its own for a test, and spans to put into it.
#pragma once

#include <cstring>
#include <map>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/text.h"
#include "profile/span_batch.h"
#include "store/store.h"
#include "store/test_batch.h"
#include "store/test_directory.h"

namespace wherefore::store {

using Totals = std::map<std::string, std::int64_t>;
inline constexpr const char* kTrace = "0102030405060708090a0b0c0d0e0f10";
inline constexpr const char* kSpan = "1112131415161718";

class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    WHEREFORE_SKIP_WITHOUT_ENGINE();
    Open();
  }
  void Open() {
    store_.reset();
    options_.directory = directory_ / "data";
    auto opened = Store::Open(options_);
    ASSERT_TRUE(opened) << opened.error().message();
    store_ = std::move(*opened);
  }
  profile::WriteAnswer Write(profile::WriteRequest request) {
    auto answer = WriteNow(*store_, std::move(request));
    EXPECT_TRUE(answer) << answer.error().message();
    return answer ? *answer : profile::WriteAnswer{};
  }
  void Flush() {
    const auto flushed = store_->Flush();
    ASSERT_TRUE(flushed) << flushed.error().message();
  }
  SampleQuery Everything(const std::string& service = "shop") {
    SampleQuery query{.tenant = 0, .range = {0, INT64_MAX}, .selections = {}};
    const auto services = store_->reader().Services(0, query.range, {});
    EXPECT_TRUE(services);
    for (const ServiceRow& row : *services) {
      if (row.name == service) query.selections.push_back({row.dictionary, {}, {}});
    }
    return query;
  }

  TestDirectory directory_;
  StoreOptions options_;
  std::unique_ptr<Store> store_;
  const std::int64_t now_ = NowUnixNs();
};

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
