#include "base/memory_limit.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

namespace wherefore {
namespace {

namespace fs = std::filesystem;

// A file with one number. None for "max" and for a missing file.
std::optional<std::size_t> ReadNumber(const fs::path& path) {
  std::ifstream file(path);
  std::size_t number = 0;
  if (file >> number) return number;
  return std::nullopt;
}

// Where a cgroup hierarchy is mounted, and which of its groups is at the mount point.
struct Mount {
  std::string group;
  std::string folder;
};

// An empty `controller` means cgroup v2.
std::optional<Mount> FindMount(const std::string& root, std::string_view controller) {
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream front(line.substr(0, dash));
    std::istringstream back(line.substr(dash + 3));
    std::string skipped;
    Mount mount;
    front >> skipped >> skipped >> skipped >> mount.group >> mount.folder;
    std::string type;
    std::string options;
    back >> type >> skipped >> options;
    const bool found =
        controller.empty()
            ? type == "cgroup2"
            : type == "cgroup" &&
                  ("," + options + ",").contains("," + std::string(controller) + ",");
    if (found) return mount;
  }
  return std::nullopt;
}

// The group of this process in a controller's hierarchy (empty: cgroup v2).
std::string GroupOf(const std::string& root, std::string_view controller) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string names = "," + line.substr(first + 1, second - first - 1) + ",";
    if (names.contains("," + std::string(controller) + ",")) return line.substr(second + 1);
  }
  return "/";
}

// The lowest limit of the group and its ancestors.
std::size_t LeastLimit(const std::string& root, std::string_view controller,
                       std::initializer_list<const char*> files) {
  std::size_t least = SIZE_MAX;
  const std::optional<Mount> mount = FindMount(root, controller);
  if (!mount) return least;
  const fs::path top = root + mount->folder;
  // In a container the mount may show only the inner groups.
  std::string group = GroupOf(root, controller);
  if (mount->group != "/" && group.starts_with(mount->group)) {
    group = group.substr(mount->group.size());
  }
  std::error_code ignored;
  fs::path folder = top / fs::path(group).relative_path();
  if (!fs::is_directory(folder, ignored)) folder = top;
  while (true) {
    for (const char* name : files) {
      least = std::min(least, ReadNumber(folder / name).value_or(SIZE_MAX));
    }
    if (folder == top || !folder.has_relative_path()) return least;
    folder = folder.parent_path();
  }
}

std::size_t SoftLimit(int resource) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return SIZE_MAX;
  return limit.rlim_cur == RLIM_INFINITY ? SIZE_MAX : limit.rlim_cur;
}

std::size_t PageBytes() {
  static const auto kBytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return kBytes;
}

}  // namespace

MemoryLimit FindMemoryLimit(const std::string& root) {
  MemoryLimit limit;
  const auto consider = [&](std::size_t bytes, const char* of) {
    if (bytes < limit.bytes) limit = {.bytes = bytes, .of = of};
  };
  const auto pages = sysconf(_SC_PHYS_PAGES);
  if (pages > 0) consider(static_cast<std::size_t>(pages) * PageBytes(), "the machine");
  consider(LeastLimit(root, "memory", {"memory.limit_in_bytes"}), "the cgroup");
  consider(LeastLimit(root, "", {"memory.max", "memory.high"}), "the cgroup");
  const MemoryUse use = ReadMemoryUse();
  const std::size_t addresses = AddressesLeft(use);
  if (addresses != SIZE_MAX) consider(use.anonymous + addresses, "ulimit");
  return limit;
}

MemoryUse ReadMemoryUse() {
  static const int kFile = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  char text[128];
  const ssize_t size = pread(kFile, text, sizeof text, 0);
  // size, resident, shared, code, (0), data; in pages
  std::size_t numbers[6] = {};
  const char* at = text;
  for (std::size_t& number : numbers) {
    while (at < text + size && *at == ' ') ++at;
    const auto [end, error] = std::from_chars(at, text + std::max<ssize_t>(size, 0), number);
    if (error != std::errc()) return {};
    at = end;
  }
  return {.resident = numbers[1] * PageBytes(),
          .anonymous = (numbers[1] - std::min(numbers[1], numbers[2])) * PageBytes(),
          .address_space = numbers[0] * PageBytes(),
          .data = numbers[5] * PageBytes()};
}

std::size_t AddressesLeft(const MemoryUse& use) {
  static const std::size_t kAddresses = SoftLimit(RLIMIT_AS);
  static const std::size_t kData = SoftLimit(RLIMIT_DATA);
  std::size_t left = SIZE_MAX;
  if (kAddresses != SIZE_MAX) left = kAddresses - std::min(kAddresses, use.address_space);
  if (kData != SIZE_MAX) left = std::min(left, kData - std::min(kData, use.data));
  return left;
}

}  // namespace wherefore
