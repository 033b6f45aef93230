// Programs that would notice a profiler which is not careful: `unnoticed WHAT SECONDS`.
//
//   exit-fork    main returns 7 while another thread forks
//   start-fork   the profiler is stopped and started again while another thread forks
//   descriptors  closes every descriptor it finds and opens its own, which stay its own
//   sent-signal  blocks SIGPROF and waits for the one that it sends to itself
//
// Under LD_PRELOAD; prints {"what": number, ...}.
#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <thread>
#include <vector>

#include "lookup.h"
#include "measure.h"
#include "program.h"
#include "wherefore/wherefore.h"

namespace {

void ForkOnce() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
}

void ExitFork(double seconds) {
  std::thread([] {
    while (true) ForkOnce();
  }).detach();
  Burn(seconds);
  std::exit(7);
}

void StartFork(double seconds) {
  const auto start = PRELOADED_FUNCTION(wherefore_start);
  const auto stop = PRELOADED_FUNCTION(wherefore_stop);
  std::atomic<bool> done{false};
  std::atomic<int> forks{0};
  std::thread forking([&] {
    for (; !done; ++forks) ForkOnce();
  });
  int starts = 0;
  const double end = Wall() + seconds;
  for (; Wall() < end || starts < 5 || forks < 5; ++starts) {
    if (stop() != 0 || start(nullptr) != 0) std::abort();
  }
  done = true;
  forking.join();
  Print({{"starts", starts > 0}, {"forks", forks > 0}});
}

bool HasSocket() {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(entry, gone).string().starts_with("socket:")) return true;
  }
  return false;
}

ino_t InodeOf(int descriptor) {
  struct stat found{};
  return fstat(descriptor, &found) == 0 ? found.st_ino : 0;
}

struct Pair {
  int ends[2];
  ino_t inodes[2];
};

void Descriptors(double seconds) {
  const auto flush = PRELOADED_FUNCTION(wherefore_flush);
  Burn(seconds);
  const bool flushed = flush(20'000) == 0;
  const bool kept = HasSocket();  // or nothing is shown
  syscall(SYS_close_range, 3U, ~0U, 0U);
  std::vector<Pair> pairs(20);
  for (Pair& pair : pairs) {
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair.ends) != 0) std::abort();
    for (int i = 0; i < 2; ++i) pair.inodes[i] = InodeOf(pair.ends[i]);
  }
  Burn(seconds);
  const bool again = flush(20'000) == 0;
  int written = 0;
  int changed = 0;
  for (const Pair& pair : pairs) {
    for (int i = 0; i < 2; ++i) {
      char byte = 0;
      if (InodeOf(pair.ends[i]) != pair.inodes[i]) ++changed;
      if (read(pair.ends[i], &byte, 1) != -1 || errno != EAGAIN) ++written;
    }
  }
  Print({{"kept", kept}, {"flushed", flushed + again}, {"written", written}, {"changed", changed}});
}

void SentSignal(double seconds) {
  Burn(seconds);  // so that ticks have come
  sigset_t mine;
  sigemptyset(&mine);
  sigaddset(&mine, SIGPROF);
  sigprocmask(SIG_BLOCK, &mine, nullptr);
  kill(getpid(), SIGPROF);
  Burn(seconds);
  const timespec at_once{};
  siginfo_t first{};
  const int got = sigtimedwait(&mine, &first, &at_once);
  const int more = sigtimedwait(&mine, nullptr, &at_once);
  const int descriptor = signalfd(-1, &mine, SFD_NONBLOCK);
  Burn(seconds);
  signalfd_siginfo read_later{};
  const ssize_t later = read(descriptor, &read_later, sizeof(read_later));
  sigprocmask(SIG_UNBLOCK, &mine, nullptr);
  Print({{"got", got},
         {"by_kill", first.si_code == SI_USER},
         {"more", more},
         {"later", static_cast<double>(later)},
         {"BurnUnblocked", Burn(2 * seconds)}});
}

constexpr Program kPrograms[] = {{"exit-fork", ExitFork},
                                 {"start-fork", StartFork},
                                 {"descriptors", Descriptors},
                                 {"sent-signal", SentSignal}};

}  // namespace

int main(int argc, char** argv) {
  const Program* const program = ChosenProgram({argv, static_cast<std::size_t>(argc)}, {kPrograms});
  if (program == nullptr) return 2;
  program->run(std::atof(argv[2]));
}
