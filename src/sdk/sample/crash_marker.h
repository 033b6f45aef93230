// CrashMarker: when the profiler itself crashes the host program, it must not do so twice.
//
// A handler for SIGSEGV and SIGBUS, chained before the host's, writes a small file if the thread
// was inside the profiler at that moment, and then lets the crash go its way. At the next start of
// the same program (by build id) the part named there stays off and the log says why. After ten
// minutes without a crash the file is removed. Without a state directory nothing of this happens. A
// crash outside the profiler, or kill -9, leaves no file.
#pragma once

#include <cstdint>
#include <string>

#include "sdk/platform/thread_state.h"

namespace wherefore::sdk {

// Parts of the profiler, as a marker names them.
enum class Part : std::uint8_t { kNone, kCpu, kHeap, kLocks, kWall, kCollector };

// While it lives, a crash of this thread is blamed on `part`. Any context.
class Inside {
 public:
  explicit Inside(Part part) : before_(t_state.part) {
    t_state.part = static_cast<std::uint8_t>(part);
  }
  ~Inside() { t_state.part = before_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  std::uint8_t before_;
};

// Puts the handlers in place. `program` tells programs apart. Once, before the first sample. False,
// with errno: nothing can be written there, and no marker will be.
[[nodiscard]] bool InstallCrashMarker(const std::string& state_dir, const std::string& program);
// The part the last run crashed in; kNone: there is no marker.
[[nodiscard]] Part ReadCrashMarker();
// Where the marker is, for people.
[[nodiscard]] std::string CrashMarkerPath();
void RemoveCrashMarker();

}  // namespace wherefore::sdk
