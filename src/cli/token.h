// The bearer token: where it comes from, and how it stays ours.
//
// A command line is for every user of the machine to read (ps, /proc/PID/cmdline), an environment
// for this user and for every child. So what was given there is wiped as soon as it is read, and a
// file is what we recommend. Called by the main thread before any other starts.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace wherefore::cli {

// The arguments behind the program's name. The value of every `--token` is wiped from the process's
// own copy of them.
[[nodiscard]] std::vector<std::string> TakeArguments(int argc, char** argv);
// The variable's value, "" when it is not set; wiped from the environment.
[[nodiscard]] std::string TakeVariable(const char* name);
// The one line of text in `file`.
[[nodiscard]] Result<std::string> ReadToken(const std::string& file);

}  // namespace wherefore::cli
