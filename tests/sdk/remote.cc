// A program for a server to control: works, allocates and waits without end, and answers on its
// standard output what it is asked on its input.
//
//   state   one line: type=on|off:rate:why ... for all types
//   fork    forks a child that does the same work, prints its process id
//   span    makes a request of some milliseconds
//   end of input: it ends, and so does the child
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "wherefore/tracer.h"
#include "wherefore/wherefore.h"

namespace {

std::atomic<bool> g_done{false};
std::mutex g_mutex;

void Work() {
  volatile double sum = 0;
  while (!g_done) {
    for (int i = 0; i < 100'000; ++i) sum = sum + i * 0.5;
    std::vector<char> memory(100'000);
    {
      const std::lock_guard lock(g_mutex);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    sum = sum + memory[1];
  }
}

void PrintState() {
  const char* const names[] = {"cpu", "wall", "off_cpu", "heap", "mutex", "block", "threads"};
  for (int type = 0; type < WHEREFORE_TYPE_COUNT; ++type) {
    wherefore_type_state state{};
    state.size = sizeof(state);
    wherefore_get_type_state(type, &state);
    std::printf("%s=%s:%g:%s;", names[type], state.on != 0 ? "on" : "off", state.rate, state.why);
  }
  std::printf("\n");
}

int Fork() {
  const pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::thread worker(Work);  // a thread, so that the profiler starts again
  worker.join();
  _exit(0);
}

}  // namespace

int main() {
  wherefore_options options;
  std::memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.service_name = "remote";
  if (std::getenv("CODE_SAYS_NO_HEAP") != nullptr) options.types[WHEREFORE_HEAP].enabled = -1;
  if (wherefore_start(&options) != WHEREFORE_OK) return 1;
  std::vector<std::thread> workers;
  for (int i = 0; i < 2; ++i) workers.emplace_back(Work);
  std::string line;
  while (std::getline(std::cin, line)) {
    if (line == "state") PrintState();
    if (line == "fork") std::printf("%d\n", Fork());
    if (line == "span") {
      const wherefore::Span span("request");
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      std::printf("done\n");
    }
    std::fflush(stdout);
  }
  g_done = true;
  for (std::thread& worker : workers) worker.join();
  return 0;
}
