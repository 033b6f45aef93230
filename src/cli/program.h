// What `run` and `doctor` find out about a program before it runs: where it is, whether
// libwherefore can be preloaded into it, and where that library is.
#pragma once

#include <string>

#include "base/result.h"

namespace wherefore::cli {

// An environment variable; "" if it is not set.
[[nodiscard]] std::string Environment(const char* name);

// As a shell does: a path as it is, a name through PATH.
[[nodiscard]] std::string FindProgram(const std::string& name);

// The file that is executed in the end: for a script ("#!") its interpreter.
[[nodiscard]] std::string Interpreter(const std::string& program);

struct Suitability {
  // Why nothing can be preloaded into it; "" if it can.
  std::string why_not;
  // Why heap profiling will be off in it; "" if nothing is known against it.
  std::string why_no_heap;
  bool library_inside = false;  // libwherefore is linked in: nothing is preloaded
  std::string build_id;         // hex; "" if it has none
};
[[nodiscard]] Suitability Examine(const std::string& program);

// `given`, or libwherefore.so next to this program or in the neighbouring library folder.
[[nodiscard]] Result<std::string> FindLibrary(const std::string& given);

}  // namespace wherefore::cli
