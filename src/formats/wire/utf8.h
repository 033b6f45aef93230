// Repairs text that is not UTF-8. Names in pprof and folded files come from symbol tables, names in
// libwherefore from its host; neither promises an encoding. Everything behind the decoders relies
// on UTF-8, and OTLP receivers refuse a whole request for one bad string.
#pragma once

#include <string>
#include <string_view>

#include "base/text.h"

namespace wherefore::formats {

// The text with U+FFFD in place of each byte that is not part of a character.
inline std::string ReplaceBadUtf8(std::string_view text) {
  if (IsValidUtf8(text)) return std::string(text);
  std::string out;
  while (!text.empty()) {
    std::size_t length = 1;
    while (length <= 4 && length <= text.size() && !IsValidUtf8(text.substr(0, length))) ++length;
    if (length > 4 || length > text.size()) {
      out += "\xef\xbf\xbd";
      text.remove_prefix(1);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return out;
}

}  // namespace wherefore::formats
