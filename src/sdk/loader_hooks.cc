// dlclose, as the host program calls it: what was sampled in a library is put to its name before it
// goes, and what comes in its place is not taken for it.
//
// dlopen has no hook: it looks for files by who called it. A stack through what it brought is kept
// until the map knows it (capture.cc). Any thread.
#include <dlfcn.h>

#include "sdk/capture.h"
#include "sdk/engine.h"
#include "sdk/next_function.h"
#include "sdk/thread_state.h"

extern "C" WHEREFORE_HOOK int dlclose(void* handle) noexcept {
  using wherefore::sdk::CallNext;
  using wherefore::sdk::Engine;
  Engine* const engine = wherefore::sdk::t_state.busy > 0 ? nullptr : Engine::Get();
  if (engine == nullptr) return CallNext<"dlclose", int>(handle);
  engine->BeforeUnload();
  const int result = CallNext<"dlclose", int>(handle);
  engine->AfterUnload();
  return result;
}
