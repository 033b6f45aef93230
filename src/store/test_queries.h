// Where tests of queries keep their data: in the real store, or in memory where its engine cannot
// be loaded (beside a sanitizer). The same test asks both the same.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/test_directory.h"
#include "store/memory/memory_store.h"
#include "store/store.h"
#include "store/test_batch.h"

namespace wherefore::store {

enum class Kept : std::uint8_t { kInEngine, kInMemory };

inline std::vector<Kept> WhereverItCan() {
  if (!kEngineLoads) return {Kept::kInMemory};
  return {Kept::kInEngine, Kept::kInMemory};
}

// Data kept in one of both ways.
class TestData {
 public:
  explicit TestData(Kept kept, bool keep_payload = false) {
    if (kept == Kept::kInMemory) {
      memory_ = std::make_unique<memory::MemoryStore>(EncodeOptions{.keep_payload = keep_payload});
      return;
    }
    auto opened = Store::Open({.directory = directory_ / "data",
                               .keep_payload = keep_payload,
                               .roll_waits = {.after_ns = 0, .again_ns = 0, .every_ns = 0}});
    EXPECT_TRUE(opened) << opened.error().message();
    if (opened) store_ = *std::move(opened);
  }
  [[nodiscard]] bool is_open() const { return memory_ != nullptr || store_ != nullptr; }
  [[nodiscard]] profile::Sink& sink() {
    return memory_ ? static_cast<profile::Sink&>(*memory_) : *store_;
  }
  [[nodiscard]] Reader& reader() { return memory_ ? memory_->reader() : store_->reader(); }
  profile::WriteAnswer Write(profile::WriteRequest request) {
    auto answer = WriteNow(sink(), std::move(request));
    EXPECT_TRUE(answer) << answer.error().message();
    return answer ? *answer : profile::WriteAnswer{};
  }
  Result<> WriteAlertEvents(std::span<const AlertEvent> events) {
    return memory_ ? memory_->WriteAlertEvents(events) : store_->WriteAlertEvents(events);
  }
  Result<> WriteRegressionEvents(std::span<const RegressionEvent> events) {
    return memory_ ? memory_->WriteRegressionEvents(events) : store_->WriteRegressionEvents(events);
  }
  // Sums of all hours that are over.
  void RollHours() {
    const auto rolled = memory_ ? memory_->RollHours(NowUnixNs()) : store_->RollHours();
    EXPECT_TRUE(rolled) << rolled.error().message();
    Flush();
  }
  // Everything that was written is visible.
  void Flush() {
    if (!store_) return;
    const auto flushed = store_->Flush();
    EXPECT_TRUE(flushed) << flushed.error().message();
  }

 private:
  TestDirectory directory_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<memory::MemoryStore> memory_;
};

class QueryTest : public testing::TestWithParam<Kept> {
 protected:
  void SetUp() override { ASSERT_TRUE(data_.is_open()); }
  profile::WriteAnswer Write(profile::WriteRequest request) {
    return data_.Write(std::move(request));
  }
  void Flush() { data_.Flush(); }
  Reader& reader() { return data_.reader(); }

  TestData data_{GetParam()};
  const std::int64_t now_ = NowUnixNs();
};

inline std::string KeptName(const testing::TestParamInfo<Kept>& test) {
  return test.param == Kept::kInEngine ? "engine" : "memory";
}

// Runs the tests of a suite that is derived from QueryTest.
#define WHEREFORE_ASK_WHEREVER_IT_CAN(suite)                                                    \
  INSTANTIATE_TEST_SUITE_P(Kept, suite, testing::ValuesIn(::wherefore::store::WhereverItCan()), \
                           ::wherefore::store::KeptName)

}  // namespace wherefore::store
