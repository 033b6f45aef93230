// The number this server writes under: part of every dictionary's key, so that ids of one are never
// those of another. Called once, at the start.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "store/engine/transport.h"

namespace wherefore::store {

struct DataPaths;

// As the file `writer` says. If that is missing or damaged: one above all that are in use, so that
// nothing is written into a dictionary that may be closed.
[[nodiscard]] Result<std::uint32_t> OwnWriterNumber(const DataPaths& paths, Transport& transport);

}  // namespace wherefore::store
