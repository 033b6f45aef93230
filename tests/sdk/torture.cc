// A program that does everything at once that a profiler inside it could trip over, and says so
// when anything went differently than without one.
//
//   torture SECONDS
//
// Threads that start and end, forks that compute and forks that exec, libraries that come and go,
// signals of its own (SIGPROF among them), masked signals, alternate stacks, allocations that fail.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace {

std::atomic<bool> g_stop{false};
std::atomic<long> g_wrong{0};
std::atomic<long> g_rounds[8];
std::atomic<long> g_own_signals{0};
volatile double g_sink;

void Wrong(const char* what) {
  if (g_wrong.fetch_add(1) < 20) std::fprintf(stderr, "torture: %s (errno %d)\n", what, errno);
}

[[gnu::noinline]] void Work(int rounds) {
  double x = 1;
  for (int i = 0; i < rounds; ++i) x = std::sqrt(x + i);
  g_sink = x;
}

void ThreadChurn() {
  while (!g_stop) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 20; ++i) threads.emplace_back([i] { Work(1000 * i); });
    for (std::thread& thread : threads) thread.join();
    pthread_t detached;
    pthread_create(
        &detached, nullptr,
        [](void*) -> void* {
          Work(5000);
          pthread_exit(nullptr);
        },
        nullptr);
    pthread_detach(detached);
    ++g_rounds[0];
  }
}

void ForkStorm() {
  while (!g_stop) {
    const pid_t child = fork();
    if (child < 0) {
      if (errno != EAGAIN && errno != ENOMEM) Wrong("fork failed");
      continue;
    }
    if (child == 0) {
      // Some compute long enough to be profiled themselves, some become another program, some just
      // go.
      const long kind = g_rounds[1] % 3;
      if (kind == 0) {
        for (int i = 0; i < 50; ++i) {
          void* volatile p = std::malloc(100'000);
          Work(100'000);
          std::free(p);
        }
        _exit(7);  // exit() in the child of a program with threads may wait for a lock of theirs
      }
      if (kind == 1) {
        execl("/bin/true", "true", nullptr);
        _exit(99);
      }
      _exit(7);
    }
    int status = 0;
    while (waitpid(child, &status, 0) != child) {
      if (errno != EINTR) Wrong("waitpid failed");
    }
    const int expected = g_rounds[1] % 3 == 1 ? 0 : 7;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != expected) {
      std::fprintf(stderr, "torture: child of kind %ld: status 0x%x\n", g_rounds[1] % 3, status);
      Wrong("a child ended badly");
    }
    ++g_rounds[1];
  }
}

void LibraryLoop() {
  const char* libraries[] = {"libm.so.6", "libutil.so.1", "libresolv.so.2", "libnss_files.so.2",
                             "libanl.so.1"};
  while (!g_stop) {
    for (const char* name : libraries) {
      void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
      Work(2000);
      if (library != nullptr) dlclose(library);
    }
    ++g_rounds[2];
  }
}

void OnSignal(int, siginfo_t*, void*) {
  const int saved = errno;
  g_own_signals.fetch_add(1);
  errno = saved;
}

void OwnSignals() {
  // On an alternate stack, with SIGPROF too: whatever signal the profiler uses, ours must arrive.
  std::vector<char> memory(64 * 1024);
  const stack_t stack{.ss_sp = memory.data(), .ss_flags = 0, .ss_size = memory.size()};
  sigaltstack(&stack, nullptr);
  long sent = 0;
  const long before = g_own_signals;
  while (!g_stop) {
    for (const int number : {SIGUSR1, SIGPROF, SIGURG}) {
      if (pthread_kill(pthread_self(), number) != 0) Wrong("pthread_kill failed");
      ++sent;
    }
    Work(20'000);
    ++g_rounds[3];
  }
  if (g_own_signals - before != sent) Wrong("a signal of our own was lost");
  const stack_t none{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
  sigaltstack(&none, nullptr);
}

void Masked() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  while (!g_stop) {
    Work(50'000);
    ++g_rounds[4];
  }
}

void Allocations() {
  while (!g_stop) {
    errno = 4321;
    void* volatile impossible = std::malloc(static_cast<std::size_t>(1) << 60);
    if (impossible != nullptr || errno != ENOMEM) Wrong("an impossible malloc");
    try {
      char* volatile p = new char[static_cast<std::size_t>(1) << 60];
      delete[] p;
      Wrong("an impossible new");
    } catch (const std::bad_alloc&) {
    }
    if (new (std::nothrow) char[static_cast<std::size_t>(1) << 60] != nullptr)
      Wrong("an impossible new (nothrow)");
    void* p = std::malloc(10);
    std::memset(p, 1, 10);
    p = std::realloc(p, 1 << 20);
    void* volatile kept = p;
    void* bigger = std::realloc(p, static_cast<std::size_t>(1) << 60);
    if (bigger != nullptr || static_cast<char*>(kept)[9] != 1) Wrong("a realloc that failed");
    std::free(kept);
    void* aligned = nullptr;
    if (posix_memalign(&aligned, 4096, 100'000) != 0 ||
        (reinterpret_cast<std::uintptr_t>(aligned) & 4095) != 0)
      Wrong("posix_memalign");
    std::free(aligned);
    errno = 4321;
    std::free(std::calloc(100, 1000));
    if (errno != 4321) Wrong("errno changed");
    ++g_rounds[5];
  }
}

pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t g_checked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
long g_guarded = 0;

void Locks() {
  long mine = 0;
  while (!g_stop) {
    pthread_mutex_lock(&g_mutex);
    ++g_guarded;
    ++mine;
    pthread_mutex_unlock(&g_mutex);
    if (pthread_mutex_lock(&g_checked) == 0) {
      if (pthread_mutex_lock(&g_checked) != EDEADLK)
        Wrong("an error-checking mutex was locked twice");
      pthread_mutex_unlock(&g_checked);
    }
    ++g_rounds[6];
  }
  static std::atomic<long> all{0};
  all += mine;
}

void Sleeps() {
  while (!g_stop) {
    const timespec pause{.tv_sec = 0, .tv_nsec = 2'000'000};
    if (nanosleep(&pause, nullptr) != 0 && errno == EINTR) Wrong("a sleep was interrupted");
    ++g_rounds[7];
  }
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 10;
  struct sigaction action = {};
  action.sa_sigaction = OnSignal;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  for (const int number : {SIGUSR1, SIGPROF, SIGURG}) {
    sigaction(number, &action, nullptr);
    struct sigaction now = {};
    sigaction(number, nullptr, &now);
    if (now.sa_sigaction != OnSignal) Wrong("sigaction does not give back what was set");
  }
  std::vector<std::thread> threads;
  for (void (*part)() : {ThreadChurn, ForkStorm, LibraryLoop, OwnSignals, Masked, Allocations,
                         Locks, Locks, Sleeps, Sleeps}) {
    threads.emplace_back(part);
  }
  timespec left{.tv_sec = static_cast<time_t>(seconds), .tv_nsec = 0};
  while (nanosleep(&left, &left) != 0) {
  }
  g_stop = true;
  for (std::thread& thread : threads) thread.join();
  std::printf("{\"wrong\": %ld", g_wrong.load());
  const char* names[] = {"threads", "forks",       "libraries", "signals",
                         "masked",  "allocations", "locks",     "sleeps"};
  for (int i = 0; i < 8; ++i) std::printf(", \"%s\": %ld", names[i], g_rounds[i].load());
  std::printf("}\n");
  return g_wrong == 0 ? 0 : 1;
}
