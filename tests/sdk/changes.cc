// Programs whose profile is known and under which things change: libraries come and go, types are
// switched, allocations come faster than they can be looked at, waits have a limit. As truth.cc
// they print the truth; tests/native_changes_test.py compares it with what the profiler saw.
//
//   changes WHAT SECONDS
//
// The lists at the end of this file and of changes_limits.cc say WHAT.
#include "changes.h"

#include <dlfcn.h>
#include <sched.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <thread>
#include <vector>

#include "lookup.h"
#include "measure.h"
#include "wherefore/wherefore.h"

namespace {

// Burn(), with a mark: the compiler would make one function of two that do the same.
[[gnu::always_inline]] inline double BurnMarked(double mark, double seconds) {
  g_sink = mark;
  return Burn(seconds);
}

// --- Libraries ---
using BurnFunction = double(double seconds);
using AllocFunction = void*(std::size_t size);

// plugin.cc as `name`, One or Two, while this object is there. Found by this program's own RUNPATH,
// unless a path is given.
class Plugin {
 public:
  explicit Plugin(const std::string& name) : Plugin(name, "plugin_" + name + ".so") {}
  Plugin(const std::string& name, const std::string& path)
      : name_(name), handle_(dlopen(path.c_str(), RTLD_NOW)) {
    if (handle_ == nullptr) Fail(dlerror());
  }
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;
  ~Plugin() { dlclose(handle_); }

  template <typename Function>
  [[nodiscard]] Function* Find(const std::string& what) const {
    Function* const found = Lookup<Function>(handle_, (what + name_).c_str());
    if (found == nullptr) Fail(dlerror());
    return found;
  }

 private:
  std::string name_;
  void* handle_;
};

// Burns CPU time in a library that is gone at once; says where it was.
BurnFunction* BurnIn(const std::string& name, double seconds,
                     std::map<std::string, double>& truth) {
  const Plugin plugin(name);
  auto* const burn = plugin.Find<BurnFunction>("BurnIn");
  truth["BurnIn" + name] += burn(seconds);
  return burn;
}

// By these callers one knows which it must have been.
[[gnu::noinline]] BurnFunction* UseOne(std::map<std::string, double>& truth) {
  return Stay(BurnIn("One", 0.05, truth));
}
[[gnu::noinline]] BurnFunction* UseTwo(std::map<std::string, double>& truth) {
  return Stay(BurnIn("Two", 0.25, truth));
}

// One library after the other in the same place, where the loader lets them: "same" says how often
// one came where the other had been, "moved" how often not. The first is gone before anybody has
// looked at what is loaded, mostly.
void Libraries(double seconds) {
  std::map<std::string, double> truth = {{"same", 0}, {"moved", 0}};
  BurnFunction* last = nullptr;
  while (truth["BurnInOne"] + truth["BurnInTwo"] < seconds) {
    for (const auto& use : {UseOne, UseTwo}) {
      BurnFunction* const here = use(truth);
      if (last != nullptr) ++truth[here == last ? "same" : "moved"];
      last = here;
    }
  }
  Print(truth);
}

// The same path, another file each time it is loaded, as for a program that loads what was just
// built.
void Replaced(double seconds) {
  std::map<std::string, double> truth;
  std::string folder = std::filesystem::temp_directory_path() / "changes-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) Fail("no folder");
  const std::filesystem::path programs =
      std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::string path = folder + "/current.so";
  while (truth["BurnInOne"] < seconds / 2 || truth["BurnInTwo"] < seconds / 2) {
    for (const std::string name : {"One", "Two"}) {
      std::filesystem::copy_file(programs / ("plugin_" + name + ".so"), path + ".new");
      std::filesystem::rename(path + ".new", path);
      const Plugin plugin(name, path);
      truth["BurnIn" + name] += plugin.Find<BurnFunction>("BurnIn")(0.2);
    }
  }
  std::filesystem::remove_all(folder);
  Print(truth);
}

// A library is at work as soon as it is loaded, before anybody has read its tables. Below a frame
// so large that all the stacks together are more than is kept of them at a time.
[[gnu::noinline]] void UseFresh(double seconds, std::map<std::string, double>& truth) {
  constexpr int kBlocks = 20;
  constexpr std::size_t kSize = 65'536;
  volatile char frame[48 << 10];
  frame[0] = 1;
  const Plugin plugin("One");
  auto* const alloc = plugin.Find<AllocFunction>("AllocIn");
  auto* const fill = plugin.Find<AllocFunction>("FillIn");
  for (int i = 0; i < kBlocks; ++i) {
    if (alloc(kSize) == nullptr || fill(kSize) == nullptr) Fail("no memory");
  }
  truth["AllocInOne"] += kBlocks * static_cast<double>(kSize);
  truth["FillInOne"] += kBlocks * static_cast<double>(kSize);
  truth["BurnInOne"] += plugin.Find<BurnFunction>("BurnIn")(seconds);
  frame[1] = frame[0];
}

[[gnu::noinline]] void BurnFirst(double seconds) {
  Burn(seconds);
  asm volatile("");
}

void Fresh(double seconds) {
  BurnFirst(1.2);  // long enough for the profiler to have read the tables of what is there
  std::map<std::string, double> truth;
  while (truth["BurnInOne"] < seconds) UseFresh(0.1, truth);
  Print(truth);
}

// --- Allocations ---
[[gnu::noinline]] void* AllocTiny() {
  return Stay(std::malloc(16));
}

void Burst(double seconds) {
  std::vector<std::thread> threads;
  std::atomic<double> blocks{0};
  const double end = Wall() + seconds;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      double own = 0;
      while (Wall() < end) {
        for (int n = 0; n < 1000; ++n, ++own) std::free(AllocTiny());
      }
      blocks += own;
    });
  }
  for (std::thread& thread : threads) thread.join();
  Print({{"AllocTiny", blocks * 16}});
}

// --- Switching ---
[[gnu::noinline]] double WorkWhileOn(double seconds) {
  return BurnMarked(1, seconds);
}
[[gnu::noinline]] double WorkWhileOff(double seconds) {
  return BurnMarked(2, seconds);
}

// CPU on and off, by the library that is preloaded.
void Switch(double seconds) {
  auto* const set = PRELOADED_FUNCTION(wherefore_set_enabled);
  if (set == nullptr) Fail("there is no profiler");
  std::map<std::string, double> truth;
  while (truth["WorkWhileOn"] < seconds) {
    if (set(WHEREFORE_CPU, 0) != WHEREFORE_OK) Fail("cannot be switched off");
    truth["WorkWhileOff"] += WorkWhileOff(0.3);
    if (set(WHEREFORE_CPU, 1) != WHEREFORE_OK) Fail("cannot be switched on");
    truth["WorkWhileOn"] += WorkWhileOn(0.3);
    ++truth["rounds"];
  }
  Print(truth);
}

// --- Namespace ---
[[gnu::noinline]] double WorkBeforeUnshare(double seconds) {
  return BurnMarked(5, seconds);
}
[[gnu::noinline]] double WorkAfterUnshare(double seconds) {
  return BurnMarked(6, seconds);
}

// Children get a PID namespace of their own; from then on the kernel gives this process no threads.
// "refused": it was not allowed to.
void Namespace(double seconds) {
  std::map<std::string, double> truth;
  truth["WorkBeforeUnshare"] = WorkBeforeUnshare(seconds / 2);
  truth["refused"] = unshare(CLONE_NEWPID) == 0 ? 0 : errno;
  truth["WorkAfterUnshare"] = WorkAfterUnshare(seconds / 2);
  Print(truth);
}

// --- Forked children ---
bool Flush() {
  auto* const flush = PRELOADED_FUNCTION(wherefore_flush);
  return flush == nullptr || flush(10'000) == WHEREFORE_OK;
}

[[gnu::noinline]] double BurnInPool(double seconds) {
  return BurnMarked(3, seconds);
}
[[gnu::noinline]] double BurnBeforeFlush(double seconds) {
  return BurnMarked(4, seconds);
}

void InChild(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child < 0) Fail("fork");
  if (child == 0) {
    work();
    _exit(0);  // nothing is sent then
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) Fail("a child");
}

// The one that forked only waits, another works; one that only computes asks for its profile.
void Children(double seconds) {
  InChild([&] {
    std::thread worker([&] { BurnInPool(seconds); });
    worker.join();
    if (!Flush()) Fail("flush");
  });
  InChild([&] {
    BurnBeforeFlush(seconds);
    if (!Flush()) Fail("flush");
  });
  Print({{"BurnInPool", seconds}, {"BurnBeforeFlush", seconds}});
}

// --- A timer of the program's own, under the signal that the profiler uses ---
extern "C" const char __executable_start;
extern "C" const char etext;

std::atomic<int> g_ticks{0};
std::atomic<int> g_ticks_here{0};  // that say to have interrupted code of this program
std::atomic<int> g_ticks_while_asleep{0};
thread_local bool t_asleep = false;

void OnTick(int /*signal*/, siginfo_t* /*info*/, void* context) {
  const auto pc = static_cast<std::uintptr_t>(
      static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
  ++g_ticks;
  if (t_asleep) ++g_ticks_while_asleep;
  if (pc >= reinterpret_cast<std::uintptr_t>(&__executable_start) &&
      pc < reinterpret_cast<std::uintptr_t>(&etext))
    ++g_ticks_here;
}

// One thread works, another sleeps: the ticks are of the one that works.
void OwnTimer(double seconds) {
  std::atomic<bool> done{false};
  std::atomic<int> interrupted{0};
  std::thread sleeper([&] {
    t_asleep = true;
    while (!done) {
      const timespec moment{.tv_sec = 0, .tv_nsec = 5'000'000};
      if (nanosleep(&moment, nullptr) != 0 && errno == EINTR) ++interrupted;
    }
  });
  struct sigaction action = {};
  action.sa_sigaction = OnTick;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGPROF, &action, nullptr);
  const itimerval timer{.it_interval = {.tv_sec = 0, .tv_usec = 10'000},
                        .it_value = {.tv_sec = 0, .tv_usec = 10'000}};
  setitimer(ITIMER_PROF, &timer, nullptr);
  Burn(seconds);
  const itimerval none{};
  setitimer(ITIMER_PROF, &none, nullptr);
  done = true;
  sleeper.join();
  Print({{"ticks", g_ticks},
         {"ticks_here", g_ticks_here},
         {"ticks_while_asleep", g_ticks_while_asleep},
         {"interrupted", interrupted}});
}

constexpr Program kPrograms[] = {{"libraries", Libraries}, {"replaced", Replaced},
                                 {"fresh", Fresh},         {"burst", Burst},
                                 {"switch", Switch},       {"namespace", Namespace},
                                 {"owntimer", OwnTimer},   {"children", Children}};

}  // namespace

int main(int argc, char** argv) {
  const Program* const program =
      ChosenProgram({argv, static_cast<std::size_t>(argc)}, {kPrograms, LimitPrograms()});
  if (program == nullptr) return 2;
  program->run(std::atof(argv[2]));
}
