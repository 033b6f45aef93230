#include "gateway/graph/fan_out.h"

#include <optional>

#include "base/clock.h"
#include "base/mutex.h"

namespace wherefore::gateway {
namespace {

using profile::WriteAnswer;
using profile::WriteRequest;

// Collects the ends' answers and gives one.
class Join {
 public:
  using Done = std::function<void(Result<WriteAnswer>)>;
  Join(std::size_t ends, Done done) : waiting_(ends), done_(std::move(done)) {}

  void Add(Result<WriteAnswer> result, bool required) {
    std::optional<Result<WriteAnswer>> all;
    {
      MutexLock lock(mutex_);
      Take(std::move(result), required);
      if (--waiting_ == 0) all = Answer();
    }
    if (all) done_(*std::move(all));
  }

 private:
  void Take(Result<WriteAnswer> result, bool required) REQUIRES(mutex_) {
    if (!result) {
      if (required && !failure_) failure_ = result.error();
      if (!required && !optional_failure_) optional_failure_ = result.error();
      return;
    }
    if (!answer_) {
      answer_ = *std::move(result);
      return;
    }
    // It is a repeat only if all say so; whoever rejected most explains it.
    const bool repeated = answer_->repeated && result->repeated;
    if (result->rejected > answer_->rejected || answer_->message.empty()) {
      answer_ = *std::move(result);
    }
    answer_->repeated = repeated;
  }

  Result<WriteAnswer> Answer() REQUIRES(mutex_) {
    if (failure_) return *std::move(failure_);
    if (answer_) return *std::move(answer_);
    return *std::move(optional_failure_);
  }

  Mutex mutex_;
  std::size_t waiting_ GUARDED_BY(mutex_);
  std::optional<WriteAnswer> answer_ GUARDED_BY(mutex_);
  std::optional<Error> failure_ GUARDED_BY(mutex_);
  std::optional<Error> optional_failure_ GUARDED_BY(mutex_);
  const Done done_;
};

void Note(Losses& losses, std::size_t items) {
  losses.items->Add(items);
  losses.count.fetch_add(items, std::memory_order_relaxed);
  losses.last_ns.store(MonotonicNs(), std::memory_order_relaxed);
}

}  // namespace

std::size_t ItemsOf(const WriteRequest& request) {
  if (const auto* spans = std::get_if<profile::SpanBatch>(&request.data)) {
    return spans->spans.size();
  }
  return std::get<profile::Batch>(request.data).samples.size();
}

void FanOut::Write(WriteRequest request, std::function<void(Result<WriteAnswer>)> done) {
  if (ends_.size() == 1) return ends_[0].sink->Write(std::move(request), std::move(done));
  const auto join = std::make_shared<Join>(ends_.size(), std::move(done));
  const std::size_t items = ItemsOf(request);
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    const End& end = ends_[i];
    const bool last = i + 1 == ends_.size();
    end.sink->Write(
        last ? std::move(request) : request.Clone(),
        [join, items, required = end.required, losses = end.losses](Result<WriteAnswer> result) {
          if (!result && losses) Note(*losses, items);
          join->Add(std::move(result), required);
        });
  }
}

}  // namespace wherefore::gateway
