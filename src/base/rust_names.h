// Names of Rust functions as people write them: Rust's own scheme ("v0", _R...) and the one before
// it, which looks like C++'s. Pure; any thread, not in a signal handler.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace wherefore {

// Of a v0 symbol; without the hashes of crates and without an instantiating crate. None when it is
// not one, or one of a kind we do not know: then its symbol is the best name there is.
[[nodiscard]] std::optional<std::string> RustName(std::string_view symbol);

// `name` is what a C++ demangler makes of a symbol. If that was a Rust function in the older scheme
// its hash goes, and $LT$ and the like become what they stand for; else nothing happens.
void ReadOldRustName(std::string& name);

}  // namespace wherefore
