// ClickHouse inside this process: libchdb, loaded when the first store is opened.
//
// The library is searched in $WHEREFORE_LIBCHDB, beside the executable, in ../lib/wherefore, and
// where the build put it. A process can have one engine directory open at a time (the library's
// rule).
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "store/engine/transport.h"

namespace wherefore::store {

struct EmbeddedOptions {
  std::string path;          // the engine's own directory
  int read_connections = 8;  // more than large queries run at a time (net/worker_pool.cc)
  std::size_t memory_bytes = std::size_t{4000} << 20;  // all statements and merges together
};

[[nodiscard]] Result<std::unique_ptr<Transport>> OpenEmbedded(const EmbeddedOptions& options);

}  // namespace wherefore::store
