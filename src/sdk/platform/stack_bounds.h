// Where stacks are. Ordinary context.
#pragma once

#include <cstdint>

namespace wherefore::sdk {

struct StackBounds {
  std::uintptr_t low = 0;  // both 0: not known
  std::uintptr_t high = 0;
};

// Of the calling thread.
StackBounds ThisThreadStack();
// The mapping an address of a stack lies in.
StackBounds MappingAround(std::uintptr_t address);

}  // namespace wherefore::sdk
