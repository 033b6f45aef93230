// Finds functions at run time, for programs that are not linked with their library. Any thread.
#pragma once

#include <dlfcn.h>

// Null if there is none of that name; `where` as for dlsym.
template <typename Function>
[[nodiscard]] Function* Lookup(void* where, const char* name) {
  return reinterpret_cast<Function*>(dlsym(where, name));
}

// A function of the preloaded library, by its declaration in wherefore.h; null if there is none.
#define PRELOADED_FUNCTION(name) Lookup<decltype(name)>(RTLD_DEFAULT, #name)
