// The bearer token: where it comes from, and how it stays secret.
//
// Every user of the machine can read a command line (ps, /proc/PID/cmdline), and this user and all
// children the environment. So a token given there is wiped as soon as it is read; a file is what
// we recommend. Called by the main thread before any other starts.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace wherefore::cli {

// The arguments after the program's name. Wipes the value of every `--token` from the process's own
// copy.
[[nodiscard]] std::vector<std::string> TakeArguments(int argc, char** argv);
// The variable's value, "" if it is not set. Wipes it from the environment.
[[nodiscard]] std::string TakeVariable(const char* name);
// The one line of text in `file`.
[[nodiscard]] Result<std::string> ReadToken(const std::string& file);

}  // namespace wherefore::cli
