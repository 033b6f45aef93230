#include "sdk/context/thread_symbol.h"

#include "wherefore/wherefore.h"

extern "C" {
WHEREFORE_API __thread void* otel_thread_ctx_v1 = nullptr;
// The same variable under a name that no other definition can replace.
extern __thread void* wherefore_own_thread_ctx
    __attribute__((alias("otel_thread_ctx_v1"), visibility("hidden")));
}

namespace wherefore::sdk {

#ifdef WHEREFORE_NO_HOOKS
// Without a dynamic linker there is no other definition, and a reference to a name that is exported
// would need one: a static-pie that has such a relocation does not start.
#define WHEREFORE_PUBLISHED wherefore_own_thread_ctx
bool ThreadSymbolIsForeign() {
  return false;
}
#else
#define WHEREFORE_PUBLISHED otel_thread_ctx_v1
bool ThreadSymbolIsForeign() {
  return &otel_thread_ctx_v1 != &wherefore_own_thread_ctx;
}
#endif

void SetThreadSymbol(void* record) {
  WHEREFORE_PUBLISHED = record;
}

void* ThreadSymbol() {
  return WHEREFORE_PUBLISHED;
}

}  // namespace wherefore::sdk
