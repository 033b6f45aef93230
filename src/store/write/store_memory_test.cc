// A store without memory: what it cannot take is refused, and what it has stays right.
#include <fmt/format.h>

#include "base/memory_budget.h"
#include "base/memory_limit.h"
#include "store/engine/transport.h"
#include "store/test_batch.h"
#include "store/test_store.h"

namespace wherefore::store {
namespace {

class StoreMemory : public StoreTest {
 protected:
  void TearDown() override { MemoryBudget::Process().SetLimit(SIZE_MAX); }

  // Stacks of a number, all different; one more that every request has.
  profile::WriteRequest Stacks(int request, int count) const {
    std::vector<BatchBuilder::Sample> samples = {{{"common", "main"}, 1}};
    for (int i = 0; i < count; ++i)
      samples.push_back({{fmt::format("leaf{}", i), fmt::format("request{}", request), "main"}, 1});
    return BatchBuilder().Add({.time_ns = now_}, samples).Request(std::to_string(request));
  }
  static void Expect(Totals& totals, int request, int count) {
    ++totals["main;common"];
    for (int i = 0; i < count; ++i) totals[fmt::format("main;request{};leaf{}", request, i)] = 1;
  }
};

TEST_F(StoreMemory, WhatItHasNoMemoryForIsRefusedAndTheRestIsRight) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer has an operator new of its own";
#endif
  constexpr int kMany = 100'000;
  Totals expected;
  int refused = 0;
  // With a little more room it gets a little further.
  for (int room = 1; room <= 64; room += room / 4 + 1) {
    profile::WriteRequest large = Stacks(room, kMany);
    MemoryBudget::Process().SetLimit(ReadMemoryUse().anonymous + (24u << 20) +
                                     (static_cast<std::size_t>(room) << 20));
    const auto answer = WriteNow(*store_, std::move(large));
    MemoryBudget::Process().SetLimit(SIZE_MAX);
    if (answer) {
      Expect(expected, room, kMany);
    } else {
      EXPECT_EQ(answer.error().code(), Code::kUnavailable) << answer.error().message();
      ++refused;
    }
    Write(Stacks(1000 + room, 10));
    Expect(expected, 1000 + room, 10);
  }
  EXPECT_GT(refused, 3);
  if (!expected.contains("main;request1;leaf0")) {
    EXPECT_FALSE(Write(Stacks(1, kMany)).repeated) << "what was refused is not known";
    Expect(expected, 1, kMany);
  }
  Flush();
  EXPECT_EQ(StackTotals(*store_, "shop"), expected);
}

TEST_F(StoreMemory, NamesThatAreAllInUseBeginAnewAboveTheirLimit) {
  options_.dictionary_bytes = 1u << 20;
  Open();
  Totals expected;
  for (int i = 0; i < 8; ++i) {
    Write(Stacks(i, 5000));
    Expect(expected, i, 5000);
  }
  Flush();
  EXPECT_EQ(StackTotals(*store_, "shop"), expected);
  EXPECT_GT(Everything().selections.size(), 1u) << "several writers' names";
}

// Whose fault it is decides what people are told: narrow the question, or ask again.
TEST(EngineMemory, TheProcessWithoutMemoryIsNeitherDamageNorTheQuestionsFault) {
  constexpr std::string_view kPart = ": (while reading from part 20261116_1_1_0)";
  for (const char* problem :
       {"Code: 241. DB::Exception: (total) memory limit exceeded: would use 1.00 GiB",
        "Code: 173. DB::Exception: Allocator: Cannot mmap 64.00 MiB.",
        "Code: 1001. DB::Exception: std::exception. type: std::bad_alloc",
        "Code: 439. DB::Exception: Cannot schedule a task: failed to start the thread"}) {
    const std::string message = std::string(problem) + std::string(kPart);
    EXPECT_EQ(EngineError(message).code(), Code::kUnavailable) << message;
    EXPECT_FALSE(MayBeDamage(message)) << message;
    EXPECT_FALSE(IsOverQueryMemory(message)) << message;
  }
  const std::string own = "Code: 241. DB::Exception: Query memory limit exceeded: would use 1 GiB";
  EXPECT_EQ(EngineError(own).code(), Code::kLimit);
  EXPECT_TRUE(IsOverQueryMemory(own));
  EXPECT_TRUE(MayBeDamage("Code: 117. DB::Exception: Unexpected data" + std::string(kPart)));
}

}  // namespace
}  // namespace wherefore::store
