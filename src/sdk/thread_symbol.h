// The exported TLS pointer `otel_thread_ctx_v1` by which readers outside find a thread's record.
//
// In a file of its own because it is compiled with the TLSDESC dialect (the access model readers
// look for first), which would make every other TLS access slow.
#pragma once

namespace wherefore::sdk {

// Lets the symbol of this thread lead to `record`.
void SetThreadSymbol(void* record);
// Where it leads on this thread. Safe in signal handlers after the first call of any thread.
[[nodiscard]] void* ThreadSymbol();
// The dynamic linker gave the name to somebody else: an executable with a copy of this library, or
// another SDK, inside.
[[nodiscard]] bool ThreadSymbolIsForeign();

}  // namespace wherefore::sdk
