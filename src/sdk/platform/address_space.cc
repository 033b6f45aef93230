#include "sdk/platform/address_space.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <limits>

namespace wherefore::sdk {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

std::int64_t Left(__rlimit_resource which, std::int64_t used) {
  rlimit limit{};
  if (getrlimit(which, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kNoLimit;
  const auto allowed = static_cast<std::int64_t>(std::min<rlim_t>(limit.rlim_cur, kNoLimit));
  return std::max<std::int64_t>(allowed - used, 0);
}

}  // namespace

std::int64_t AddressSpaceLeft() {
  char text[160] = {};  // seven numbers of pages; a FILE would want a buffer
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return kNoLimit;
  const ssize_t got = read(file, text, sizeof(text) - 1);
  close(file);
  long long size = 0;
  long long data = 0;
  if (got <= 0 || std::sscanf(text, "%lld %*d %*d %*d %*d %lld", &size, &data) != 2)
    return kNoLimit;
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  return std::min(Left(RLIMIT_AS, size * page), Left(RLIMIT_DATA, data * page));
}

}  // namespace wherefore::sdk
