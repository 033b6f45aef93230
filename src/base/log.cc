#include "base/log.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "base/check.h"
#include "base/clock.h"
#include "base/text.h"

namespace wherefore {
namespace {

std::atomic<LogLevel> g_level{LogLevel::kInfo};

std::string_view LevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarn:
      return "warn";
    default:
      return "error";
  }
}

void AppendValue(std::string& line, std::string_view value) {
  const bool plain = !value.empty() && value.find_first_of(" \"=\n\t\\") == std::string_view::npos;
  if (plain) {
    line += value;
    return;
  }
  line += '"';
  for (const char c : value) {
    if (c == '"' || c == '\\') line += '\\';
    if (c == '\n') {
      line += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      line += '?';
    } else {
      line += c;
    }
  }
  line += '"';
}

}  // namespace

void SetLogLevel(LogLevel level) {
  g_level = level;
}
bool LogEnabled(LogLevel level) {
  return level >= g_level.load(std::memory_order_relaxed);
}

void Log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
  if (!LogEnabled(level)) return;
  std::string line =
      fmt::format("time={} level={} msg=", FormatTime(NowUnixNs()), LevelName(level));
  AppendValue(line, message);
  for (const LogField& field : fields) {
    line += ' ';
    line += field.key;
    line += '=';
    AppendValue(line, field.value);
  }
  line += '\n';
  // There is nowhere to report a failed write of the log itself.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

bool LogLimiter::Allow() {
  const std::int64_t now = MonotonicNs();
  std::int64_t next = next_ns_.load(std::memory_order_relaxed);
  return now >= next && next_ns_.compare_exchange_strong(next, now + interval_ns_);
}

void CheckFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "BUG: %s:%d: %s does not hold\n", file, line, condition);
  std::abort();
}

}  // namespace wherefore
