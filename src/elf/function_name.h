// The name of a function in a profile, from its address alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "elf/symbols.h"
#include "elf/unwind_table.h"

namespace wherefore::elf {

// The demangled symbol that covers `address` (a virtual address of the file). Without one,
// `module+0x<start of its function>` from the unwind table, so that all samples of a function share
// a name; without that, `module+0x<address>`.
[[nodiscard]] std::string FunctionName(const SymbolTable& symbols, const UnwindTable& table,
                                       std::string_view module, std::uint64_t address);

}  // namespace wherefore::elf
