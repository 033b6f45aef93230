// The library's few lines on stderr, each "wherefore: ..." and written in one call.
//
// Any thread, not in signal handlers; allocates nothing. Never on stdout, which belongs to the host
// program; errno is left as it was.
#pragma once

#include <string_view>

#include "sdk/options.h"

namespace wherefore::sdk {

void SetLogLevel(LogLevel level);
[[nodiscard]] bool LogEnabled(LogLevel level);
void Log(LogLevel level, std::string_view text);

}  // namespace wherefore::sdk
