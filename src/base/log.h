// Structured log on stderr, one line per event: time, level, message, then key=value pairs
// (logfmt).
//
// Levels: error = an operator must act; warn = degraded but serving; info = lifecycle; debug = for
// developers. Any thread; a line is written with one call, so lines never mix.
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace wherefore {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarn, kError, kOff };

void SetLogLevel(LogLevel level);
[[nodiscard]] bool LogEnabled(LogLevel level);

// One key=value pair; takes anything fmt can format.
struct LogField {
  template <typename T>
  LogField(std::string_view k, const T& v) : key(k), value(fmt::format("{}", v)) {}
  std::string_view key;
  std::string value;
};

void Log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields = {});

// Keeps a failing loop from flooding the log: Allow() is true at most once per `seconds`. Any
// thread.
class LogLimiter {
 public:
  explicit LogLimiter(double seconds) : interval_ns_(static_cast<std::int64_t>(seconds * 1e9)) {}
  bool Allow();

 private:
  std::int64_t interval_ns_;
  std::atomic<std::int64_t> next_ns_{0};
};

}  // namespace wherefore
