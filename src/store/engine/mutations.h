// Mutations: deletes and updates of rows, which the engine makes in its background, part by part.
// They are asked for all at once and then waited for, without a lock: inserts go on meanwhile, and
// a row inserted after a mutation was asked for is not touched by it.
//
// A mutation the engine has taken survives a restart and goes on by itself. One that fails, on a
// full disk, is tried again by the engine; whoever waits is told why.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/result.h"
#include "store/engine/schema.h"
#include "store/engine/transport.h"

namespace wherefore::store {

struct Mutation {
  Table table{};
  std::string change;        // "DELETE", or "UPDATE column = value"
  std::uint32_t bucket = 0;  // the only one it looks at
  std::string where;
};

// Hears how many parts are still to be written; false gives up waiting.
using StillWaiting = std::function<bool(std::uint64_t parts_left)>;

[[nodiscard]] Result<> Mutate(Transport& transport, std::span<const Mutation> mutations,
                              const StillWaiting& waiting);
// For all there are, also those asked for before a restart.
[[nodiscard]] Result<> WaitForMutations(Transport& transport, const StillWaiting& waiting);

}  // namespace wherefore::store
