// WHEREFORE_CHECK: stops the process when one of our own invariants is broken. Never for outside
// bytes.
#pragma once

namespace wherefore {

[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);

}  // namespace wherefore

#define WHEREFORE_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::wherefore::CheckFailed(#condition, __FILE__, __LINE__))
