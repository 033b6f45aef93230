// The library's few lines on stderr, each "wherefore: ..." and written in one call.
//
// Any thread, not in signal handlers; allocates nothing. Never on stdout, which belongs to the host
// program; errno is left as it was.
#pragma once

#include <cstdint>
#include <string_view>

namespace wherefore::sdk {

enum class LogLevel : std::uint8_t { kOff, kError, kWarn, kInfo, kDebug };

void SetLogLevel(LogLevel level);
// For a program that was started by another profiled program; there may be thousands. It logs
// errors and the first LogTrouble(), nothing else.
void SetLogBrief();
[[nodiscard]] bool LogIsBrief();
[[nodiscard]] bool LogEnabled(LogLevel level);
void Log(LogLevel level, std::string_view text);
// A warning that something asked for is not there: a sandbox refuses it, it crashed before, data is
// refused or lost.
void LogTrouble(std::string_view text);

}  // namespace wherefore::sdk
