// Percent encoding, and parsing of absolute URLs. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace wherefore::net {

// Everything but letters, digits and "-._~" becomes %XX.
[[nodiscard]] std::string PercentEncode(std::string_view text);
// None if a '%' is not followed by two hex digits. `plus_is_space` as in query strings.
[[nodiscard]] std::optional<std::string> PercentDecode(std::string_view text, bool plus_is_space);

struct Url {
  bool tls = false;
  std::string host;  // without brackets: "::1"
  std::uint16_t port = 0;
  std::string authority;  // as written, for the Host header: "[::1]:4040"
  std::string target;     // path and query, never empty: "/api?x=1"
};
// "http://127.0.0.1:4040/api"; kInvalid, with what was expected.
[[nodiscard]] Result<Url> ParseUrl(std::string_view text);

}  // namespace wherefore::net
