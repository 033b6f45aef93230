// What is known about an address: functions, files and lines, innermost inline level first. Plain
// data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace wherefore::symbols {

struct ResolvedLine {
  std::string name;         // demangled
  std::string system_name;  // linkage name; empty if the file does not say
  std::string file;         // empty when not known
  std::uint32_t line = 0;   // 0 when not known
  std::uint32_t column = 0;
  std::uint32_t start_line = 0;  // where the function is declared
};

// Empty: nothing is known.
using ResolvedFrame = std::vector<ResolvedLine>;

}  // namespace wherefore::symbols
