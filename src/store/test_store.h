// A store of its own for a test.
#pragma once

#include <map>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/test_directory.h"
#include "store/store.h"
#include "store/test_batch.h"
#include "store/test_spans.h"

namespace wherefore::store {

using Totals = std::map<std::string, std::int64_t>;

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

}  // namespace wherefore::store
