// A library that changes.cc loads and unloads, built as plugin_One and plugin_Two: BurnInOne(),
// AllocInOne(), FillInOne().
#include <cstdlib>

#include "measure.h"

#define JOIN(a, b) a##b
#define NAMED(what, name) JOIN(what, name)

// That much CPU time; gives how much it was.
extern "C" [[gnu::visibility("default")]] double NAMED(BurnIn, PLUGIN)(double seconds) {
  return Burn(seconds);
}

// Blocks nobody frees. The first of these does nothing after its call but return, which can be read
// from its code alone; the second needs a table to be followed.
extern "C" [[gnu::visibility("default")]] void* NAMED(AllocIn, PLUGIN)(std::size_t size) {
  return Stay(std::malloc(size));
}
extern "C" [[gnu::visibility("default")]] void* NAMED(FillIn, PLUGIN)(std::size_t size) {
  volatile char local[100];
  local[0] = 1;
  auto* const block = static_cast<char*>(std::malloc(size));
  if (block != nullptr) block[size - 1] = local[0];
  return block;
}
