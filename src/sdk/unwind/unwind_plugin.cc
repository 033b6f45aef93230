// A library the tests of the unwinder load, unload and load again: a few frames of its own around a
// call back. Two builds of it differ in layout, so rows of one are wrong for the other.
#include <cstdlib>

namespace {

[[gnu::noinline]] int Inner(int (*call)(void*), void* argument, int n) {
#ifdef PLUGIN_b
  volatile char frame[1200];
  frame[n & 1023] = 1;
  return call(argument) + frame[n & 1023];
#else
  return call(argument) + n;
#endif
}

}  // namespace

extern "C" int PluginRun(int (*call)(void*), void* argument, int n) {
#ifdef PLUGIN_b
  volatile long padding[64];
  padding[n & 63] = n;
  return Inner(call, argument, n) * 3 + static_cast<int>(padding[n & 63]);
#else
  return Inner(call, argument, n) + 1;
#endif
}

// A tiny function to be called through the PLT of another library.
extern "C" int PluginTiny(int n) {
  return n ^ 5;
}
