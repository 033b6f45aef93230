// The programs whose overhead under libwherefore is measured, in slices of equal work: shared by
// sdk_overhead.cc (profiler linked in, switched on and off) and sdk_program.cc (with and without
// it).
#pragma once

#include <semaphore.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <mutex>
#include <thread>

namespace wherefore::bench {

inline double ProcessCpu() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + (static_cast<double>(now.tv_nsec) * 1e-9);
}

inline volatile double g_sink;

[[gnu::noinline]] inline void Work(int rounds) {
  double x = g_sink;
  for (int i = 0; i < rounds; ++i) x = std::sqrt(x + i);
  g_sink = x;
}

// How many rounds of Work take a microsecond here.
inline int RoundsPerMicrosecond() {
  const double start = ProcessCpu();
  Work(10'000'000);
  return std::max(1, static_cast<int>(10'000'000 / ((ProcessCpu() - start) * 1e6)));
}

inline void Busy(int rounds) {
  for (int i = 0; i < 20'000; ++i) Work(rounds);
}

inline void Alloc(int rounds) {
  for (int i = 0; i < 20'000; ++i) {
    void* volatile p = std::malloc(static_cast<std::size_t>(16 + (i % 64 * 16)));
    Work(rounds);
    std::free(p);
  }
}

inline std::mutex g_mutex;

inline void Lock(int rounds) {
  for (int i = 0; i < 20'000; ++i) {
    g_mutex.lock();
    g_mutex.unlock();
    Work(rounds);
  }
}

inline void Both(int rounds) {
  for (int i = 0; i < 20'000; ++i) {
    void* volatile p = std::malloc(static_cast<std::size_t>(16 + (i % 64 * 16)));
    g_mutex.lock();
    g_mutex.unlock();
    Work(rounds);
    std::free(p);
  }
}

// Eight threads that want the same mutex all the time; a slice is a number of turns of each.
class Contended {
 public:
  static constexpr int kThreads = 8;
  static constexpr int kTurns = 20'000;

  Contended() {
    sem_init(&begin_, 0, 0);
    sem_init(&done_, 0, 0);
    for (int i = 0; i < kThreads; ++i) {
      std::thread([this] {
        for (;;) {
          sem_wait(&begin_);
          for (int turn = 0; turn < kTurns; ++turn) {
            const std::lock_guard hold(mutex_);
            Work(20);
          }
          sem_post(&done_);
        }
      }).detach();
    }
  }
  void Slice() {
    for (int i = 0; i < kThreads; ++i) sem_post(&begin_);
    for (int i = 0; i < kThreads; ++i) sem_wait(&done_);
  }

 private:
  std::mutex mutex_;
  sem_t begin_;
  sem_t done_;
};

// A thousand threads that wait for requests; a slice passes requests through them.
class Server {
 public:
  static constexpr int kThreads = 1000;

  explicit Server(int rounds) : rounds_(rounds), seats_(new Seat[kThreads]) {
    sem_init(&done_, 0, 0);
    for (int i = 0; i < kThreads; ++i) {
      sem_init(&seats_[i].work, 0, 0);
      std::thread([this, i] {
        for (;;) {
          sem_wait(&seats_[i].work);
          void* volatile p = std::malloc(256);
          Work(rounds_ * 10);
          std::free(p);
          sem_post(&done_);
        }
      }).detach();
    }
  }
  void Slice() {
    for (int batch = 0; batch < 200; ++batch) {
      for (int i = 0; i < 50; ++i) sem_post(&seats_[next_ = (next_ + 37) % kThreads].work);
      for (int i = 0; i < 50; ++i) sem_wait(&done_);
    }
  }

 private:
  struct Seat {
    sem_t work;
  };
  int rounds_;
  std::unique_ptr<Seat[]> seats_;
  sem_t done_;
  int next_ = 0;
};

}  // namespace wherefore::bench
