#include "sdk/platform/task_list.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

namespace wherefore::sdk {
namespace {

struct DirectoryEntry {  // linux_dirent64, which no header declares
  std::uint64_t inode;
  std::int64_t offset;
  std::uint16_t length;
  std::uint8_t type;
  char name[1];
};

}  // namespace

const char* WhyThreadIdsDiffer() {
  std::array<char, 24> number{};
  const ssize_t length = readlink("/proc/self", number.data(), number.size() - 1);
  const bool other = length > 0 && std::strtol(number.data(), nullptr, 10) != getpid();
  return other ? "/proc here belongs to another PID namespace" : "";
}

// Every thread is a directory, and a directory has a link from each of those in it, beside its own
// two.
std::optional<std::int64_t> CountThreads() {
  struct stat found{};
  if (stat("/proc/self/task", &found) != 0 || found.st_nlink < 3) return std::nullopt;
  return static_cast<std::int64_t>(found.st_nlink) - 2;
}

bool ListThreads(std::vector<std::uint32_t>& tids) {
  tids.clear();
  const int directory = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return false;
  alignas(8) std::array<char, 4096> buffer;
  long got = 0;
  while ((got = syscall(SYS_getdents64, directory, buffer.data(), buffer.size())) > 0) {
    for (long at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const DirectoryEntry*>(buffer.data() + at);
      if (entry->name[0] != '.') {
        tids.push_back(static_cast<std::uint32_t>(std::strtoul(entry->name, nullptr, 10)));
      }
      at += entry->length;
    }
  }
  close(directory);
  return true;
}

bool FirstThreadEnded() {
  std::array<char, 128> text{};
  const int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t got = read(file, text.data(), text.size());
  close(file);
  // "pid (name) state ...", and a name may hold anything.
  const std::string_view line(text.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  const std::size_t end = line.rfind(')');
  return end != std::string_view::npos && line.substr(end).starts_with(") Z");
}

}  // namespace wherefore::sdk
