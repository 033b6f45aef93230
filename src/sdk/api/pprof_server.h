// The pages under /debug/pprof/, as `go tool pprof` expects them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sdk/config/options.h"
#include "sdk/net/http_server.h"

namespace wherefore::sdk {

// Where profiles come from; uncompressed pprof.
struct PprofSource {
  // As things are now, or since the start.
  std::function<Result<std::string>(Type type)> now;
  std::function<Result<std::string>()> allocations;
  // Of some time: `end` or `drop` is called once for every `begin` that went well. `shown`: see
  // EndOperation.
  std::function<Result<std::uint64_t>(Type type)> begin;
  std::function<Result<std::string>(std::uint64_t operation, std::string_view shown)> end;
  std::function<void(std::uint64_t operation)> drop;
};

// index, profile, wall, offcpu, heap, allocs, mutex, block, threads (also as goroutine), cmdline,
// symbol. `?seconds=N` up to an hour.
void AddPprofRoutes(HttpServer& server, const PprofSource& source);

}  // namespace wherefore::sdk
