// A statement that somebody typed: one SELECT, without comments, and no way to hide another one.
//
// Lexes quotes and comments as the engine does, and refuses what would make that ambiguous. What
// the statement reads is judged by guard.h. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace wherefore::store {

// The statement without comments and without a semicolon at its end. kInvalid, with the place
// ("line 2, column 7: …"), where it has several statements, open quotes, or quotes like $$…$$.
[[nodiscard]] Result<std::string> OneStatement(std::string_view text);

}  // namespace wherefore::store
