// Threads for work that blocks or takes long, with bounded queues: one set of threads and one queue
// for each kind of work.
//
// Threads: any may submit.
// Always:  a kind that is full or slow does not delay any other kind.
// Failure: a full queue refuses work, and the caller answers with an error. An exception from a
//          task is logged and costs that task alone.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "base/metrics.h"
#include "base/mutex.h"
#include "base/result.h"

namespace wherefore::net {

class WorkerPool {
 public:
  // With a name, its queue appears in the metrics.
  WorkerPool(int threads, std::size_t max_queued, std::string_view name = {});
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  ~WorkerPool();  // finishes queued work, then joins

  // False if the queue is full: the caller answers.
  [[nodiscard]] bool Submit(std::function<void()> work);
  // Whether some of it runs now.
  [[nodiscard]] bool IsBusy() const { return running_.load(std::memory_order_relaxed) > 0; }

 private:
  void Run();

  const std::size_t max_queued_;
  std::atomic<int> running_{0};
  Gauge* waiting_ = nullptr;
  Counter* refused_ = nullptr;
  Mutex mutex_;
  CondVar changed_;
  std::deque<std::function<void()>> queue_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

enum class WorkKind : std::uint8_t {
  kQuick,   // queries about names and the server: services, labels, status
  kHeavy,   // queries that add up samples or read spans
  kFile,    // profile files people open
  kUpkeep,  // deletes, backups, repairs, flushes
  kBody,    // large bodies to decompress and decode
};
inline constexpr std::size_t kWorkKinds = 5;

// All workers of a server.
class Workers {
 public:
  Workers();
  // The same number of threads and queue slots for each kind.
  Workers(int threads, std::size_t max_queued);

  [[nodiscard]] WorkerPool& of(WorkKind kind) { return *pools_[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] bool Submit(WorkKind kind, std::function<void()> work) {
    return of(kind).Submit(std::move(work));
  }

 private:
  // Destroyed in reverse order: bodies first, because their handlers submit queries.
  std::array<std::unique_ptr<WorkerPool>, kWorkKinds> pools_;
};

// The error for work that Submit refused: kUnavailable.
[[nodiscard]] Error TooBusy(WorkKind kind);

}  // namespace wherefore::net
