// The library's few lines on stderr, each "wherefore: ..." and written in one call.
//
// Any thread, not in signal handlers; allocates nothing. Never on stdout, which belongs to the host
// program; errno is left as it was.
#pragma once

#include <string_view>

#include "sdk/options.h"

namespace wherefore::sdk {

void SetLogLevel(LogLevel level);
// For a program that another profiled one started, of which there may be thousands: from warnings on
// it is quiet, but for the first LogTrouble().
void SetLogBrief();
[[nodiscard]] bool LogIsBrief();
[[nodiscard]] bool LogEnabled(LogLevel level);
void Log(LogLevel level, std::string_view text);
// A warning that something asked for is not there: a sandbox refuses it, it crashed before, data is
// refused or lost.
void LogTrouble(std::string_view text);

}  // namespace wherefore::sdk
