#include "sdk/log.h"

#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <iterator>

#include "sdk/quiet_signals.h"

namespace wherefore::sdk {
namespace {

std::atomic<LogLevel> g_level{LogLevel::kInfo};

}  // namespace

void SetLogLevel(LogLevel level) {
  g_level.store(level, std::memory_order_relaxed);
}

bool LogEnabled(LogLevel level) {
  return level != LogLevel::kOff && level <= g_level.load(std::memory_order_relaxed);
}

void Log(LogLevel level, std::string_view text) {
  if (!LogEnabled(level)) return;
  const int saved = errno;
  constexpr std::string_view kBegin = "wherefore: ";
  const std::string_view grade = level == LogLevel::kError  ? "error: "
                                 : level == LogLevel::kWarn ? "warning: "
                                                            : "";
  // In pieces: a line about too little memory must not need any.
  const auto piece = [](std::string_view bytes) {
    return iovec{const_cast<char*>(bytes.data()), bytes.size()};
  };
  const iovec line[] = {piece(kBegin), piece(grade), piece(text), piece("\n")};
  // Nobody to tell when stderr is closed, a broken pipe or over its limit.
  const QuietSignals quiet;
  [[maybe_unused]] const ssize_t written = writev(STDERR_FILENO, line, std::size(line));
  errno = saved;
}

}  // namespace wherefore::sdk
