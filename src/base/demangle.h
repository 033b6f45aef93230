// Names of compiled functions as people write them: C++ and Rust. Pure; any thread, not in a signal
// handler.
#pragma once

#include <string>
#include <string_view>

namespace wherefore {

// The demangled name; `name` itself where it is no mangled name, or one over 8 KiB long. What the
// compiler appended for a part or a copy of a function (.cold, .part.0, .llvm.123, ...) is left
// out, so that they count as the function they were cut from.
[[nodiscard]] std::string Demangle(std::string_view name);

// Of a symbol in a file: the appendices of names that are not mangled go too.
[[nodiscard]] std::string DemangleSymbol(std::string_view symbol);

}  // namespace wherefore
