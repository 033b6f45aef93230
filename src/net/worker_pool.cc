#include "net/worker_pool.h"

#include <exception>

#include "base/log.h"

namespace wherefore::net {

WorkerPool::WorkerPool(int threads, std::size_t max_queued) : max_queued_(max_queued) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

WorkerPool::~WorkerPool() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  for (std::thread& thread : threads_) thread.join();
}

bool WorkerPool::Submit(std::function<void()> work) {
  {
    MutexLock lock(mutex_);
    if (stopping_ || queue_.size() >= max_queued_) return false;
    queue_.push_back(std::move(work));
  }
  changed_.NotifyOne();
  return true;
}

void WorkerPool::Run() {
  while (true) {
    std::function<void()> work;
    {
      MutexLock lock(mutex_);
      while (queue_.empty() && !stopping_) changed_.Wait(mutex_);
      if (queue_.empty()) return;
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    // A library's exception costs the one request, whose answer its owner then gives itself
    // (an unanswered Respond becomes 500), never the process.
    try {
      work();
    } catch (const std::exception& e) {
      Log(LogLevel::kError, "a worker's task failed", {{"error", e.what()}});
    }
  }
}

}  // namespace wherefore::net
