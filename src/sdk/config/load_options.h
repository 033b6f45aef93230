// LoadOptions: where the choices come from.
//
// In order, the first that says something wins: the program's code, the environment
// (OpenTelemetry's variables and WHEREFORE_*), the `profiling:` block of the YAML file named by
// WHEREFORE_CONFIG, the defaults of options.h. A value that cannot be read is never an error: it
// becomes a warning that names the variable or the line, and the next source counts.
//
// The environment is read where the program does not change it from other threads at the same time,
// or through a getter of the caller's (tests).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sdk/config/options.h"

namespace wherefore::sdk {

using GetEnv = std::function<const char*(const char* name)>;

struct LoadedOptions {
  Options options;
  std::vector<std::string> warnings;  // sentences for the log
};

// Defaults, then the file, then the environment. `config_file` overrules WHEREFORE_CONFIG when not
// empty. `code` is applied last, before addresses are completed; it may be empty.
[[nodiscard]] LoadedOptions LoadOptions(const GetEnv& getenv, const std::string& config_file = {},
                                        const std::function<void(Options&)>& code = {});
// The same from this process's environment.
[[nodiscard]] LoadedOptions LoadOptions();

// Every WHEREFORE_* variable that means something, those of the programs beside the library
// included.
[[nodiscard]] std::vector<std::string> KnownVariables();

}  // namespace wherefore::sdk
