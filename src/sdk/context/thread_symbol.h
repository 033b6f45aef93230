// The exported TLS pointer `otel_thread_ctx_v1` by which readers outside find a thread's record.
//
// In a file of its own because it is compiled with the TLSDESC dialect (the access model readers
// look for first), which would make every other TLS access slow.
#pragma once

namespace wherefore::sdk {

// Points the symbol of this thread at `record`.
void SetThreadSymbol(void* record);
// What it points at on this thread. Safe in signal handlers after the first call of any thread.
[[nodiscard]] void* ThreadSymbol();
// The dynamic linker resolved the name to another definition: an executable that contains a copy of
// this library or another SDK.
[[nodiscard]] bool ThreadSymbolIsForeign();

}  // namespace wherefore::sdk
