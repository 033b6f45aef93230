#include "elf/function_name.h"

#include <array>
#include <charconv>

#include "base/demangle.h"

namespace wherefore::elf {

std::string FunctionName(const SymbolTable& symbols, const UnwindTable& table,
                         std::string_view module, std::uint64_t address) {
  std::string_view symbol = symbols.Find(address);
  const auto function = table.FindFunction(address);
  const std::uint64_t start = function ? function->start : address;
  // A symbol without a size (hand-written code) names the function that starts there.
  if (symbol.empty()) symbol = symbols.Find(start);
  if (!symbol.empty()) return DemangleSymbol(symbol);
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), start, 16).ptr;
  return std::string(module) + "+0x" + std::string(digits.data(), end);
}

}  // namespace wherefore::elf
