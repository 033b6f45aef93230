#include "cli/token.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include <fmt/format.h>

#include "base/ascii.h"

namespace wherefore::cli {
namespace {

constexpr std::string_view kOption = "--token";

void Wipe(char* text) {
  explicit_bzero(text, std::strlen(text));
}

}  // namespace

std::vector<std::string> TakeArguments(int argc, char** argv) {
  std::vector<std::string> all(argv + std::min(argc, 1), argv + argc);
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    const std::string_view word = argv[i];
    if (word == kOption && i + 1 < argc) {
      Wipe(argv[++i]);
    } else if (word.starts_with(kOption) && word.substr(kOption.size()).starts_with('=')) {
      Wipe(argv[i] + kOption.size() + 1);
    }
  }
  return all;
}

// NOLINTBEGIN(concurrency-mt-unsafe): no other thread yet
std::string TakeVariable(const char* name) {
  char* const value = std::getenv(name);
  if (value == nullptr) return {};
  std::string text = value;
  Wipe(value);
  unsetenv(name);
  return text;
}
// NOLINTEND(concurrency-mt-unsafe)

Result<std::string> ReadToken(const std::string& file) {
  constexpr std::size_t kMostBytes = 4096;
  std::array<char, kMostBytes + 1> bytes{};
  std::size_t size = 0;
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  ssize_t got = fd < 0 ? -1 : 1;
  while (got > 0 && size < bytes.size()) {
    got = read(fd, bytes.data() + size, bytes.size() - size);
    size += static_cast<std::size_t>(std::max<ssize_t>(got, 0));
  }
  const int reason = errno;
  if (fd >= 0) close(fd);
  if (got < 0) {
    return Error(Code::kIo, fmt::format("cannot read the token in {}: {}", file,
                                        std::generic_category().message(reason)));
  }
  const std::string_view token = Trim(std::string_view(bytes.data(), size));
  const auto control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  if (token.empty() || token.size() > kMostBytes || std::ranges::any_of(token, control)) {
    // Never quote the file's content.
    return Error(
        Code::kInvalid,
        fmt::format("{} holds no token: expected one line of at most {} bytes", file, kMostBytes));
  }
  return std::string(token);
}

}  // namespace wherefore::cli
