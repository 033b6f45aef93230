// Confinement of the worker: from here on this process can read files and answer, and nothing else.
//
// A filter of system calls (seccomp), our own: one architecture, some thirty calls, and no library
// for it. Whatever a crafted file makes of libdw, the process writes no file, starts no program,
// opens no connection, signals nobody and maps no code; such calls fail with EPERM. It may still
// open what its user may read. For a process with one thread, before it reads what strangers
// wrote.
#pragma once

#include "base/result.h"

namespace wherefore::symbols {

// The error says what the kernel, or whoever confined us before, refused.
[[nodiscard]] Result<> ConfineToReading();

}  // namespace wherefore::symbols
