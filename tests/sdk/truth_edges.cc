// Programs that know what must not change for them: signals and errno, limits they set themselves,
// ways to end. See truth.h.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "measure.h"
#include "truth.h"

namespace {

// --- Signals ---
// A signal that is blocked waits: for sigwait, here or on another thread, or for being unblocked.
void Masks(double /*seconds*/) {
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

// --- Limits ---
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
  const long refused =
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
  std::thread([seconds] {
    const double end = Wall() + seconds;
    while (Wall() < end) usleep(1000);
  }).join();
  Print({{"refused", static_cast<double>(refused)}});
}

// --- Ends ---
// Ends by quick_exit.
void QuickExit(double seconds) {
  Brief(seconds);
  std::fflush(stdout);
  std::quick_exit(0);
}

// The same in a signal handler that interrupts an allocation, most likely.
void QuickExitInHandler(double seconds) {
  signal(SIGALRM, [](int) { std::quick_exit(0); });
  const itimerval when{
      .it_interval = {},
      .it_value = {.tv_sec = 0, .tv_usec = static_cast<suseconds_t>(seconds * 1e6)}};
  setitimer(ITIMER_REAL, &when, nullptr);
  while (true) std::free(Stay(std::calloc(10, 400)));
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

constexpr Program kPrograms[] = {
    {"eintr", EintrTruth}, {"masks", Masks},     {"exhaust", ExhaustMemory},
    {"sandbox", Sandbox},  {"quick", QuickExit}, {"quick-signal", QuickExitInHandler},
    {"leave", LeaveMain},
};

}  // namespace

std::span<const Program> EdgePrograms() {
  return kPrograms;
}
