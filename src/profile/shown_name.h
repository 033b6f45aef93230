// Names of functions for people: shortened to fit a place, the function's own name kept to the
// last. Pure; names come from profiles and may be anything. The page does the same
// (ui/src/core/names.ts, the same vectors: tests/golden/shown_names.tsv).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace wherefore::profile {

// "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::size()" ->
// "std::string::size()"; the same of views and other characters.
[[nodiscard]] std::string ReadableName(std::string_view name);

// Shorter and shorter: readable, without anonymous namespaces, without parameters, without template
// arguments, without path or package, without outer namespaces. At least one.
[[nodiscard]] std::vector<std::string> NameLadder(std::string_view name);

// The longest of these with at most so many characters; if none has, the shortest.
[[nodiscard]] std::string FittingName(std::string_view name, std::size_t characters);

}  // namespace wherefore::profile
