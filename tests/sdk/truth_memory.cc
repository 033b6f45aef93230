// Programs that know what they allocate and what they keep of it. See truth.h.
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "measure.h"
#include "truth.h"

namespace {

[[gnu::noinline]] void* AllocSmall() {
  return Stay(std::malloc(48));
}
[[gnu::noinline]] void* AllocMiddle() {
  return Stay(std::calloc(10, 400));
}
[[gnu::noinline]] void* AllocLarge() {
  return Stay(::operator new(300'000));
}

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

[[gnu::noinline]] void* KeepSmall() {
  return Stay(std::malloc(1000));
}
[[gnu::noinline]] void* KeepLarge() {
  return Stay(std::aligned_alloc(4096, 409'600));
}
[[gnu::noinline]] void* KeepNone() {
  return Stay(std::malloc(5000));
}
[[gnu::noinline]] void* KeepGrown(void* old) {
  return Stay(std::realloc(old, 20'000));
}

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
  Print({{"KeepSmall", 100'000 * 1000.0},
         {"KeepLarge", 600 * 409'600.0},
         {"KeepGrown", 5'000 * 20'000.0},
         {"KeepNone", 0}});
}

// Before and after a time in which so much is allocated that the distance between samples is
// raised.
[[gnu::noinline]] void* KeepEarly() {
  return Stay(std::malloc(65'536));
}
[[gnu::noinline]] void* KeepLate() {
  return Stay(std::calloc(16, 4096));
}

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

// Blocks far larger than the distance between samples: each of them is one. A hundred a second.
[[gnu::noinline]] void* AllocBlock() {
  return Stay(std::malloc(400'000));
}

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
void FirstTruth(double /*seconds*/) {
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
void* Left(unsigned path, int depth) {
  return Down(path, depth);
}
void* Right(unsigned path, int depth) {
  return Down(path, depth);
}

void StacksTruth(double /*seconds*/) {
  constexpr unsigned kStacks = 4096;
  for (unsigned path = 0; path < kStacks; ++path) {
    std::free(Down(path, 12));
    if (path % 256 == 0) usleep(50'000);  // the queue has room for two thousand
  }
  Print({{"blocks", kStacks}});
}

constexpr Program kPrograms[] = {
    {"alloc", AllocTruth},   {"live", LiveTruth},   {"live-twice", LiveTwiceTruth},
    {"blocks", BlocksTruth}, {"first", FirstTruth}, {"stacks", StacksTruth},
};

}  // namespace

std::span<const Program> MemoryPrograms() {
  return kPrograms;
}
