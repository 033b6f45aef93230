#include "net/worker_pool.h"

#include <exception>

#include <fmt/format.h>

#include "base/log.h"

namespace wherefore::net {
namespace {

struct KindFacts {
  std::string_view name;
  std::string_view plural;
  int threads;
  std::size_t max_queued;
};

// Fewer heavy queries at a time than the engine has connections (EmbeddedOptions), so that one is
// left for a quick one.
constexpr std::array<KindFacts, kWorkKinds> kKinds = {{
    {.name = "quick", .plural = "small queries", .threads = 3, .max_queued = 256},
    {.name = "heavy", .plural = "large queries", .threads = 3, .max_queued = 128},
    {.name = "file", .plural = "files to open", .threads = 2, .max_queued = 32},
    {.name = "upkeep", .plural = "deletes, backups or flushes", .threads = 3, .max_queued = 64},
    {.name = "body", .plural = "large bodies", .threads = 2, .max_queued = 256},
}};

}  // namespace

WorkerPool::WorkerPool(int threads, std::size_t max_queued, std::string_view name)
    : max_queued_(max_queued) {
  if (!name.empty()) {
    const MetricLabels labels = {{"kind", std::string(name)}};
    waiting_ = &Metrics::Global().GetGauge("wherefore_workers_waiting",
                                           "Tasks waiting for a worker, by kind.", labels);
    refused_ = &Metrics::Global().GetCounter(
        "wherefore_workers_refused_total",
        "Tasks refused because the queue of their kind was full.", labels);
  }
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
    if (stopping_ || queue_.size() >= max_queued_) {
      if (refused_ != nullptr) refused_->Add();
      return false;
    }
    queue_.push_back(std::move(work));
    if (waiting_ != nullptr) waiting_->Set(static_cast<std::int64_t>(queue_.size()));
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
      if (waiting_ != nullptr) waiting_->Set(static_cast<std::int64_t>(queue_.size()));
    }
    // An exception from a library costs one request, never the process. Its owner answers (a
    // Respond destroyed without an answer becomes 500).
    running_.fetch_add(1, std::memory_order_relaxed);
    try {
      work();
    } catch (const std::exception& e) {
      Log(LogLevel::kError, "a worker's task failed", {{"error", e.what()}});
    }
    running_.fetch_sub(1, std::memory_order_relaxed);
  }
}

Workers::Workers() {
  for (std::size_t i = 0; i < kWorkKinds; ++i) {
    const KindFacts& kind = kKinds[i];
    pools_[i] = std::make_unique<WorkerPool>(kind.threads, kind.max_queued, kind.name);
  }
}

Workers::Workers(int threads, std::size_t max_queued) {
  for (auto& pool : pools_) pool = std::make_unique<WorkerPool>(threads, max_queued);
}

Error TooBusy(WorkKind kind) {
  return {Code::kUnavailable, fmt::format("too many {} are waiting; try again",
                                          kKinds[static_cast<std::size_t>(kind)].plural)};
}

}  // namespace wherefore::net
