// Names in pprof and folded files come from symbol tables, which promise no encoding. What is not
// UTF-8 is made so here, because everything behind the decoders relies on it.
#pragma once

#include <string>
#include <string_view>

#include "base/text.h"

namespace wherefore::formats {

// The text with U+FFFD in place of each byte that is not part of a character.
inline std::string ReplaceBadUtf8(std::string_view text) {
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
