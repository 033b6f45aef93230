// How much memory this process may use: the lowest of what its cgroup, its own limits (ulimit -v,
// ulimit -d) and the machine allow. And how much it uses.
//
// Threads: any. A source that cannot be read sets no limit.
#pragma once

#include <cstddef>
#include <string>

namespace wherefore {

struct MemoryLimit {
  std::size_t bytes = SIZE_MAX;
  std::string of = "nothing";  // who sets the limit, for people: "the cgroup"
};
// `root` is prepended to /proc and the cgroup mounts, for tests.
[[nodiscard]] MemoryLimit FindMemoryLimit(const std::string& root = "");

// Memory of this process as the kernel counts it.
struct MemoryUse {
  std::size_t resident = 0;
  std::size_t anonymous = 0;      // resident and not backed by a file
  std::size_t address_space = 0;  // what ulimit -v limits
  std::size_t data = 0;           // what ulimit -d limits
};
// Takes a microsecond or two.
[[nodiscard]] MemoryUse ReadMemoryUse();

// What is left under ulimit -v and ulimit -d; SIZE_MAX without such limits.
[[nodiscard]] std::size_t AddressesLeft(const MemoryUse& use);

}  // namespace wherefore
