// What the unwinder's tests sample with: a timer per thread, a SIGPROF handler that unwinds, and
// the samples it took. Or a step at a time, so that no instruction is left out: some CPUs never
// let a timer interrupt certain ones, such as the jumps of a procedure linkage table.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "sdk/unwind/module_map.h"
#include "sdk/unwind/unwind.h"

namespace wherefore::sdk {

inline constexpr int kMaxDepth = 256;

struct Sample {
  std::uint64_t generation = 0;
  std::int64_t ns = 0;
  int depth = 0;
  UnwindEnd end = UnwindEnd::kComplete;
  std::uint64_t pcs[kMaxDepth] = {};
};

inline std::int64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

// The calling thread's stack, for reading from `low` up.
inline StackMemory OwnStack() {
  pthread_attr_t attributes;
  void* low = nullptr;
  std::size_t size = 0;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &low, &size);
  pthread_attr_destroy(&attributes);
  const auto start = reinterpret_cast<std::uint64_t>(low);
  return {.low = start, .high = start + size};
}

// One at a time.
class Sampler {
 public:
  explicit Sampler(ModuleMap& map, std::size_t capacity = 2000) : map_(map), samples_(capacity) {
    g_current = this;
    struct sigaction action{};
    action.sa_sigaction = Handle;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaction(SIGPROF, &action, &before_);
  }
  ~Sampler() {
    signal(SIGPROF, SIG_IGN);
    g_current = nullptr;
    sigaction(SIGPROF, &before_, nullptr);
  }
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  // Runs the work in a thread of its own until the buffer is full or 20 s have passed.
  void Run(const std::function<void(const std::atomic<bool>&)>& work) {
    std::atomic<bool> stop{false};
    std::thread thread([&] {
      const ThreadTimer timer(*this);
      work(stop);
    });
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (taken_ < samples_.size() && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    stop = true;
    thread.join();
  }

  // Runs the work in a thread of its own and samples at every instruction until the buffer is full.
  void Step(const std::function<void(const std::atomic<bool>&)>& work) {
    struct sigaction action{}, before{};
    action.sa_sigaction = HandleStep;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &action, &before);
    std::atomic<bool> stop{false};
    std::thread thread([&] {
      t_stack = OwnStack();
      raise(SIGTRAP);
      work(stop);
      t_stack = {};
    });
    while (taken_ < samples_.size()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    stop = true;
    thread.join();
    sigaction(SIGTRAP, &before, nullptr);
  }

  [[nodiscard]] std::span<const Sample> samples() const {
    return {samples_.data(), std::min<std::size_t>(taken_, samples_.size())};
  }
  void Clear() { taken_ = 0; }
  // Outside [low, high) of the thread's stack memory is asked from the kernel.
  void AllowOtherStacks() { pid_ = getpid(); }

  // The share of samples that ended so.
  [[nodiscard]] double Share(UnwindEnd end) const {
    std::size_t count = 0;
    for (const Sample& sample : samples()) count += sample.end == end ? 1 : 0;
    return static_cast<double>(count) / static_cast<double>(samples().size());
  }

  // The share of complete samples that have this function in their stack.
  [[nodiscard]] double ShareWith(const void* function) const {
    std::size_t count = 0;
    for (const Sample& sample : samples()) {
      count += sample.end == UnwindEnd::kComplete && Contains(sample, function) ? 1 : 0;
    }
    return static_cast<double>(count) / static_cast<double>(samples().size());
  }

  // The start of the function an address is in, in this process; 0 when not known.
  [[nodiscard]] std::uint64_t FunctionOf(const Sample& sample, std::uint64_t pc) const {
    const auto modules = map_.Modules(sample.generation);
    const Module* const module = modules ? modules->Find(pc) : nullptr;
    const auto range = module ? module->table->FindFunction(pc - module->bias) : std::nullopt;
    return range ? range->start + module->bias : 0;
  }

  [[nodiscard]] bool Contains(const Sample& sample, const void* function) const {
    for (int i = 0; i < sample.depth; ++i) {
      if (FunctionOf(sample, sample.pcs[i]) == reinterpret_cast<std::uint64_t>(function)) {
        return true;
      }
    }
    return false;
  }

  void Print(const char* name) const {
    std::int64_t ns = 0, frames = 0;
    for (const Sample& sample : samples()) {
      ns += sample.ns;
      frames += sample.depth;
    }
    const auto count = static_cast<double>(samples().size());
    printf("%-28s %5zu samples, %5.1f frames, %6.2f %% complete, %4.0f ns per frame\n", name,
           samples().size(), static_cast<double>(frames) / count, 100 * Share(UnwindEnd::kComplete),
           static_cast<double>(ns) / static_cast<double>(frames));
  }

  // Samples the thread that creates it, some thousand times a second.
  class ThreadTimer {
   public:
    explicit ThreadTimer(Sampler& sampler) {
      t_stack = OwnStack();
      t_stack.pid = sampler.pid_;
      sigevent event{};
      event.sigev_notify = SIGEV_THREAD_ID;
      event.sigev_signo = SIGPROF;
      event._sigev_un._tid = static_cast<int>(syscall(SYS_gettid));
      timer_create(CLOCK_MONOTONIC, &event, &timer_);
      const itimerspec every{{0, 211'000}, {0, 211'000}};
      timer_settime(timer_, 0, &every, nullptr);
    }
    ~ThreadTimer() {
      timer_delete(timer_);
      t_stack = {};
    }
    ThreadTimer(const ThreadTimer&) = delete;
    ThreadTimer& operator=(const ThreadTimer&) = delete;

   private:
    timer_t timer_{};
  };

 private:
  static void Handle(int, siginfo_t*, void* context) {
    Sampler* const sampler = g_current;
    if (sampler == nullptr || t_stack.high == 0) return;
    const std::size_t index = sampler->taken_.fetch_add(1);
    if (index < sampler->samples_.size()) sampler->Take(*static_cast<ucontext_t*>(context), index);
  }

  // The trap flag has the processor stop again after the next instruction.
  static void HandleStep(int signal, siginfo_t* info, void* context) {
    constexpr greg_t kTrapFlag = 0x100;
    Handle(signal, info, context);
    Sampler* const sampler = g_current;
    greg_t& flags = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL];
    const bool more = sampler != nullptr && sampler->taken_ < sampler->samples_.size();
    flags = more ? flags | kTrapFlag : flags & ~kTrapFlag;
  }

  void Take(const ucontext_t& context, std::size_t index) {
    Sample& sample = samples_[index];
    const Registers registers = RegistersOf(&context);
    const std::int64_t started = NowNs();
    const CodeMapSlots::Reader map(map_.slots());
    const UnwindOptions options{.map = map.get(), .cache = &t_cache, .max_depth = kMaxDepth};
    sample.depth = Unwind(registers, t_stack, options, sample.pcs, &sample.end);
    sample.ns = NowNs() - started;
    sample.generation = map.get() == nullptr ? 0 : map.get()->generation;
  }

  static inline std::atomic<Sampler*> g_current{nullptr};
  static inline thread_local StackMemory t_stack;
  static inline thread_local RuleCache t_cache;

  ModuleMap& map_;
  std::vector<Sample> samples_;
  std::atomic<std::size_t> taken_{0};
  int pid_ = 0;
  struct sigaction before_{};
};

}  // namespace wherefore::sdk
