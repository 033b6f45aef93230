// The limits of a server: options as written, and the numbers they mean on this machine. One
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/result.h"
#include "store/retention.h"

namespace wherefore::cli {

struct Limits {
  store::RetentionRules retention;
  std::int64_t flush_interval_ns = 0;
  std::int64_t hours_wait_ns = 0;
  std::int64_t evidence_ns = 0;  // 0: none is kept
  std::int64_t query_timeout_ns = 0;
  std::int64_t query_memory_bytes = 0;
  std::size_t query_cache_bytes = 0;
  std::size_t connections = 0;  // of all ports together
  std::size_t memory_bytes = 0;
};

struct LimitOptions {
  std::string retention;
  std::vector<std::string> tenant_retention;
  std::string flush_interval = "15s";
  std::string hours_wait = "10m";
  std::string evidence = "14d";
  int query_timeout_seconds = 60;
  std::string query_memory = "1GiB";
  std::string query_cache = "128MiB";
  std::size_t max_connections = 10'000;
  std::string memory;

  void AddTo(CLI::App& command);
  // Also raises this process's limit on open files as far as allowed.
  [[nodiscard]] Result<Limits> Read() const;
};

}  // namespace wherefore::cli
