// The pages under /debug/pprof/ that `go tool pprof` and people know.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "sdk/http_server.h"
#include "sdk/options.h"

namespace wherefore::sdk {

// Where profiles come from (the engines); uncompressed pprof.
struct PprofSource {
  std::function<Result<std::string>(Type type, double seconds)> collect;
  std::function<Result<std::string>(double seconds)> allocations;
};

// index, profile, wall, offcpu, heap, allocs, mutex, block, threads (also as goroutine), cmdline,
// symbol. `?seconds=N` up to an hour.
void AddPprofRoutes(HttpServer& server, const PprofSource& source);

}  // namespace wherefore::sdk
