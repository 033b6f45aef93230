// ASCII letters and white space, independent of the locale: for headers, options and names. Pure
// functions; header only, so that libwherefore can use it too.
#pragma once

#include <string>
#include <string_view>

namespace wherefore {

[[nodiscard]] inline std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

// Without leading and trailing white space.
[[nodiscard]] inline std::string_view Trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

}  // namespace wherefore
