// Threads for work that blocks or takes long, fed by bounded queues: one set of threads and one
// queue for each kind of work.
//
// Threads: any may submit. Always: a kind that is full or slow keeps no other kind waiting.
// Failure: a full queue takes nothing more, and whoever submits says so; what a task throws is
//          logged and costs that task alone.
#pragma once

#include <array>
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
  // With a name its queue is among the metrics.
  WorkerPool(int threads, std::size_t max_queued, std::string_view name = {});
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  ~WorkerPool();  // finishes what is queued, then joins

  // False when the queue is full: the caller answers.
  [[nodiscard]] bool Submit(std::function<void()> work);

 private:
  void Run();

  const std::size_t max_queued_;
  Gauge* waiting_ = nullptr;
  Counter* refused_ = nullptr;
  Mutex mutex_;
  CondVar changed_;
  std::deque<std::function<void()>> queue_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

enum class WorkKind : std::uint8_t {
  kQuick,   // questions about names and the server: services, labels, status
  kHeavy,   // questions that add up samples or read spans
  kFile,    // profiles people hand over to be looked at
  kUpkeep,  // deletes, backups, repairs, flushes
  kBody,    // large bodies to be unpacked and decoded
};
inline constexpr std::size_t kWorkKinds = 5;

// All workers of a server.
class Workers {
 public:
  Workers();
  // The same number of threads and places in the queue for each kind.
  Workers(int threads, std::size_t max_queued);

  [[nodiscard]] WorkerPool& of(WorkKind kind) { return *pools_[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] bool Submit(WorkKind kind, std::function<void()> work) {
    return of(kind).Submit(std::move(work));
  }

 private:
  // They end the last first: bodies, whose handlers submit questions.
  std::array<std::unique_ptr<WorkerPool>, kWorkKinds> pools_;
};

// What to say of work that Submit did not take: kUnavailable.
[[nodiscard]] Error TooBusy(WorkKind kind);

}  // namespace wherefore::net
