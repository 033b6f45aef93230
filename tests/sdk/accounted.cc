// Spans that know where their time went: CPU, a lock, a condition, sleep, a pipe, a child, two
// threads. Prints one line per span: kind, trace, span, and nanoseconds of each part it planted.
//
//   accounted ROUNDS IDLE_THREADS
//
// Linked with libwherefore; what is measured goes where its environment says.
#include <semaphore.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include <wherefore/profiler.h>
#include <wherefore/tracer.h>

namespace {

constexpr long kWait = 150'000'000;  // of every span, about
constexpr long kWork = 40'000'000;

long Now(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}
long Wall() {
  return Now(CLOCK_MONOTONIC);
}
long Cpu() {
  return Now(CLOCK_THREAD_CPUTIME_ID);
}
void Sleep(long ns) {
  const timespec t = {0, ns};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &t, nullptr);
}

volatile double g_sink;
[[gnu::noinline]] void Spin(long ns) {
  const long end = Cpu() + ns;
  double x = 0;
  while (Cpu() < end) {
    for (int i = 0; i < 20'000; ++i) x += i * 0.5;
  }
  g_sink = x;
}

struct Truth {
  long on_cpu = 0, lock = 0, thread = 0, io = 0, sleep = 0, children = 0;
};
std::mutex g_print;
void Print(const char* kind, const wherefore::SpanContext& span, const Truth& t, long duration) {
  const std::lock_guard hold(g_print);
  std::printf("%s ", kind);
  for (const unsigned char byte : span.trace_id) std::printf("%02x", byte);
  std::printf(" ");
  for (const unsigned char byte : span.span_id) std::printf("%02x", byte);
  std::printf(" %ld %ld %ld %ld %ld %ld %ld\n", t.on_cpu, t.lock, t.thread, t.io, t.sleep,
              t.children, duration);
}

// Runs `rounds` spans of a kind; `wait` fills in what it did.
template <typename Wait>
void Rounds(const char* kind, int rounds, Wait&& wait) {
  for (int i = 0; i < rounds; ++i) {
    Truth truth;
    const long begin = Wall();
    const long cpu = Cpu();
    wherefore::Span span(kind, wherefore::SpanKind::kServer);
    Spin(kWork);
    wait(truth);
    span.End();
    truth.on_cpu += Cpu() - cpu;
    Print(kind, span.context(), truth, Wall() - begin);
  }
}
// How long `what` takes; what it computes counts as CPU time.
template <typename What>
long Timed(What&& what) {
  const long begin = Wall();
  const long cpu = Cpu();
  what();
  return Wall() - begin - (Cpu() - cpu);
}

void Locks(int rounds) {
  std::mutex lock;
  sem_t wanted, held;
  sem_init(&wanted, 0, 0);
  sem_init(&held, 0, 0);
  std::thread holder([&] {
    for (int i = 0; i < rounds; ++i) {
      sem_wait(&wanted);
      const std::lock_guard hold(lock);
      sem_post(&held);
      Sleep(kWait);
    }
  });
  Rounds("lock", rounds, [&](Truth& t) {
    sem_post(&wanted);
    t.thread += Timed([&] { sem_wait(&held); });
    t.lock += Timed([&] { const std::lock_guard hold(lock); });
  });
  holder.join();
}

void Conditions(int rounds) {
  std::mutex lock;
  std::condition_variable changed;
  int asked = 0;
  int answered = 0;
  std::thread answers([&] {
    std::unique_lock hold(lock);
    for (int i = 0; i < rounds; ++i) {
      changed.wait(hold, [&] { return asked > answered; });
      hold.unlock();
      Sleep(kWait);
      hold.lock();
      ++answered;
      changed.notify_all();
    }
  });
  Rounds("thread", rounds, [&](Truth& t) {
    std::unique_lock hold(lock);
    ++asked;
    changed.notify_all();
    t.thread += Timed([&] { changed.wait(hold, [&] { return answered == asked; }); });
  });
  answers.join();
}

void Pipes(int rounds) {
  int there[2], back[2];
  if (pipe(there) != 0 || pipe(back) != 0) std::abort();
  std::thread answers([&] {
    char byte;
    while (read(there[0], &byte, 1) == 1) {
      Sleep(kWait);
      if (write(back[1], &byte, 1) != 1) return;
    }
  });
  Rounds("pipe", rounds, [&](Truth& t) {
    char byte = 'x';
    if (write(there[1], &byte, 1) != 1) std::abort();
    t.io += Timed([&] {
      if (read(back[0], &byte, 1) != 1) std::abort();
    });
  });
  close(there[1]);
  answers.join();
}

void Children(int rounds) {
  Rounds("child", rounds, [](Truth& t) {
    const long begin = Wall();
    const long cpu = Cpu();
    {
      const wherefore::Span child("inner");
      Spin(kWork / 4);
      Sleep(kWait);
    }
    t.children += Wall() - begin;
    t.on_cpu -= Cpu() - cpu;  // the child's
  });
}

void TwoThreads(int rounds) {
  Rounds("threads", rounds, [](Truth& t) {
    long other = 0;
    std::thread helper(wherefore::BindContext([&] {
      const long cpu = Cpu();
      Spin(kWork);
      other = Cpu() - cpu;
    }));
    Spin(kWork);
    helper.join();
    t.on_cpu += other;
  });
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 10;
  const int idle = argc > 2 ? std::atoi(argv[2]) : 0;
  const wherefore::Profiler profiler = wherefore::Profiler::Start();
  std::atomic<bool> done{false};
  std::vector<std::thread> waiting;
  for (int i = 0; i < idle; ++i) {
    waiting.emplace_back([&] {
      while (!done) Sleep(100'000'000);
    });
  }
  std::vector<std::thread> kinds;
  kinds.emplace_back([&] { Rounds("cpu", rounds, [](Truth&) { Spin(kWait); }); });
  kinds.emplace_back(
      [&] { Rounds("sleep", rounds, [](Truth& t) { t.sleep += Timed([] { Sleep(kWait); }); }); });
  kinds.emplace_back(Locks, rounds);
  kinds.emplace_back(Conditions, rounds);
  kinds.emplace_back(Pipes, rounds);
  kinds.emplace_back(Children, rounds);
  kinds.emplace_back(TwoThreads, rounds);
  for (std::thread& kind : kinds) kind.join();
  done = true;
  for (std::thread& thread : waiting) thread.join();
  return 0;
}
