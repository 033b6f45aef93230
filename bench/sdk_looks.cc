// A program of many threads that wait, for bench/sdk_looks, which preloads libwherefore into it.
//
//   sdk_looks_program THREADS SECONDS BUSY
//
// BUSY of the threads are woken a hundred times a second each and wait again. Prints what the
// profiler's own threads used, in microseconds per second, "wall collector exporter", and what the
// whole process used: from the first second to the tenth, and from the twelfth on.
#include <dirent.h>
#include <semaphore.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

double Now(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + (static_cast<double>(now.tv_nsec) * 1e-9);
}

// Microseconds of CPU time so far, by the thread's name.
std::map<std::string, double> CpuByThreadName() {
  std::map<std::string, double> used;
  DIR* const tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return used;
  while (const dirent* task = readdir(tasks)) {
    if (task->d_name[0] == '.') continue;
    std::string name;
    std::getline(std::ifstream("/proc/self/task/" + std::string(task->d_name) + "/comm"), name);
    const auto clock = static_cast<clockid_t>((~std::strtoul(task->d_name, nullptr, 10) << 3) | 6);
    used[name] += Now(clock) * 1e6;
  }
  closedir(tasks);
  return used;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: sdk_looks_program THREADS SECONDS BUSY\n");
    return 2;
  }
  const int threads = std::atoi(argv[1]);
  const double seconds = std::atof(argv[2]);
  const int busy = std::atoi(argv[3]);
  const auto seats = std::make_unique<sem_t[]>(static_cast<std::size_t>(threads));
  for (int i = 0; i < threads; ++i) {
    sem_init(&seats[static_cast<std::size_t>(i)], 0, 0);
    std::thread([seat = &seats[static_cast<std::size_t>(i)]] {
      for (;;) sem_wait(seat);
    }).detach();
  }
  const auto work = [&](double until) {
    while (Now(CLOCK_MONOTONIC) < until) {
      for (int i = 0; i < busy; ++i) sem_post(&seats[static_cast<std::size_t>(i)]);
      usleep(10'000);
    }
  };
  const double start = Now(CLOCK_MONOTONIC);
  const auto print_from_to = [&](double from, double to) {
    work(start + from);
    std::map<std::string, double> before = CpuByThreadName();
    const double process = Now(CLOCK_PROCESS_CPUTIME_ID);
    work(start + to);
    std::map<std::string, double> after = CpuByThreadName();
    for (const char* name : {"wherefore-wall", "wherefore", "wherefore-send"})
      std::printf("%.1f ", (after[name] - before[name]) / (to - from));
    std::printf("%.1f\n", (Now(CLOCK_PROCESS_CPUTIME_ID) - process) * 1e6 / (to - from));
  };
  print_from_to(1, 10);
  print_from_to(12, 12 + seconds);
  std::fflush(stdout);
  std::quick_exit(0);  // without waiting for threads that wait
}
