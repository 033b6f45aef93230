// How much memory this process may use: the least of what its cgroup, its own limits (ulimit -v,
// ulimit -d) and the machine allow. And how much it uses.
//
// Threads: any. Failure: what cannot be read limits nothing.
#pragma once

#include <cstddef>
#include <string>

namespace wherefore {

struct MemoryLimit {
  std::size_t bytes = SIZE_MAX;
  std::string of = "nothing";  // "the cgroup", for people
};
// `root`: where /proc and the cgroups are looked for; tests have their own.
[[nodiscard]] MemoryLimit FindMemoryLimit(const std::string& root = "");

// Of this process, as the kernel counts.
struct MemoryUse {
  std::size_t resident = 0;
  std::size_t anonymous = 0;      // of these, what is of no file
  std::size_t address_space = 0;  // what ulimit -v limits
  std::size_t data = 0;           // what ulimit -d limits
};
// A microsecond or two.
[[nodiscard]] MemoryUse ReadMemoryUse();

// What ulimit -v and -d leave of themselves; SIZE_MAX without such limits.
[[nodiscard]] std::size_t AddressesLeft(const MemoryUse& use);

}  // namespace wherefore
