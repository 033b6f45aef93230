#include "base/text.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/clock.h"

namespace wherefore {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr std::string_view kBase64Digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

int Base64Digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+' || c == '-') return 62;
  if (c == '/' || c == '_') return 63;
  return -1;
}

// Reads exactly `digits` decimal digits; false when they are not there.
bool TakeDigits(std::string_view& text, std::size_t digits, int* out) {
  if (text.size() < digits) return false;
  const char* const stop = text.data() + digits;
  const auto [end, error] = std::from_chars(text.begin(), stop, *out);
  if (error != std::errc() || end != stop || text[0] == '-') return false;
  text.remove_prefix(digits);
  return true;
}

bool TakeChar(std::string_view& text, char c) {
  if (text.empty() || text[0] != c) return false;
  text.remove_prefix(1);
  return true;
}

// Days since 1970 of a civil date (Howard Hinnant's algorithm).
std::int64_t DaysFromCivil(int year, int month, int day) {
  year -= month <= 2 ? 1 : 0;
  const int era = (year >= 0 ? year : year - 399) / 400;
  const int yoe = year - era * 400;
  const int doy = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  const int doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
  return static_cast<std::int64_t>(era) * 146097 + doe - 719468;
}

std::optional<std::int64_t> ParseRfc3339(std::string_view text) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  if (!TakeDigits(text, 4, &year) || !TakeChar(text, '-') || !TakeDigits(text, 2, &month) ||
      !TakeChar(text, '-') || !TakeDigits(text, 2, &day) || month < 1 || month > 12 || day < 1 ||
      day > 31 || year < 1970 || year > 2261) {
    return std::nullopt;
  }
  std::int64_t ns = DaysFromCivil(year, month, day) * kNsPerDay;
  if (text.empty()) return ns;
  if (!TakeChar(text, 'T') && !TakeChar(text, 't') && !TakeChar(text, ' ')) return std::nullopt;
  if (!TakeDigits(text, 2, &hour) || !TakeChar(text, ':') || !TakeDigits(text, 2, &minute) ||
      hour > 23 || minute > 59) {
    return std::nullopt;
  }
  if (TakeChar(text, ':') && (!TakeDigits(text, 2, &second) || second > 60)) return std::nullopt;
  ns += (hour * 3600LL + minute * 60LL + second) * kNsPerSecond;
  if (TakeChar(text, '.')) {
    std::int64_t unit = kNsPerSecond / 10;
    int digit = 0;
    while (unit > 0 && TakeDigits(text, 1, &digit)) {
      ns += digit * unit;
      unit /= 10;
    }
    while (!text.empty() && text[0] >= '0' && text[0] <= '9') text.remove_prefix(1);
  }
  if (text.empty() || TakeChar(text, 'Z') || TakeChar(text, 'z')) {
    return text.empty() ? std::optional(ns) : std::nullopt;
  }
  const bool east = text[0] == '+';
  if (!east && text[0] != '-') return std::nullopt;
  text.remove_prefix(1);
  if (!TakeDigits(text, 2, &hour)) return std::nullopt;
  TakeChar(text, ':');
  if (!TakeDigits(text, 2, &minute) || !text.empty()) return std::nullopt;
  const std::int64_t offset = (hour * 3600LL + minute * 60LL) * kNsPerSecond;
  return east ? ns - offset : ns + offset;
}

// Seconds, milliseconds, microseconds or nanoseconds since 1970, told apart by magnitude (years
// 1973-5138). None beyond 64 bits of nanoseconds (year 2262).
std::optional<std::int64_t> UnixFromMagnitude(std::int64_t value) {
  const std::int64_t unit = value < 100'000'000'000           ? kNsPerSecond
                            : value < 100'000'000'000'000     ? 1'000'000
                            : value < 100'000'000'000'000'000 ? 1'000
                                                              : 1;
  if (value > std::numeric_limits<std::int64_t>::max() / unit) return std::nullopt;
  return value * unit;
}

}  // namespace

std::string ToHex(std::span<const std::uint8_t> bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const std::uint8_t b : bytes) {
    out += kHexDigits[b >> 4];
    out += kHexDigits[b & 15];
  }
  return out;
}

std::optional<std::string> FromHex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string out;
  out.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = HexDigit(text[i]);
    const int low = HexDigit(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high << 4 | low);
  }
  return out;
}

std::string ToBase64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (i + k < bytes.size() ? static_cast<std::uint8_t>(bytes[i + k]) : 0u);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      out += i + k <= bytes.size() ? kBase64Digits[group >> (18 - 6 * k) & 63] : '=';
    }
  }
  return out;
}

std::optional<std::string> FromBase64(std::string_view text) {
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  if (text.size() % 4 == 1) return std::nullopt;
  std::string out;
  out.reserve(text.size() * 3 / 4);
  std::uint32_t group = 0;
  int bits = 0;
  for (const char c : text) {
    const int digit = Base64Digit(c);
    if (digit < 0) return std::nullopt;
    group = (group << 6 | static_cast<std::uint32_t>(digit)) & 0xffffff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out += static_cast<char>(group >> bits & 0xff);
    }
  }
  return out;
}

namespace {

// npos: all of it is.
std::size_t FirstByteNotUtf8(std::string_view text) {
  const auto* p = reinterpret_cast<const unsigned char*>(text.data());
  const auto* const end = p + text.size();
  const auto here = [&] {
    return static_cast<std::size_t>(reinterpret_cast<const char*>(p) - text.data());
  };
  while (p < end) {
    if (*p < 0x80) {
      // Eight ASCII characters at once: names are nearly always ASCII.
      std::uint64_t word = 0;
      while (end - p >= 8 && (std::memcpy(&word, p, 8), (word & 0x8080808080808080ULL) == 0))
        p += 8;
      if (p < end && *p < 0x80) ++p;
      continue;
    }
    const int length = *p >= 0xf0 ? 4 : *p >= 0xe0 ? 3 : 2;
    if (*p < 0xc2 || *p > 0xf4 || end - p < length) return here();
    for (int i = 1; i < length; ++i) {
      if ((p[i] & 0xc0) != 0x80) return here();
    }
    const bool overlong = (*p == 0xe0 && p[1] < 0xa0) || (*p == 0xf0 && p[1] < 0x90);
    const bool surrogate = *p == 0xed && p[1] >= 0xa0;
    const bool too_large = *p == 0xf4 && p[1] >= 0x90;
    if (overlong || surrogate || too_large) return here();
    p += length;
  }
  return std::string_view::npos;
}

}  // namespace

bool IsValidUtf8(std::string_view text) {
  return FirstByteNotUtf8(text) == std::string_view::npos;
}

Result<> CheckUtf8(std::string_view text) {
  const std::size_t bad = FirstByteNotUtf8(text);
  if (bad == std::string_view::npos) return {};
  return Error(Code::kInvalid, fmt::format("byte {} is not UTF-8 (0x{:02x})", bad + 1,
                                           static_cast<unsigned char>(text[bad])));
}

std::string FormatTime(std::int64_t unix_ns) {
  std::int64_t seconds = unix_ns / kNsPerSecond;
  std::int64_t rest = unix_ns % kNsPerSecond;
  if (rest < 0) {
    rest += kNsPerSecond;
    --seconds;
  }
  const time_t t = seconds;
  tm parts{};
  gmtime_r(&t, &parts);
  std::string out =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", parts.tm_year + 1900, parts.tm_mon + 1,
                  parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
  if (rest != 0) out += fmt::format(".{:03}", rest / 1'000'000);
  return out + "Z";
}

Result<std::int64_t> ParseTime(std::string_view text, std::int64_t now_ns) {
  if (text == "now") return now_ns;
  if (text.starts_with("now-") || text.starts_with("-")) {
    const auto ago = ParseDuration(text.substr(text.find('-') + 1));
    if (ago) return now_ns - *ago;
  } else if (const auto number = ParseInt(text)) {
    if (const auto ns = UnixFromMagnitude(*number)) return *ns;
  } else if (const auto ns = ParseRfc3339(text)) {
    return *ns;
  }
  return Error(Code::kInvalid,
               fmt::format("'{}' is not a time from 1970 to 2261; expected now, -1h, "
                           "2026-11-15T06:04:00Z or a Unix time",
                           text));
}

Result<std::int64_t> ParseDuration(std::string_view text) {
  struct Unit {
    std::string_view name;
    std::int64_t ns;
  };
  static constexpr std::array kUnits = {Unit{"ns", 1},
                                        Unit{"us", 1'000},
                                        Unit{"ms", 1'000'000},
                                        Unit{"s", kNsPerSecond},
                                        Unit{"m", 60 * kNsPerSecond},
                                        Unit{"h", 3600 * kNsPerSecond},
                                        Unit{"d", kNsPerDay},
                                        Unit{"w", 7 * kNsPerDay},
                                        Unit{"y", 365 * kNsPerDay}};
  const std::string_view whole = text;
  const auto fail = [&] {
    return Error(
        Code::kInvalid,
        fmt::format("'{}' is not a duration; expected for example 90s, 15m, 1h30m or 7d", whole));
  };
  long double total = 0;
  if (text.empty()) return fail();
  while (!text.empty()) {
    double number = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (error != std::errc() || number < 0) return fail();
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    const std::size_t length = std::min(text.find_first_of("0123456789."), text.size());
    const auto unit = std::find_if(kUnits.begin(), kUnits.end(),
                                   [&](const Unit& u) { return u.name == text.substr(0, length); });
    if (unit == kUnits.end()) return fail();
    total += static_cast<long double>(number) * static_cast<long double>(unit->ns);
    text.remove_prefix(length);
  }
  if (total > 9.2e18L) return fail();
  return static_cast<std::int64_t>(total);
}

namespace {

// Three significant digits, no trailing zeros: 1.28, 12.8, 128.
std::string Short(double value) {
  const double magnitude = std::fabs(value);
  const int decimals = magnitude >= 99.95 ? 0 : magnitude >= 9.995 ? 1 : 2;
  std::string out = fmt::format("{:.{}f}", value, decimals);
  if (out.find('.') != std::string::npos) {
    out.erase(out.find_last_not_of('0') + 1);
    if (out.back() == '.') out.pop_back();
  }
  return out;
}

}  // namespace

std::string FormatDuration(std::int64_t ns) {
  const double v = static_cast<double>(ns);
  const double m = std::fabs(v);
  if (m < 1e3) return fmt::format("{} ns", ns);
  if (m < 1e6) return Short(v / 1e3) + " us";
  if (m < 1e9) return Short(v / 1e6) + " ms";
  if (m < 120e9) return Short(v / 1e9) + " s";
  if (m < 7200e9) return Short(v / 60e9) + " min";
  if (m < 2.0 * 86400e9) return Short(v / 3600e9) + " h";
  return Short(v / 86400e9) + " d";
}

std::string FormatBytes(std::int64_t bytes) {
  static constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double v = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (std::fabs(v) >= 1024 && unit + 1 < kUnits.size()) {
    v /= 1024;
    ++unit;
  }
  return Short(v) + " " + kUnits[unit];
}

Result<std::int64_t> ParseBytes(std::string_view text) {
  const auto fail = [&] {
    return Error(Code::kInvalid,
                 fmt::format("'{}' is not a size; expected for example 512MB, 2GiB or a number of "
                             "bytes",
                             text));
  };
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !(number >= 0)) return fail();
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  double factor = 1;
  if (!unit.empty() && unit != "B") {
    constexpr std::string_view kLetters = "KMGT";
    const char letter = unit[0] >= 'a' ? static_cast<char>(unit[0] - 'a' + 'A') : unit[0];
    const std::size_t power = kLetters.find(letter);
    const std::string_view rest = unit.substr(1);
    if (power == std::string_view::npos || (!rest.empty() && rest != "B" && rest != "iB")) {
      return fail();
    }
    factor = std::pow(rest == "B" ? 1000.0 : 1024.0, static_cast<double>(power + 1));
  }
  constexpr double kMost = 9e18;
  if (number * factor > kMost) return fail();
  return static_cast<std::int64_t>(number * factor);
}

std::string FormatCount(std::int64_t count) {
  std::string digits = fmt::format("{}", count);
  const std::size_t first = count < 0 ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

std::string FormatValue(std::int64_t value, std::string_view unit) {
  if (unit == "nanoseconds" || unit == "ns") return FormatDuration(value);
  if (unit == "bytes" || unit == "By") return FormatBytes(value);
  return FormatCount(value);
}

std::optional<std::int64_t> ParseInt(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> ParseUint(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::string UrlWithoutUser(std::string_view url) {
  const std::size_t scheme = url.find("://");
  const std::size_t from = scheme == std::string_view::npos ? 0 : scheme + 3;
  const std::string_view authority = url.substr(from, url.find_first_of("/?#", from) - from);
  const std::size_t at = authority.rfind('@');
  if (at == std::string_view::npos) return std::string(url);
  return std::string(url.substr(0, from)) + "***" + std::string(url.substr(from + at));
}

}  // namespace wherefore
