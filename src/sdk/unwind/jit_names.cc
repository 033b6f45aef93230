#include "sdk/unwind/jit_names.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/clock.h"

namespace wherefore::sdk {
namespace {

constexpr std::int64_t kRefreshNs = 1'000'000'000;
// What is behind either has no name; a compiler that writes for days must not fill our memory.
constexpr std::uint64_t kMostBytes = 64 << 20;
constexpr std::size_t kMostFunctions = 300'000;
constexpr std::size_t kMostName = 512;

// The hexadecimal number before the next space, which both go.
bool TakeNumber(std::string_view& line, std::uint64_t& number) {
  if (line.starts_with("0x")) line.remove_prefix(2);
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number, 16);
  if (error != std::errc()) return false;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  if (!line.starts_with(' ')) return false;
  line.remove_prefix(1);
  return true;
}

}  // namespace

std::string_view JitNames::Find(std::uint64_t address) {
  if (MonotonicNs() - refreshed_ns_ > kRefreshNs) Refresh();
  auto at = functions_.upper_bound(address);
  if (at == functions_.begin()) return {};
  --at;
  return address - at->first < at->second.size ? at->second.name : std::string_view{};
}

void JitNames::Refresh() {
  refreshed_ns_ = MonotonicNs();
  // Anyone may write into /tmp: neither a link nor a pipe nor another user's file is followed.
  const std::string path = folder_ + "/perf-" + std::to_string(getpid()) + ".map";
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return;
  struct stat status = {};
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid()) {
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (inode_ != status.st_ino || size < read_) {  // another file
      functions_.clear();
      read_ = 0;
    }
    inode_ = status.st_ino;
    ReadAppended(file, std::min(size, kMostBytes));
  }
  close(file);
}

void JitNames::ReadAppended(int file, std::uint64_t size) {
  std::string text;
  std::array<char, 16384> buffer{};
  while (read_ + text.size() < size) {
    const ssize_t got =
        pread(file, buffer.data(), buffer.size(), static_cast<off_t>(read_ + text.size()));
    if (got <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
    // A line that is still being written waits for its end.
    const std::size_t end = text.rfind('\n');
    if (end == std::string::npos) continue;
    for (std::size_t from = 0; from <= end;) {
      const std::size_t to = text.find('\n', from);
      AddLine(std::string_view(text).substr(from, to - from));
      from = to + 1;
    }
    read_ += end + 1;
    text.erase(0, end + 1);
  }
}

void JitNames::AddLine(std::string_view line) {
  std::uint64_t start = 0;
  std::uint64_t size = 0;
  if (!TakeNumber(line, start) || !TakeNumber(line, size) || line.empty() || size == 0) return;
  if (functions_.size() >= kMostFunctions && !functions_.contains(start)) return;
  functions_[start] = {.size = size, .name = std::string(line.substr(0, kMostName))};
}

}  // namespace wherefore::sdk
