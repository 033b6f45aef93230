// Names of C++ functions as people write them. Pure functions; any thread, not in a signal handler.
#pragma once

#include <string>
#include <string_view>

namespace wherefore::elf {

// The demangled name; `mangled` itself where it is no mangled name or over 8 KiB long. What the
// compiler appends to parts and copies of a function (.cold, .part.0, .constprop.1, ...) is left
// out, so that they count as the function they were cut from.
[[nodiscard]] std::string Demangle(std::string_view mangled);

}  // namespace wherefore::elf
