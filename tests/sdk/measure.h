// Shared by the programs that know their own profile (truth.cc, changes.cc): clocks, work, and the
// truth as one line of JSON, {"function": number, ...}, which tests/preload.py reads.
//
// Any thread, except Print(), which is called at the end.
#pragma once

#include <time.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <string>

inline double ClockNow(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}
inline double Wall() {
  return ClockNow(CLOCK_MONOTONIC);
}
inline double Cpu() {
  return ClockNow(CLOCK_THREAD_CPUTIME_ID);
}

inline void Print(const std::map<std::string, double>& truth) {
  std::printf("{");
  const char* comma = "";
  for (const auto& [name, value] : truth) {
    std::printf("%s\"%s\": %.9g", comma, name.c_str(), value);
    comma = ", ";
  }
  std::printf("}\n");
  std::fflush(stdout);
}

inline volatile double g_sink;

[[gnu::always_inline]] inline void Work(int rounds) {
  double x = g_sink;
  for (int i = 0; i < rounds; ++i) x = std::sqrt(x + i);
  g_sink = x;
}

// Uses this much CPU time of the calling thread; returns how much it was. Reads the clock seldom,
// because the scheduler likes to switch at system calls.
[[gnu::always_inline]] inline double Burn(double seconds) {
  const double begin = Cpu();
  while (Cpu() < begin + seconds) Work(50'000);
  return Cpu() - begin;
}

// Keeps the calling function on the stack: otherwise the compiler would make its last call a jump.
template <typename Value>
[[gnu::always_inline]] inline Value Stay(Value value) {
  asm volatile("" : "+r"(value));
  return value;
}
