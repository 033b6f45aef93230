// What a server may use: options as people write them, and the numbers they mean on this machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>

#include "base/result.h"

namespace wherefore::cli {

struct Limits {
  std::int64_t retention_ns = 0;  // 0 keeps everything
  std::int64_t query_timeout_ns = 0;
  std::int64_t query_memory_bytes = 0;
  std::size_t connections = 0;  // of all ports
  std::size_t memory_bytes = 0;
};

struct LimitOptions {
  std::string retention;
  int query_timeout_seconds = 60;
  std::string query_memory = "1GiB";
  std::size_t max_connections = 10'000;
  std::string memory;

  void AddTo(CLI::App& command);
  // Raises this process's limit on open files as far as it may.
  [[nodiscard]] Result<Limits> Read() const;
};

}  // namespace wherefore::cli
