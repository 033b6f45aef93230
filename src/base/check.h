// WHEREFORE_CHECK: stops the process when one of our own invariants is broken. Never for outside
// bytes.
#pragma once

namespace wherefore {

[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);
// The environment is broken in a way we cannot go on from; says what to do and exits with 3.
[[noreturn]] void Fatal(const char* message);

}  // namespace wherefore

#define WHEREFORE_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::wherefore::CheckFailed(#condition, __FILE__, __LINE__))
