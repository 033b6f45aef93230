// ThreadCensus: whether a list of this process's threads may be out of date, without making it
// again.
//
// Listing /proc/self/task costs about a microsecond for every thread, counting them costs one
// system call. Threads started through pthread_create tell the registry; of others only their
// number is known, so that one that ended while another began is found at the latest by the call
// after kCallsBetween of them. Belongs to whoever has the list; ordinary context.
#pragma once

#include <cstdint>

#include "sdk/platform/task_list.h"
#include "sdk/sample/thread_registry.h"

namespace wherefore::sdk {

class ThreadCensus {
 public:
  // True: make the list anew. To be called about once a second.
  [[nodiscard]] bool OutOfDate(const ThreadRegistry& registry) {
    const std::int64_t count = CountThreads().value_or(kNotKnown);
    const std::uint64_t changes = registry.changes();
    const bool same = count != kNotKnown && count == count_ && changes == changes_;
    if (++calls_ < kCallsBetween && same) return false;
    calls_ = 0;
    count_ = count;
    changes_ = changes;
    return true;
  }
  // The next call says so, whatever it finds.
  void Distrust() { count_ = kNotKnown; }

 private:
  static constexpr int kCallsBetween = 10;
  static constexpr std::int64_t kNotKnown = -1;

  std::int64_t count_ = kNotKnown;
  std::uint64_t changes_ = 0;
  int calls_ = 0;
};

}  // namespace wherefore::sdk
