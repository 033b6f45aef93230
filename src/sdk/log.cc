#include "sdk/log.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>

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
  std::string line = "wherefore: ";
  if (level == LogLevel::kError) line += "error: ";
  if (level == LogLevel::kWarn) line += "warning: ";
  line.append(text).push_back('\n');
  // Nobody to tell when stderr is closed, a broken pipe or over its limit.
  const QuietSignals quiet;
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
  errno = saved;
}

}  // namespace wherefore::sdk
