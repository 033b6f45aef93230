// Answers that were made and not yet taken by who asked: how much they hold, all connections
// together, there and in the process's budget of memory.
//
// Threads: any. Always: at most `most` bytes of large answers, or one that is larger; at most twice
//          that with small ones. Failure: Hold gives nothing, and the answer becomes 503.
#pragma once

#include <cstddef>
#include <memory>

#include "base/metrics.h"
#include "base/mutex.h"
#include "base/result.h"

namespace wherefore::net {

class UnreadAnswers : public std::enable_shared_from_this<UnreadAnswers> {
 public:
  // Answers up to this size are given where a large one is refused.
  static constexpr std::size_t kSmall = 64u << 10;

  explicit UnreadAnswers(std::size_t most);
  UnreadAnswers(const UnreadAnswers&) = delete;
  UnreadAnswers& operator=(const UnreadAnswers&) = delete;

  // Counts an answer that is there already for as long as what it returns lives. Null: too much
  // waits.
  [[nodiscard]] std::shared_ptr<const void> Hold(std::size_t bytes);
  // What to say of one that is not given: kUnavailable.
  [[nodiscard]] static Error TooMany();
  [[nodiscard]] std::size_t held();

 private:
  class Held;
  [[nodiscard]] bool Take(std::size_t bytes);
  void Give(std::size_t bytes);

  const std::size_t most_;
  Gauge& gauge_;
  Counter& refused_;
  Mutex mutex_;
  std::size_t held_ GUARDED_BY(mutex_) = 0;
};

}  // namespace wherefore::net
