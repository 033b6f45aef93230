#include "net/unread_answers.h"

#include "base/memory_budget.h"

namespace wherefore::net {

class UnreadAnswers::Held {
 public:
  Held(std::shared_ptr<UnreadAnswers> of, std::size_t bytes) : of_(std::move(of)), bytes_(bytes) {
    memory_.Set(bytes);  // it exists already, whether there is room or not
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() { of_->Give(bytes_); }

 private:
  const std::shared_ptr<UnreadAnswers> of_;
  const std::size_t bytes_;
  MemoryHold memory_;
};

UnreadAnswers::UnreadAnswers(std::size_t most)
    : most_(most),
      gauge_(Metrics::Global().GetGauge("wherefore_unread_answers_bytes",
                                        "Bytes of answers their clients have not read yet.")),
      refused_(Metrics::Global().GetCounter(
          "wherefore_unread_answers_refused_total",
          "Answers refused because too many others were waiting to be read.")) {}

std::shared_ptr<const void> UnreadAnswers::Hold(std::size_t bytes) {
  if (!Take(bytes)) {
    refused_.Add();
    return nullptr;
  }
  return std::make_shared<const Held>(shared_from_this(), bytes);
}

bool UnreadAnswers::Take(std::size_t bytes) {
  MutexLock lock(mutex_);
  const std::size_t most = bytes <= kSmall ? 2 * most_ : most_;
  // An answer above the limit is accepted if few others are waiting.
  if (held_ + bytes > most && held_ > most_ / 4) return false;
  held_ += bytes;
  gauge_.Add(static_cast<std::int64_t>(bytes));
  return true;
}

void UnreadAnswers::Give(std::size_t bytes) {
  MutexLock lock(mutex_);
  held_ -= bytes;
  gauge_.Add(-static_cast<std::int64_t>(bytes));
}

std::size_t UnreadAnswers::held() {
  MutexLock lock(mutex_);
  return held_;
}

Error UnreadAnswers::TooMany() {
  return {Code::kUnavailable,
          "too many answers are waiting to be read by their clients; try again"};
}

}  // namespace wherefore::net
