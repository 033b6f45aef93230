// What `run` and `doctor` know about a program before it runs: where it is, whether libwherefore
// can be preloaded into it, and where that library is.
#pragma once

#include <string>

#include "base/result.h"

namespace wherefore::cli {

// A variable of this process's environment; "" when it is not set.
[[nodiscard]] std::string Environment(const char* name);

// As the shell would: a path as it is, a name from PATH.
[[nodiscard]] std::string FindProgram(const std::string& name);

// The file that is executed in the end: a script's interpreter ("#!").
[[nodiscard]] std::string Interpreter(const std::string& program);

struct Suitability {
  // Why it will not be profiled: the dynamic linker preloads nothing into it. "" when it will be.
  std::string why_not;
  // Why heap will be off in it; "" when nothing speaks against it.
  std::string why_no_heap;
  bool library_inside = false;  // it needs nothing preloaded
  std::string build_id;         // hex; "" when it has none
};
[[nodiscard]] Suitability Examine(const std::string& program);

// `given`, or libwherefore.so beside this program or in the library folder next to it.
[[nodiscard]] Result<std::string> FindLibrary(const std::string& given);

}  // namespace wherefore::cli
