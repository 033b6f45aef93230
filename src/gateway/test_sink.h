// A sink for tests: records requests and gives prescribed answers. Any thread.
#pragma once

#include <deque>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "profile/sink.h"

namespace wherefore::gateway {

class FakeSink final : public profile::Sink {
 public:
  void Write(profile::WriteRequest request,
             std::function<void(Result<profile::WriteAnswer>)> done) override {
    Result<profile::WriteAnswer> answer = request.decoded;
    {
      MutexLock lock(mutex_);
      if (request.counters) {
        (void)bases_.Convert(std::get<profile::Batch>(request.data), request.tenant,
                             *request.counters);
      }
      requests_.push_back(std::move(request));
      if (!answers_.empty()) {
        answer = std::move(answers_.front());
        answers_.pop_front();
      }
    }
    done(std::move(answer));
  }
  void AnswerNext(Result<profile::WriteAnswer> answer) {
    MutexLock lock(mutex_);
    answers_.push_back(std::move(answer));
  }
  std::vector<profile::WriteRequest> Take() {
    MutexLock lock(mutex_);
    return std::exchange(requests_, {});
  }

 private:
  Mutex mutex_;
  std::vector<profile::WriteRequest> requests_ GUARDED_BY(mutex_);
  std::deque<Result<profile::WriteAnswer>> answers_ GUARDED_BY(mutex_);
  profile::CounterMemory bases_ GUARDED_BY(mutex_);
};

}  // namespace wherefore::gateway
