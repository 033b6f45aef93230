// dlclose, as the host program calls it: what was sampled in a library gets its names before the
// library goes, and a library that is loaded in its place is not mistaken for it.
//
// dlopen has no hook, because where it looks for files depends on its caller. A stack through a new
// library is kept until the map knows it (capture.cc). Any thread.
#include <dlfcn.h>

#include "sdk/collect/collector.h"
#include "sdk/platform/next_function.h"
#include "sdk/platform/thread_state.h"
#include "sdk/sample/capture.h"

extern "C" WHEREFORE_HOOK int dlclose(void* handle) noexcept {
  using wherefore::sdk::CallNext;
  using wherefore::sdk::Collector;
  Collector* const collector = wherefore::sdk::t_state.busy > 0 ? nullptr : Collector::Get();
  if (collector == nullptr) return CallNext<"dlclose", int>(handle);
  collector->BeforeUnload();
  const int result = CallNext<"dlclose", int>(handle);
  collector->AfterUnload();
  return result;
}
