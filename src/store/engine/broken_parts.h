// Parts of the engine that cannot be read: found, checked, and set aside, so that the rest answers.
//
// A part whose files are damaged makes every query fail that touches it, for ever. The engine
// names it in its message, or the tables of the query are checked. Only what the engine itself
// finds broken is detached; its files stay in the table's folder `detached`.
//
// Threads: any, one at a time.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/engine/transport.h"

namespace wherefore::store {

// Plain access to the engine, without the handling of broken parts.
struct PlainEngine {
  std::function<Result<std::string>(const std::string& sql)> query;  // Native blocks
  std::function<Result<>(const std::string& sql)> execute;
};

// The part that a message of the engine is about; no table: it names none.
[[nodiscard]] BrokenPart PartInMessage(std::string_view message);
// What was set aside because `sql` failed with `message`.
[[nodiscard]] std::vector<BrokenPart> SetBrokenPartsAside(const PlainEngine& engine,
                                                          std::string_view sql,
                                                          std::string_view message);

}  // namespace wherefore::store
