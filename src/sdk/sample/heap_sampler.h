// HeapSampler: decides which allocations are sampled and what each stands for.
//
// A thread counts its bytes down to the next sample (thread_state.h); the steps are exponentially
// distributed with mean R = Shared::heap_period, so every byte has the same chance and an
// allocation of S bytes is sampled with probability 1 - e^(-S/R). Its weight is the inverse: sums
// are unbiased. Called by heap_hooks.cc in the thread that allocates; ordinary context.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sdk/platform/thread_state.h"
#include "sdk/sample/heap_table.h"

namespace wherefore::sdk {

// True when the countdown has run out: then OnAllocated is to be called with the result.
[[nodiscard]] inline bool CountDown(std::size_t size) {
  return (t_state.heap_countdown -= static_cast<std::int64_t>(size)) <= 0;
}

// The slow path of an allocation, after it was made. `pointer` may be null (it failed).
void OnAllocated(void* pointer, std::size_t size);

// At the end of a thread: counts the samples that found no room and that no later sample of this
// thread can make up for.
void CountLostAllocations();

// While one of these lives nothing counts: allocators call their own exported functions, and ours
// stand in front of those too (jemalloc's aligned operator new calls aligned_alloc).
class NotCounting {
 public:
  NotCounting() { t_state.heap_countdown = kNever; }
  ~NotCounting() { t_state.heap_countdown = left_; }
  NotCounting(const NotCounting&) = delete;
  NotCounting& operator=(const NotCounting&) = delete;

  [[nodiscard]] static bool IsOn() { return t_state.heap_countdown > kNever / 2; }

 private:
  static constexpr std::int64_t kNever = std::int64_t{1} << 62;
  const std::int64_t left_ = t_state.heap_countdown;
};

// Before memory that the table may hold is freed or moved.
inline HeapTable::Removed OnFree(void* pointer) {
  return g_heap_table.Remove(pointer);
}

}  // namespace wherefore::sdk
