// TypeSupport: which types of profile can work in this process, and why one cannot.
//
// A type that crashed the last run of this program stays off in this one. Others are off where the
// system, a sandbox or the way we were linked denies them what they need; a sandbox may come later,
// when the program puts itself into one.
//
// Part of RateControl, and like that guarded by the collector's lock.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "sdk/config/options.h"
#include "sdk/sample/cpu_timers.h"
#include "sdk/sample/crash_marker.h"
#include "sdk/sample/waiting_threads.h"

namespace wherefore::sdk {

class TypeSupport {
 public:
  TypeSupport(const CpuTimers& timers, const WaitingThreads& waiting)
      : timers_(timers), waiting_(waiting) {}

  // At a start: reads the crash marker, takes a signal, looks at /proc. kUnavailable: the collector
  // itself crashed the last run, nothing may start. `state_dir` may be empty: no marker is kept.
  Result<> Examine(const std::string& state_dir);
  // Again in a forked child, which may be in another PID namespace than its parent.
  void ExamineProc();
  // No thread got a timer: a sandbox, once and for all.
  void GiveUpTimers();
  // A sandbox that the program put itself into after the start: said once. True: something is off
  // now.
  bool NoteRefusals();
  // After that long a run without a crash its marker goes. Its parts stay off until the next start.
  void ForgetCrashAfter(std::int64_t clean_ns);

  // Why the type cannot work here; empty when it can.
  [[nodiscard]] std::string Unavailable(Type type) const;
  // Whether that is, wholly or in part, a sandbox's doing or because of a crash before.
  [[nodiscard]] bool Refused(Type type) const;
  // What part of a type that is on does not work; mostly empty.
  [[nodiscard]] std::string Restriction(Type type) const;

  // The signal of the CPU timers; 0: none was free.
  [[nodiscard]] int signal() const { return signal_; }
  // Whether threads have the numbers in /proc that they have for us.
  [[nodiscard]] bool knows_thread_ids() const { return thread_ids_trouble_.empty(); }

 private:
  void ReadMarker(const std::string& state_dir);
  [[nodiscard]] bool crashed(Type type) const { return crashed_[static_cast<std::size_t>(type)]; }
  [[nodiscard]] std::string TimerTrouble() const;

  const CpuTimers& timers_;
  const WaitingThreads& waiting_;
  int signal_ = 0;
  Part crashed_in_ = Part::kNone;  // in the run before this one
  std::array<bool, kTypeCount> crashed_ = {};
  bool timers_refused_ = false;     // no thread got one
  bool logged_timers_ = false;      // that timers are refused is in the log
  std::string thread_ids_trouble_;  // why threads are not known by their numbers; empty: they are
  std::string wall_trouble_;        // why threads cannot be looked at; empty: they can
};

}  // namespace wherefore::sdk
