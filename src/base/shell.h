// Commands for people to copy. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace wherefore {

// One word of a shell: names that senders choose stand in commands.
[[nodiscard]] std::string ShellQuoted(std::string_view text);

}  // namespace wherefore
