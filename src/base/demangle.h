// Demangling of C++ and Rust names. Pure; any thread, but not in a signal handler.
#pragma once

#include <string>
#include <string_view>

namespace wherefore {

// The demangled name. Returns `name` unchanged if it is not mangled or longer than 8 KiB. Suffixes
// the compiler adds for a part or a clone of a function (.cold, .part.0, .llvm.123, ...) are
// removed, so that these count as the function they came from.
[[nodiscard]] std::string Demangle(std::string_view name);

// For a symbol of an object file: removes such suffixes from names that are not mangled, too.
[[nodiscard]] std::string DemangleSymbol(std::string_view symbol);

}  // namespace wherefore
