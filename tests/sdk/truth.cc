// Programs whose profile is known: they measure themselves and print the truth as one line of JSON,
// {"function": number, ...}. tests/native_test.py compares it with what the profiler saw.
//
//   truth cpu|brief|brief-threads|alloc|live|live-twice|blocks|first|stacks|turns|locks|waits|eintr|depth|fork|twice|context|exhaust|leave|short|masks|sandbox|quick|quick-signal SECONDS
#include <atomic>
#include <chrono>
#include <cmath>
#include <cerrno>
#include <condition_variable>
#include <coroutine>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <poll.h>
#include <semaphore.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <string>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <vector>

#include "measure.h"

namespace {

// --- CPU ------------------------------------------------------------------------------------------
// Of random length: work in step with the kernel's clock would be seen always at the same place.
// Gives how many rounds it worked.
[[gnu::always_inline]] inline int WorkAround(int rounds) {
  thread_local unsigned seed = 1;
  rounds = rounds / 2 + rand_r(&seed) % rounds;
  Work(rounds);
  return rounds;
}
[[gnu::noinline]] int CpuLarge() { return WorkAround(600'000); }
[[gnu::noinline]] int CpuMiddle() { return WorkAround(300'000); }
[[gnu::noinline]] int CpuSmall() { return WorkAround(100'000); }

void CpuTruth(double seconds) {
  std::map<std::string, double> truth;
  std::mutex guard;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      // The clock is not asked in between: a system call is where the scheduler likes to switch, and
      // what follows it would then be in step with the kernel's ticks.
      double rounds[3] = {};
      const double end = Wall() + seconds;
      while (Wall() < end) {
        rounds[0] += CpuLarge();
        rounds[1] += CpuMiddle();
        rounds[2] += CpuSmall();
      }
      const double seconds_per_round = Cpu() / (rounds[0] + rounds[1] + rounds[2]);
      const std::lock_guard hold(guard);
      truth["CpuLarge"] += rounds[0] * seconds_per_round;
      truth["CpuMiddle"] += rounds[1] * seconds_per_round;
      truth["CpuSmall"] += rounds[2] * seconds_per_round;
    });
  }
  for (std::thread& thread : threads) thread.join();
  Print(truth);
}

// SECONDS of CPU time, then the end.
[[gnu::noinline]] void Brief(double seconds) { Print({{"Brief", Burn(seconds)}}); }

// --- Allocations ----------------------------------------------------------------------------------
[[gnu::noinline]] void* AllocSmall() { return Stay(std::malloc(48)); }
[[gnu::noinline]] void* AllocMiddle() { return Stay(std::calloc(10, 400)); }
[[gnu::noinline]] void* AllocLarge() { return Stay(::operator new(300'000)); }

void AllocTruth(double seconds) {
  std::map<std::string, double> truth;
  const double end = Wall() + seconds;
  while (Wall() < end) {
    for (int i = 0; i < 2000; ++i) std::free(AllocSmall());
    for (int i = 0; i < 60; ++i) std::free(AllocMiddle());
    for (int i = 0; i < 1; ++i) ::operator delete(AllocLarge());
    truth["AllocSmall"] += 2000 * 48.0;
    truth["AllocMiddle"] += 60 * 4000.0;
    truth["AllocLarge"] += 300'000.0;
  }
  Print(truth);
}

[[gnu::noinline]] void* KeepSmall() { return Stay(std::malloc(1000)); }
[[gnu::noinline]] void* KeepLarge() { return Stay(std::aligned_alloc(4096, 409'600)); }
[[gnu::noinline]] void* KeepNone() { return Stay(std::malloc(5000)); }
[[gnu::noinline]] void* KeepGrown(void* old) { return Stay(std::realloc(old, 20'000)); }

void LiveTruth(double seconds) {
  std::vector<void*> kept;
  for (int i = 0; i < 200'000; ++i) {
    kept.push_back(KeepSmall());
    std::free(KeepNone());
  }
  for (int i = 0; i < 600; ++i) kept.push_back(KeepLarge());
  std::vector<void*> grown;
  for (int i = 0; i < 5'000; ++i) grown.push_back(KeepGrown(std::malloc(10)));
  // Half of the small ones go again.
  for (std::size_t i = 0; i < 200'000; i += 2) std::free(kept[i]);
  usleep(static_cast<useconds_t>(seconds * 1e6));
  Print({{"KeepSmall", 100'000 * 1000.0}, {"KeepLarge", 600 * 409'600.0}, {"KeepGrown", 5'000 * 20'000.0}, {"KeepNone", 0}});
}

// Blocks far larger than the distance between samples: each of them is one. A hundred a second.
// Before and after a time in which so much is allocated that the distance between samples is raised.
[[gnu::noinline]] void* KeepEarly() { return Stay(std::malloc(65'536)); }
[[gnu::noinline]] void* KeepLate() { return Stay(std::calloc(16, 4096)); }

void LiveTwiceTruth(double seconds) {
  constexpr int kEarly = 2800;
  constexpr int kLate = 3600;
  std::vector<void*> kept;
  for (int i = 0; i < kEarly; ++i) kept.push_back(KeepEarly());
  const double start = Wall();
  constexpr double kPerSecond = 8e9;
  for (double bytes = 0; Wall() < start + seconds;) {
    if (bytes > kPerSecond * (Wall() - start)) continue;
    ::operator delete(AllocLarge());
    bytes += 300'000;
  }
  for (int i = 0; i < kLate; ++i) kept.push_back(KeepLate());
  Print({{"KeepEarly", kEarly * 65'536.0}, {"KeepLate", kLate * 65'536.0}});
}

[[gnu::noinline]] void* AllocBlock() { return Stay(std::malloc(400'000)); }

void BlocksTruth(double seconds) {
  std::vector<void*> kept;
  const double end = Wall() + seconds;
  while (Wall() < end) {
    kept.push_back(AllocBlock());
    usleep(10'000);
  }
  Print({{"AllocBlock", static_cast<double>(kept.size())}});
}

// The same, all at once and as soon as the program begins.
void FirstTruth() {
  constexpr int kBlocks = 200;
  for (int i = 0; i < kBlocks; ++i) std::free(AllocBlock());
  Print({{"AllocBlock", kBlocks}});
}

// Thousands of different stacks, one block each.
[[gnu::noinline]] void* Left(unsigned path, int depth);
[[gnu::noinline]] void* Right(unsigned path, int depth);
[[gnu::always_inline]] inline void* Down(unsigned path, int depth) {
  if (depth == 0) return Stay(std::malloc(100'000));
  return Stay((path & 1) != 0 ? Left(path >> 1, depth - 1) : Right(path >> 1, depth - 1));
}
void* Left(unsigned path, int depth) { return Down(path, depth); }
void* Right(unsigned path, int depth) { return Down(path, depth); }

void StacksTruth(double /*seconds*/) {
  constexpr unsigned kStacks = 4096;
  for (unsigned path = 0; path < kStacks; ++path) {
    std::free(Down(path, 12));
    if (path % 256 == 0) usleep(50'000);  // the queue has room for two thousand
  }
  Print({{"blocks", kStacks}});
}

// --- Locks ----------------------------------------------------------------------------------------
std::mutex g_lock;
double g_waited[2];
std::mutex g_waited_guard;

void Wait(int who) {
  const double start = Wall();
  g_lock.lock();
  const double waited = Wall() - start;
  if (waited > 2e-6) {
    const std::lock_guard hold(g_waited_guard);
    g_waited[who] += waited;
  }
}
// Holds long, waits little in comparison.
[[gnu::noinline]] void LockLong() {
  Wait(0);
  Work(400'000);
  g_lock.unlock();
  g_sink = 1;  // no tail call: this function must be on the stack when it unlocks
}
[[gnu::noinline]] void LockShort() {
  Wait(1);
  Work(20'000);
  g_lock.unlock();
  g_sink = 2;
}

void LocksTruth(double seconds) {
  const double end = Wall() + seconds;
  std::thread a([&] { while (Wall() < end) { LockLong(); usleep(300); } });
  std::thread b([&] { while (Wall() < end) { LockShort(); usleep(200); } });
  std::thread c([&] { while (Wall() < end) { LockShort(); usleep(400); } });
  a.join();
  b.join();
  c.join();
  Print({{"LockLong", g_waited[0]}, {"LockShort", g_waited[1]}});
}

// A lock that is held for ten milliseconds while one other waits: each wait is one sample.
std::mutex g_turn;
std::atomic<bool> g_there;

[[gnu::noinline]] void WaitMyTurn() {
  g_there = true;
  g_turn.lock();
  g_turn.unlock();
  g_sink = 4;
}
[[gnu::noinline]] void HoldTurn() {
  g_turn.lock();
  g_there = false;
  std::thread other(WaitMyTurn);
  while (!g_there) std::this_thread::yield();
  usleep(10'000);
  g_turn.unlock();
  other.join();
}

void TurnsTruth(double seconds) {
  double turns = 0;
  for (const double end = Wall() + seconds; Wall() < end; ++turns) HoldTurn();
  Print({{"HoldTurn", turns}, {"WaitMyTurn", turns}});
}

// --- Waiting --------------------------------------------------------------------------------------
[[gnu::noinline]] double WaitSleep() {
  const double start = Wall();
  usleep(30'000);
  return Wall() - start;
}
[[gnu::noinline]] double WaitPoll() {
  const double start = Wall();
  pollfd none{.fd = -1, .events = 0, .revents = 0};
  poll(&none, 1, 50);
  return Wall() - start;
}
[[gnu::noinline]] double WaitCondition() {
  static std::mutex lock;
  static std::condition_variable condition;
  const double start = Wall();
  std::unique_lock hold(lock);
  condition.wait_for(hold, std::chrono::milliseconds(20));
  return Wall() - start;
}

void WaitsTruth(double seconds) {
  std::map<std::string, double> truth;
  const double end = Wall() + seconds;
  while (Wall() < end) {
    truth["WaitSleep"] += WaitSleep();
    truth["WaitPoll"] += WaitPoll();
    truth["WaitCondition"] += WaitCondition();
  }
  Print(truth);
}

[[gnu::noinline]] void ShortWait() {
  usleep(20'000);
  asm volatile("");
}

// A thread for every request, as some servers have it.
void ShortThreads(double seconds) {
  int threads = 0;
  const double end = Wall() + seconds;
  for (; Wall() < end; ++threads) std::thread(ShortWait).join();
  // What a thread waits for its turn on a busy machine is no waiting of its own.
  Print({{"ShortWait", threads * 0.02}});
}

// Threads that end before the kernel's clock ticks once, beside as much of a thread that does not.
[[gnu::noinline]] void OneMillisecond() {
  const double end = Cpu() + 0.001;
  while (Cpu() < end) Work(100);
}
[[gnu::noinline]] void* EndsAtOnce(void* seconds) {
  OneMillisecond();
  *static_cast<double*>(seconds) += Cpu();
  return nullptr;
}
[[gnu::noinline]] void StaysHere() {
  OneMillisecond();
  g_sink = 1;
}

void BriefThreads(double seconds) {
  std::map<std::string, double> truth = {{"EndsAtOnce", 0}, {"StaysHere", 0}};
  while (truth["EndsAtOnce"] < seconds) {
    pthread_t thread{};
    if (pthread_create(&thread, nullptr, EndsAtOnce, &truth["EndsAtOnce"]) != 0) std::abort();
    pthread_join(thread, nullptr);
    const double begin = Cpu();
    StaysHere();
    truth["StaysHere"] += Cpu() - begin;
  }
  Print(truth);
}

// A signal that is blocked waits: for sigwait, here or on another thread, or for being unblocked.
void Masks() {
  sigset_t mine;
  sigset_t seen;
  sigemptyset(&mine);
  sigaddset(&mine, SIGPROF);
  sigprocmask(SIG_BLOCK, &mine, nullptr);
  sigprocmask(SIG_BLOCK, nullptr, &seen);
  const int blocked = sigismember(&seen, SIGPROF);
  int got = 0;
  kill(getpid(), SIGPROF);
  sigwait(&mine, &got);
  int thread_got = 0;
  std::thread waiter([&] { sigwait(&mine, &thread_got); });
  kill(getpid(), SIGPROF);
  waiter.join();
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  raise(SIGPROF);
  sigpending(&seen);
  Print({{"blocked", blocked},
         {"got", got},
         {"thread_got", thread_got},
         {"pending", sigismember(&seen, SIGPROF)}});
  std::fflush(stdout);
  sigemptyset(&mine);
  pthread_sigmask(SIG_SETMASK, &mine, nullptr);  // here it ends
}

// System calls that wait, counted when they end with EINTR; and errno, which must stay as it is.
void EintrTruth(double seconds) {
  std::atomic<int> interrupted{0};
  std::atomic<int> lost{0};
  const double end = Wall() + seconds;
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&, t] {
      while (Wall() < end) {
        const timespec pause{.tv_sec = 0, .tv_nsec = 20'000'000};
        if (t % 4 == 0 && nanosleep(&pause, nullptr) != 0 && errno == EINTR) ++interrupted;
        if (t % 4 == 1 && poll(nullptr, 0, 20) != 0 && errno == EINTR) ++interrupted;
        if (t % 4 == 2) {
          int pipes[2];
          if (pipe(pipes) == 0) {
            pollfd in{.fd = pipes[0], .events = POLLIN, .revents = 0};
            if (poll(&in, 1, 10) < 0 && errno == EINTR) ++interrupted;
            close(pipes[0]);
            close(pipes[1]);
          }
        }
        errno = 12345;
        Work(100'000);
        void* volatile p = std::malloc(3000);
        std::free(p);
        if (errno != 12345) ++lost;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Print({{"interrupted", interrupted}, {"lost_errno", lost}});
}

// --- Stacks ---------------------------------------------------------------------------------------
struct Task {
  struct promise_type {
    Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::abort(); }
  };
  std::coroutine_handle<promise_type> handle;
};

[[gnu::noinline]] Task InCoroutine() {
  for (int i = 0; i < 10; ++i) {
    Work(100'000);
    co_await std::suspend_always();
  }
}

[[gnu::noinline]] int Recurse(int depth) {
  if (depth == 0) {
    Work(200'000);
    return 1;
  }
  const int below = Recurse(depth - 1);
  g_sink = below;
  return below + 1;
}

[[gnu::noinline]] void Throwing(int depth) {
  if (depth == 0) {
    Work(100'000);
    throw 1;
  }
  Throwing(depth - 1);
  g_sink = depth;
}

// A child that only computes: it calls nothing that is hooked.
[[gnu::noinline]] void InChild(double seconds) {
  const double end = Cpu() + seconds;
  while (Cpu() < end) Work(100'000);
}

void ForkTruth(double seconds) {
  const pid_t child = fork();
  if (child == 0) {
    InChild(seconds);
    std::exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  Print({{"InChild", seconds}, {"status", status}});
}

// As daemons do it: the child of a child works.
void ForkTwice(double seconds) {
  const pid_t child = fork();
  if (child == 0) {
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      InChild(seconds);
      std::exit(0);
    }
    waitpid(grandchild, nullptr, 0);
    std::exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  Print({{"InChild", seconds}, {"status", status}});
}

// A coroutine on a stack of its own.
ucontext_t g_caller;
ucontext_t g_coroutine;
double g_seconds;
[[gnu::noinline]] void OnOwnStack() {
  const double end = Wall() + g_seconds;
  while (Wall() < end) Work(100'000);
  g_sink = 3;
}

void ContextTruth(double seconds) {
  g_seconds = seconds;
  std::vector<char> stack(256 * 1024);
  getcontext(&g_coroutine);
  g_coroutine.uc_stack.ss_sp = stack.data();
  g_coroutine.uc_stack.ss_size = stack.size();
  g_coroutine.uc_link = &g_caller;
  makecontext(&g_coroutine, OnOwnStack, 0);
  swapcontext(&g_caller, &g_coroutine);
  Print({{"OnOwnStack", seconds}});
}

void DepthTruth(double seconds) {
  const double end = Wall() + seconds;
  double rounds = 0;
  while (Wall() < end) {
    Recurse(50);
    try {
      Throwing(10);
    } catch (int) {
      ++rounds;
    }
    Task task = InCoroutine();
    while (!task.handle.done()) task.handle.resume();
    task.handle.destroy();
    std::vector<int> numbers(20'000);
    for (int& number : numbers) number = std::rand();
    std::qsort(numbers.data(), numbers.size(), sizeof(int),
               [](const void* a, const void* b) { return *static_cast<const int*>(a) - *static_cast<const int*>(b); });
  }
  Print({{"rounds", rounds}});
}

// Goes on without any memory left.
void ExhaustMemory(double seconds) {
  const rlimit limit{.rlim_cur = 64U << 20U, .rlim_max = 64U << 20U};
  setrlimit(RLIMIT_DATA, &limit);
  for (std::size_t size = 1U << 20U; size >= 16; size /= 2) {
    while (std::malloc(size) != nullptr) continue;  // NOLINT: that is the point
  }
  const double end = ClockNow(CLOCK_MONOTONIC) + seconds;
  volatile double x = 1;
  while (ClockNow(CLOCK_MONOTONIC) < end) x = x * 1.0000001;
  constexpr char kFine[] = "{}\n";
  if (write(STDOUT_FILENO, kFine, sizeof(kFine) - 1) < 0) _exit(1);
  _exit(0);
}

// Forbids itself, in all its threads, what the profiler needs; then goes on.
void Sandbox(double seconds) {
  usleep(300'000);
  sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),  // the number
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_timer_create, 1, 0),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{.len = 5, .filter = filter};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const long refused = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
  std::thread([seconds] {
    const double end = Wall() + seconds;
    while (Wall() < end) usleep(1000);
  }).join();
  Print({{"refused", static_cast<double>(refused)}});
}

// Ends by quick_exit.
void QuickExit(double seconds) {
  Brief(seconds);
  std::fflush(stdout);
  std::quick_exit(0);
}

// The same in a signal handler that interrupts an allocation, most likely.
void QuickExitInHandler(double seconds) {
  signal(SIGALRM, [](int) { std::quick_exit(0); });
  const itimerval when{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = static_cast<suseconds_t>(seconds * 1e6)}};
  setitimer(ITIMER_REAL, &when, nullptr);
  while (true) std::free(AllocMiddle());
}

// main ends before its thread does; then the process ends with that.
void LeaveMain(double seconds) {
  std::thread([seconds] {
    usleep(static_cast<useconds_t>(seconds * 1e6));
    std::puts("{}");
    std::fflush(stdout);
  }).detach();
  pthread_exit(nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: truth WHAT SECONDS; the top of tests/sdk/truth.cc lists WHAT\n");
    return 2;
  }
  const std::string what = argv[1];
  const double seconds = std::atof(argv[2]);
  if (what == "cpu") CpuTruth(seconds);
  if (what == "brief") Brief(seconds);
  if (what == "brief-threads") BriefThreads(seconds);
  if (what == "alloc") AllocTruth(seconds);
  if (what == "live") LiveTruth(seconds);
  if (what == "live-twice") LiveTwiceTruth(seconds);
  if (what == "blocks") BlocksTruth(seconds);
  if (what == "first") FirstTruth();
  if (what == "stacks") StacksTruth(seconds);
  if (what == "turns") TurnsTruth(seconds);
  if (what == "locks") LocksTruth(seconds);
  if (what == "waits") WaitsTruth(seconds);
  if (what == "eintr") EintrTruth(seconds);
  if (what == "depth") DepthTruth(seconds);
  if (what == "fork") ForkTruth(seconds);
  if (what == "twice") ForkTwice(seconds);
  if (what == "context") ContextTruth(seconds);
  if (what == "exhaust") ExhaustMemory(seconds);
  if (what == "leave") LeaveMain(seconds);
  if (what == "short") ShortThreads(seconds);
  if (what == "masks") Masks();
  if (what == "sandbox") Sandbox(seconds);
  if (what == "quick") QuickExit(seconds);
  if (what == "quick-signal") QuickExitInHandler(seconds);
  return 0;
}
