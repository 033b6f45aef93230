#include "sdk/platform/stack_bounds.h"

#include <pthread.h>

#include <cstdio>

namespace wherefore::sdk {

StackBounds ThisThreadStack() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {};
  void* low = nullptr;
  std::size_t size = 0;
  StackBounds bounds;
  if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
    bounds.low = reinterpret_cast<std::uintptr_t>(low);
    bounds.high = bounds.low + size;
  }
  pthread_attr_destroy(&attributes);
  return bounds;
}

StackBounds MappingAround(std::uintptr_t address) {
  FILE* maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return {};
  StackBounds bounds;
  char line[512];
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    unsigned long low = 0;
    unsigned long high = 0;
    if (std::sscanf(line, "%lx-%lx", &low, &high) != 2) continue;
    if (address < low || address >= high) continue;
    bounds = {.low = low, .high = high};
    break;
  }
  std::fclose(maps);
  return bounds;
}

}  // namespace wherefore::sdk
