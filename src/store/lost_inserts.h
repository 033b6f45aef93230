// Inserts that the engine noted and did not make.
//
// The engine writes the token of an insert into a list of its own before the part with the rows gets
// its name. Killed in between, it takes the same insert for done when the log is replayed, and
// acknowledged rows are gone. A part that a power cut left half on disk, and that the engine put
// aside when it started, is the same case: noted, and not there.
//
// After the engine was opened and after an insert that failed, always before the next insert, which
// may get the number of the part that never was. Where there are such tokens, their table is away
// for some milliseconds.
#pragma once

#include "base/result.h"
#include "store/transport.h"

namespace wherefore::store {

// Makes an embedded engine forget such tokens. It says so in the log.
[[nodiscard]] Result<> ForgetLostInserts(Transport& engine);

}  // namespace wherefore::store
