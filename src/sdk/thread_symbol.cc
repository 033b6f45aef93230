#include "sdk/thread_symbol.h"

#include "wherefore/wherefore.h"

extern "C" {
WHEREFORE_API __thread void* otel_thread_ctx_v1 = nullptr;
// The same variable under a name nobody can put another in front of.
extern __thread void* wherefore_own_thread_ctx
    __attribute__((alias("otel_thread_ctx_v1"), visibility("hidden")));
}

namespace wherefore::sdk {

void SetThreadSymbol(void* record) {
  otel_thread_ctx_v1 = record;
}

void* ThreadSymbol() {
  return otel_thread_ctx_v1;
}

bool ThreadSymbolIsForeign() {
  return &otel_thread_ctx_v1 != &wherefore_own_thread_ctx;
}

}  // namespace wherefore::sdk
