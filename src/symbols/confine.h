// Confines the worker: afterwards the process can read files and answer, and nothing else.
//
// A small seccomp filter of our own: one architecture, some thirty system calls, no library. Even
// if a crafted file takes over libdw, the process cannot write files, start programs, open
// connections, send signals or map code; such calls fail with EPERM. It can still open what its
// user may read. For a single-threaded process, before it reads untrusted files.
#pragma once

#include "base/result.h"

namespace wherefore::symbols {

// The error says what the kernel (or an outer sandbox) refused.
[[nodiscard]] Result<> ConfineToReading();

}  // namespace wherefore::symbols
