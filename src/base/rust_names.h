// Demangling of Rust names: the "v0" scheme (_R...) and the legacy one, which looks like C++. Pure;
// any thread, but not in a signal handler.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace wherefore {

// Demangles a v0 symbol, without crate hashes and without the instantiating crate. None if it is
// not a v0 symbol or uses a form we do not know.
[[nodiscard]] std::optional<std::string> RustName(std::string_view symbol);

// `name` is the output of a C++ demangler. If it is a legacy Rust name, removes its hash and
// decodes $LT$ and the like; otherwise changes nothing.
void DecodeLegacyRustName(std::string& name);

}  // namespace wherefore
