// Limits the memory of answers their clients have not read yet: over all connections, here and in
// the process's memory budget.
//
// Threads: any. Always: at most `most` bytes of large answers, or a single larger one; at most
// twice that including small ones. Failure: Hold() returns null, and the answer becomes 503.
#pragma once

#include <cstddef>
#include <memory>

#include "base/metrics.h"
#include "base/mutex.h"
#include "base/result.h"

namespace wherefore::net {

class UnreadAnswers : public std::enable_shared_from_this<UnreadAnswers> {
 public:
  // Answers up to this size are still accepted when large ones are refused.
  static constexpr std::size_t kSmall = 64u << 10;

  explicit UnreadAnswers(std::size_t most);
  UnreadAnswers(const UnreadAnswers&) = delete;
  UnreadAnswers& operator=(const UnreadAnswers&) = delete;

  // Counts an answer for as long as the returned object lives. Null: too much is waiting.
  [[nodiscard]] std::shared_ptr<const void> Hold(std::size_t bytes);
  // The error for a refused answer: kUnavailable.
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
