// What the in-process profiler costs, measured inside one process.
//
// The profiler is switched on and off in slices, on-off-off-on, each the same amount of work; a
// slice's cost is the CPU time of the whole process, so the profiler's own threads count too. Of
// the ratios of neighbouring pairs the middle 80 % is averaged. Whole runs with and without cannot
// resolve one percent on a shared machine; this resolves a tenth of that in ten seconds.
//
//   sdk_overhead [--seconds 10] [--program busy|alloc|lock|contended|both|server|all] [--type
//   cpu|...|all|each]
//
// "both" is the budget's program: one malloc/free and one lock/unlock pair per microsecond of work.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <wherefore/profiler.h>

#include "sdk_programs.h"

namespace {

using wherefore::Profiler;
using wherefore::Type;

using namespace wherefore::bench;  // NOLINT(google-build-using-namespace): this file is about
                                   // nothing else

struct Program {
  const char* name;
  std::function<void()> slice;
};

struct Choice {
  const char* name;
  std::vector<Type> types;
};

void Switch(const Choice& choice, bool on) {
  for (const Type type : choice.types) Profiler::Enable(type, on);
}

double TimedSlice(const Program& program) {
  const double start = ProcessCpu();
  program.slice();
  return ProcessCpu() - start;
}

struct Estimate {
  double percent = 0;
  double error = 0;  // 95 %
  int pairs = 0;
};

Estimate Measure(const Program& program, const Choice& choice, double seconds) {
  std::vector<double> ratios;
  timespec began{};
  clock_gettime(CLOCK_MONOTONIC, &began);
  const auto elapsed = [&] {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec - began.tv_sec) +
           (static_cast<double>(now.tv_nsec - began.tv_nsec) * 1e-9);
  };
  while (elapsed() < seconds || ratios.size() < 20) {
    double cost[2] = {0, 0};
    for (const bool on : {true, false, false, true}) {
      Switch(choice, on);
      cost[on ? 1 : 0] += TimedSlice(program);
    }
    ratios.push_back(cost[1] / cost[0]);
  }
  Switch(choice, false);
  std::sort(ratios.begin(), ratios.end());
  const std::size_t cut = ratios.size() / 10;
  const std::vector<double> middle(ratios.begin() + static_cast<long>(cut),
                                   ratios.end() - static_cast<long>(cut));
  double sum = 0;
  for (const double ratio : middle) sum += ratio;
  const double mean = sum / static_cast<double>(middle.size());
  double squares = 0;
  for (const double ratio : middle) squares += (ratio - mean) * (ratio - mean);
  const double deviation = std::sqrt(squares / static_cast<double>(middle.size()));
  return {.percent = (mean - 1) * 100,
          .error = 1.96 * deviation / std::sqrt(static_cast<double>(middle.size())) * 100,
          .pairs = static_cast<int>(ratios.size())};
}

}  // namespace

int main(int argc, char** argv) {
  double seconds = 10;
  std::string only_program = "all";
  std::string only_type = "each";
  for (int i = 1; i < argc; i += 2) {
    const std::string option = argv[i];
    const char* const value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (value != nullptr && option == "--seconds") {
      seconds = std::atof(value);
    } else if (value != nullptr && option == "--program") {
      only_program = value;
    } else if (value != nullptr && option == "--type") {
      only_type = value;
    } else {
      std::fprintf(stderr,
                   "usage: sdk_overhead [--seconds 10] [--program "
                   "busy|alloc|lock|contended|both|server|all]\n"
                   "                    [--type cpu|wall|heap|mutex|block|threads|all|each]\n");
      return option == "--help" ? 0 : 2;
    }
  }
  wherefore::Options options;
  options.service_name = "sdk-overhead";
  options.manual_start = true;
  const Profiler profiler = Profiler::Start(options);
  if (!profiler) {
    std::fprintf(stderr, "sdk_overhead: the profiler did not start (%s)\n",
                 wherefore_status_text(profiler.status()));
    return 1;
  }

  const int rounds = RoundsPerMicrosecond();
  std::unique_ptr<Server> server;
  std::unique_ptr<Contended> contended;
  const std::vector<Program> programs = {
      {"busy", [=] { Busy(rounds); }}, {"alloc", [=] { Alloc(rounds); }},
      {"lock", [=] { Lock(rounds); }}, {"contended", [&] { contended->Slice(); }},
      {"both", [=] { Both(rounds); }}, {"server", [&] { server->Slice(); }}};
  const std::vector<Choice> choices = {{"cpu", {Type::kCpu}},
                                       {"wall", {Type::kWall, Type::kOffCpu}},
                                       {"heap", {Type::kHeap}},
                                       {"mutex", {Type::kMutex}},
                                       {"block", {Type::kBlock}},
                                       {"threads", {Type::kThreads}},
                                       {"all",
                                        {Type::kCpu, Type::kWall, Type::kOffCpu, Type::kHeap,
                                         Type::kMutex, Type::kBlock, Type::kThreads}}};
  std::printf("%-9s %-8s %10s %10s %6s\n", "program", "type", "cost %", "+-", "pairs");
  for (const Program& program : programs) {
    if (only_program != "all" && only_program != program.name) continue;
    if (std::strcmp(program.name, "contended") == 0) contended = std::make_unique<Contended>();
    if (std::strcmp(program.name, "server") == 0) server = std::make_unique<Server>(rounds);
    for (const Choice& choice : choices) {
      if (only_type != "each" && only_type != choice.name) continue;
      const Estimate estimate = Measure(program, choice, seconds);
      std::printf("%-9s %-8s %10.3f %10.3f %6d\n", program.name, choice.name, estimate.percent,
                  estimate.error, estimate.pairs);
      std::fflush(stdout);
    }
  }
  std::quick_exit(0);  // without joining a thousand threads
}
