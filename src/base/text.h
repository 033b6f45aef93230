// Text formats shared by every layer: hex, base64, times, durations, byte sizes, UTF-8. Pure
// functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace wherefore {

[[nodiscard]] std::string ToHex(std::span<const std::uint8_t> bytes);
[[nodiscard]] inline std::string ToHex(std::string_view bytes) {
  return ToHex({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}
// Either case. None if the length is odd or a character is not a hex digit.
[[nodiscard]] std::optional<std::string> FromHex(std::string_view text);

[[nodiscard]] std::string ToBase64(std::string_view bytes);
// Standard and URL alphabet, padding optional.
[[nodiscard]] std::optional<std::string> FromBase64(std::string_view text);

[[nodiscard]] bool IsValidUtf8(std::string_view text);
// kInvalid, naming the first byte that is not UTF-8.
[[nodiscard]] Result<> CheckUtf8(std::string_view text);

// "2026-11-15T06:04:00.123Z"
[[nodiscard]] std::string FormatTime(std::int64_t unix_ns);
// RFC 3339 ("2026-11-15", "2026-11-15T06:04:05.5+01:00"), a Unix time in s, ms, us or ns by its
// magnitude, or relative to `now_ns`: "now", "now-1h", "-1h". The error says what was expected.
[[nodiscard]] Result<std::int64_t> ParseTime(std::string_view text, std::int64_t now_ns);

// "90s", "1h30m", "7d", "250ms", "2w". Returns nanoseconds.
[[nodiscard]] Result<std::int64_t> ParseDuration(std::string_view text);
// Short form for people: "150 ms", "1.28 s", "2.1 h".
[[nodiscard]] std::string FormatDuration(std::int64_t ns);
// "512MB", "1.5 GiB", "64k", "1048576": "MB" is a power of 1000, "MiB" and "M" are powers of 1024.
[[nodiscard]] Result<std::int64_t> ParseBytes(std::string_view text);
// "1.5 MiB"
[[nodiscard]] std::string FormatBytes(std::int64_t bytes);
// "1,284,000"
[[nodiscard]] std::string FormatCount(std::int64_t count);
// A profile value in its own unit: nanoseconds as a duration, bytes as a size, else a count.
[[nodiscard]] std::string FormatValue(std::int64_t value, std::string_view unit);

// A whole decimal number and nothing else.
[[nodiscard]] std::optional<std::int64_t> ParseInt(std::string_view text);
[[nodiscard]] std::optional<std::uint64_t> ParseUint(std::string_view text);

// A URL that is safe to log: without the user and password before '@'.
[[nodiscard]] std::string UrlWithoutUser(std::string_view url);

}  // namespace wherefore
