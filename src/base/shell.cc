#include "base/shell.h"

#include <algorithm>
#include <cctype>

namespace wherefore {

std::string ShellQuoted(std::string_view text) {
  constexpr std::string_view kPlain = "_-./:@%+,";
  const bool plain =
      !text.empty() && !text.starts_with('-') && std::ranges::all_of(text, [&](unsigned char c) {
        return std::isalnum(c) != 0 || kPlain.contains(static_cast<char>(c));
      });
  if (plain) return std::string(text);
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace wherefore
