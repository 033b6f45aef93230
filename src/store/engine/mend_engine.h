// Repairs what the embedded engine takes for stored although it is not on disk.
//
// Two cases. Killed between noting an insert's token and giving the part with the rows its name, it
// takes the same insert for done when the log is replayed (ADR 7). And it takes no notice of a
// write that failed, so that an insert or a merge ends in a part of empty files (ADR 8). Either way
// the broken part must be set aside, which the engine does when it attaches a table: the parts it
// was merged from, kept for eight minutes, count again; then the tokens of parts that are not there
// must be taken back, always before the next insert, which may get the number of the part that
// never was. The rows themselves come again from the log. A token that could not be written, of a
// part that could, is written then: its rows would count twice.
//
// One at a time. A table is away for some milliseconds, or until the last query that was reading it
// has ended: queries that come meanwhile wait (embedded_transport.cc).
#pragma once

#include <set>
#include <string>

#include "base/result.h"
#include "store/engine/failed_writes.h"
#include "store/engine/transport.h"

namespace wherefore::store {

// `away`: tables that an earlier attempt took away and could not bring back; empty after success.
// It says in the log what it mended.
[[nodiscard]] Result<> MendEngine(Transport& engine, const FailedWrites& failed,
                                  std::set<std::string>& away);

}  // namespace wherefore::store
