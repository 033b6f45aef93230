// What a look at a waiting thread costs: one that did not run since the last look, one that came
// back to where it was, and one that waits elsewhere.
#include <semaphore.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include <benchmark/benchmark.h>

#include "sdk/platform/stack_bounds.h"
#include "sdk/platform/thread_state.h"
#include "sdk/sample/shared.h"
#include "sdk/sample/thread_registry.h"
#include "sdk/sample/waiting_threads.h"
#include "sdk/unwind/module_map.h"

namespace wherefore::sdk {
namespace {

// Some frames, as a worker of a server has them.
[[gnu::noinline]] int Deep(int depth, sem_t* semaphore) {
  char room[200];
  asm volatile("" : : "r"(room) : "memory");
  if (depth == 0) return sem_wait(semaphore);
  const int got = Deep(depth - 1, semaphore);
  asm volatile("" : : "r"(room) : "memory");
  return got;
}

class Scene {
 public:
  Scene() {
    g_shared.code_maps = &map_.slots();
    if (!g_shared.queue.Open(2048, 256)) std::abort();
    waiting_.ReadTables();
    sem_init(&go_, 0, 0);
    worker_ = std::thread([this] {
      const StackBounds bounds = ThisThreadStack();
      registry_.EnterThisThread(bounds.low, bounds.high);
      tid_ = CurrentTid();
      for (int i = 0; !stop_; ++i) Deep(elsewhere_ ? 10 + (i % 20) : 20, &go_);
    });
    while (tid_ == 0) std::this_thread::yield();
  }
  ~Scene() {
    stop_ = true;
    Run();
    worker_.join();
    registry_.LeaveThisThread();
  }
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  void MoveEachTime() { elsewhere_ = true; }
  void Run() { sem_post(&go_); }
  [[nodiscard]] bool Look() { return waiting_.Look(tid_, 1, 1) == WaitingThreads::Found::kWaits; }
  void Empty() {
    while (g_shared.queue.Front() != nullptr) g_shared.queue.Pop();
  }

 private:
  ThreadRegistry registry_;
  ModuleMap map_;
  WaitingThreads waiting_{registry_, map_};
  sem_t go_{};
  std::atomic<std::uint32_t> tid_{0};
  std::atomic<bool> stop_{false};
  std::atomic<bool> elsewhere_{false};
  std::thread worker_;
};

void BM_LookAtAThreadThatDidNotRun(benchmark::State& state) {
  Scene scene;
  while (!scene.Look()) {
  }
  for (auto _ : state) benchmark::DoNotOptimize(scene.Look());
}
BENCHMARK(BM_LookAtAThreadThatDidNotRun);

void LookAfterRuns(benchmark::State& state, Scene& scene) {
  for (auto _ : state) {
    state.PauseTiming();
    scene.Run();
    usleep(200);
    scene.Empty();
    state.ResumeTiming();
    benchmark::DoNotOptimize(scene.Look());
  }
}

void BM_LookAtAThreadThatCameBack(benchmark::State& state) {
  Scene scene;
  LookAfterRuns(state, scene);
}
BENCHMARK(BM_LookAtAThreadThatCameBack)->Iterations(3000);

void BM_LookAtAThreadThatWaitsElsewhere(benchmark::State& state) {
  Scene scene;
  scene.MoveEachTime();
  LookAfterRuns(state, scene);
}
BENCHMARK(BM_LookAtAThreadThatWaitsElsewhere)->Iterations(3000);

}  // namespace
}  // namespace wherefore::sdk
