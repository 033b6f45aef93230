// Functions that are found at run time, for programs that are not linked with what has them.
//
// Any thread.
#pragma once

#include <dlfcn.h>

// Null where there is none of that name; `where` is as dlsym has it.
template <typename Function>
[[nodiscard]] Function* Lookup(void* where, const char* name) {
  return reinterpret_cast<Function*>(dlsym(where, name));
}

// A function of the library that is preloaded, by its declaration in wherefore.h; null where none
// is.
#define PRELOADED_FUNCTION(name) Lookup<decltype(name)>(RTLD_DEFAULT, #name)
