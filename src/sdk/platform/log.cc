#include "sdk/platform/log.h"

#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <iterator>

#include "sdk/platform/quiet_signals.h"

namespace wherefore::sdk {
namespace {

std::atomic<LogLevel> g_level{LogLevel::kInfo};
std::atomic<bool> g_brief{false};
std::atomic<bool> g_said{false};  // the one line of a brief program

void Write(LogLevel level, std::string_view text) {
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

}  // namespace

void SetLogLevel(LogLevel level) {
  g_level.store(level, std::memory_order_relaxed);
}

void SetLogBrief() {
  if (LogEnabled(LogLevel::kWarn)) g_brief.store(true, std::memory_order_relaxed);
  if (LogIsBrief()) SetLogLevel(LogLevel::kError);
}

bool LogIsBrief() {
  return g_brief.load(std::memory_order_relaxed);
}

bool LogEnabled(LogLevel level) {
  return level != LogLevel::kOff && level <= g_level.load(std::memory_order_relaxed);
}

void Log(LogLevel level, std::string_view text) {
  if (LogEnabled(level)) Write(level, text);
}

void LogTrouble(std::string_view text) {
  if (LogEnabled(LogLevel::kWarn) || (LogIsBrief() && !g_said.exchange(true)))
    Write(LogLevel::kWarn, text);
}

}  // namespace wherefore::sdk
