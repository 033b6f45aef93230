// A fixed set of threads for work that blocks (queries), fed by a bounded queue.
#pragma once

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace wherefore::net {

class WorkerPool {
 public:
  WorkerPool(int threads, std::size_t max_queued);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  ~WorkerPool();  // finishes what is queued, then joins

  // False when the queue is full: the caller answers 429.
  [[nodiscard]] bool Submit(std::function<void()> work);

 private:
  void Run();

  const std::size_t max_queued_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<std::function<void()>> queue_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace wherefore::net
