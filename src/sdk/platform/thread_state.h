// ThreadState: what the profiler keeps in every thread, reachable from a signal handler.
//
// Thread-local without a constructor and in the initial-exec model: an access is one instruction
// and can never allocate, also in a thread we did not see start. Belongs to its thread and to the
// signal handlers that run on it; the collector never looks.
#pragma once

#include <cstdint>

namespace wherefore::sdk {

// What samples of the heap stand for.
struct HeapWeight {
  double bytes;
  double objects;
  double distance;

  void Add(const HeapWeight& more) {
    bytes += more.bytes;
    objects += more.objects;
    distance += more.distance;
  }
};

struct ThreadState {
  std::int64_t heap_countdown;  // bytes until the next sampled allocation; see heap_sampler.cc
  std::int64_t heap_kept;       // heap_countdown, while operator new of another allocator runs
  std::int64_t wait_countdown;  // nanoseconds of waiting until the next sampled wait
  std::int64_t heap_mean;       // the mean the countdowns were drawn with
  std::int64_t wait_mean;
  std::uint64_t random;      // state of NextRandom; 0: not seeded yet
  std::uintptr_t stack_low;  // the thread's own stack; 0: not known
  std::uintptr_t stack_high;
  std::uintptr_t routine;  // what it was started with; 0: not known
  std::uint32_t tid;       // 0: not known
  std::uint32_t busy;      // > 0: inside the profiler; hooks then pass straight through
  std::int32_t
      cpu_timer;  // the kernel's number of the timer that ticks here, plus one; 0: not known
  std::uint32_t cpu_session;    // of Shared, when cpu_counted_ns was set
  std::int64_t cpu_counted_ns;  // CPU time that samples so far stand for
  HeapWeight heap_lost;         // of samples that found the queue full since the last that did not
  std::uint8_t part;            // of the profiler this thread is in; see crash_marker.h
  bool heap_armed;              // heap_countdown leads to a sample, not just to another look
  bool sampling;                // inside the sampler's signal handler, as far as it is ours
  bool cpu_timer_off;           // while the sampler's signal is really blocked
  bool host_blocks;             // the host asked to block the sampler's signal; see signal_hooks.cc
};

// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): constinit
extern thread_local constinit ThreadState t_state [[gnu::tls_model("initial-exec")]];

// While one of these lives the thread's own hooks are off: the profiler does not profile itself.
class Busy {
 public:
  Busy() { t_state.busy = t_state.busy + 1; }
  ~Busy() { t_state.busy = t_state.busy - 1; }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
};

// Uniform 64 random bits (splitmix64): not for secrets.
inline std::uint64_t NextRandom(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15ULL;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}
// In (0, 1].
inline double NextUnit(std::uint64_t& state) {
  return (static_cast<double>(NextRandom(state) >> 11) + 1) * 0x1.0p-53;
}

// A step of a Poisson process with this mean, at least 1. Not for signal handlers (libm).
std::int64_t ExponentialStep(double mean);

// This thread's id, by a system call the first time.
std::uint32_t CurrentTid();

}  // namespace wherefore::sdk
