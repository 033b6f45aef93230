// Where the executable of this process is. Any thread, ordinary context.
#pragma once

#include <string>

namespace wherefore::sdk {

// As the kernel knows it; without /proc, as it was started, which for a script is the script. Empty
// when neither is available.
[[nodiscard]] std::string ProgramPath();

}  // namespace wherefore::sdk
