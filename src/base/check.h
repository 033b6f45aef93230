// WHEREFORE_CHECK: aborts the process when one of our own invariants is broken. Never used on input
// from outside.
#pragma once

namespace wherefore {

[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);

}  // namespace wherefore

#define WHEREFORE_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::wherefore::CheckFailed(#condition, __FILE__, __LINE__))
