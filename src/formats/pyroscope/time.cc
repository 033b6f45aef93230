#include "formats/pyroscope/time.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/text.h"

namespace wherefore::formats {
namespace {

std::optional<std::int64_t> Scaled(std::int64_t number, std::int64_t factor) {
  std::int64_t out = 0;
  if (__builtin_mul_overflow(number, factor, &out)) return std::nullopt;
  return out;
}

bool AllDigits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<std::int64_t> FromDate(std::string_view digits) {
  const std::chrono::year_month_day date(
      std::chrono::year(static_cast<int>(*ParseInt(digits.substr(0, 4)))),
      std::chrono::month(static_cast<unsigned>(*ParseInt(digits.substr(4, 2)))),
      std::chrono::day(static_cast<unsigned>(*ParseInt(digits.substr(6, 2)))));
  if (!date.ok()) return std::nullopt;
  return Scaled(std::chrono::sys_days(date).time_since_epoch().count(), kNsPerDay);
}

std::optional<std::int64_t> FromDigits(std::string_view digits) {
  if (digits.size() == 8) {
    if (const auto date = FromDate(digits)) return date;
  }
  const auto number = ParseInt(digits);
  if (!number) return std::nullopt;
  switch (digits.size()) {
    case 13:
      return Scaled(*number, 1'000'000);
    case 16:
      return Scaled(*number, 1'000);
    case 19:
      return number;
    default:
      return Scaled(*number, kNsPerSecond);
  }
}

// 0 for an unknown unit. "M" and "mon" are months, "m" and "min" minutes.
std::int64_t UnitNs(std::string_view unit) {
  if (unit.starts_with("M") || unit.starts_with("mon")) return 30 * kNsPerDay;
  switch (unit.empty() ? '\0' : unit[0]) {
    case 's':
      return kNsPerSecond;
    case 'm':
      return 60 * kNsPerSecond;
    case 'h':
      return 3600 * kNsPerSecond;
    case 'd':
      return kNsPerDay;
    case 'w':
      return 7 * kNsPerDay;
    case 'y':
      return 365 * kNsPerDay;
    default:
      return 0;
  }
}

std::optional<std::int64_t> Offset(std::string_view text) {
  std::int64_t total = 0;
  while (!text.empty()) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const std::size_t end = std::min(text.find_first_of("0123456789", digits), text.size());
    const auto number = ParseInt(text.substr(0, digits));
    const std::int64_t unit = UnitNs(text.substr(digits, end - digits));
    if (!number || unit == 0) return std::nullopt;
    const auto part = Scaled(*number, unit);
    if (!part || __builtin_add_overflow(total, *part, &total)) return std::nullopt;
    text.remove_prefix(end);
  }
  return total;
}

std::optional<std::int64_t> Relative(std::string_view text, std::int64_t now_ns) {
  const std::size_t sign = text.find_first_of("+-");
  const std::string_view word = text.substr(0, sign);
  if (word.find_first_of("0123456789") != std::string_view::npos) return std::nullopt;
  if (sign == std::string_view::npos)
    return word.empty() ? std::nullopt : std::optional<std::int64_t>(now_ns);
  const auto offset = Offset(text.substr(sign + 1));
  std::int64_t out = 0;
  if (!offset || __builtin_add_overflow(now_ns, text[sign] == '+' ? *offset : -*offset, &out)) {
    return std::nullopt;
  }
  return out;
}

}  // namespace

Result<std::int64_t> ParsePyroscopeTime(std::string_view text, std::int64_t now_ns) {
  std::string plain;
  std::copy_if(text.begin(), text.end(), std::back_inserter(plain),
               [](char c) { return c != '_' && c != ',' && c != ' '; });
  const auto time = AllDigits(plain) ? FromDigits(plain) : Relative(plain, now_ns);
  if (time) return *time;
  return Error(Code::kInvalid,
               fmt::format("'{}' is not a time; expected a Unix time (s, ms, us or ns), YYYYMMDD "
                           "or now-1h",
                           text));
}

}  // namespace wherefore::formats
