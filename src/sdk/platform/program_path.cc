#include "sdk/platform/program_path.h"

#include <limits.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace wherefore::sdk {

std::string ProgramPath() {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  if (length > 0) return {path.data(), static_cast<std::size_t>(length)};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel gives an address as a number
  const auto* const started = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  return started != nullptr && realpath(started, path.data()) != nullptr ? path.data() : "";
}

}  // namespace wherefore::sdk
