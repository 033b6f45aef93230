// Event: one observation on its way from where it was made to the collector.
//
// Written in place in a slot of the queue (event_queue.h), by signal handlers and by hooked calls
// of the host program, so it is plain memory: no constructors, no pointers to anything that could
// go.
#pragma once

#include <cstdint>

namespace wherefore::sdk {

// What was observed. One kind can feed several profile types: see aggregate.cc.
enum class EventKind : std::uint8_t {
  kCpu,      // value: CPU nanoseconds this sample stands for
  kBlocked,  // value: nanoseconds a thread was seen waiting, in `looks` looks, count: waits that
             // began, detail: system call number
  kAlloc,  // value: bytes it stands for, count: objects, detail: slot of the live table, id: its id
  kHolder,  // value: nanoseconds others waited for a lock this thread held, count: waits
  kWaiter,  // the same for the one who waited; detail: WaitKind
  kThread   // value: 1, one thread of a thread dump; depth 0: it was running
};

enum class WaitKind : std::uint8_t { kMutex, kRwLock, kCondition, kSemaphore, kIo };

// How the stack below ended (unwind.h), as the collector needs it.
enum class StackEnd : std::uint8_t { kComplete, kTruncated, kBroken };

constexpr int kEventLabelBytes = 228;  // all a thread's record can hold (context.h)

struct Event {
  EventKind kind;
  StackEnd end;
  std::uint16_t depth;
  std::uint16_t label_bytes;
  std::uint8_t has_span;
  std::uint32_t tid;
  std::uint32_t looks;       // kBlocked: how often the thread was seen there
  std::uint32_t early;       // of EarlyStacks: the stack is still to be followed; 0: it is here
  std::uint64_t generation;  // of the code map the stack was taken under; 0: none
  std::uint64_t detail;
  std::uint64_t id;
  std::int64_t value;
  double count;
  double distance;  // kAlloc: bytes between samples, on average, when this one was taken
  std::uint8_t trace[16];
  std::uint8_t span[8];
  std::uint8_t labels[kEventLabelBytes];  // as in the thread context's attrs-data
  std::uint64_t* pcs;                     // leaf first, `depth` of them; points behind the event
};

}  // namespace wherefore::sdk
