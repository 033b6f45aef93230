// SignalSampler: owns the signal that CPU timers send, and turns each delivery into an event.
//
// Install once, before the first timer. Signals of other origin under the same number go to
// whatever handler the host had, or installs later (signal_hooks.cc keeps ours in place).
#pragma once

#include <csignal>
#include <cstdint>

namespace wherefore::sdk {

// The value our timers send along: tells our signals from everybody else's.
void* TimerCookie();
// The same for the timer that waits for a forked child's first CPU time.
void* RestartCookie();

// Picks a signal nobody uses (SIGPROF if it is free, else a real-time one) and installs the
// handler. Gives its number, or 0 when none is free.
int InstallSampler();

// The signal we use; 0: none yet.
[[nodiscard]] int SamplerSignal();

// The handler itself (signal_sampler.cc, which holds nothing else).
void OnSamplerSignal(int signal, siginfo_t* info, void* context);

// While a thread really blocks our signal, because one of the host's is pending there, its timer is
// off: the host would find our signals pending too. By the thread itself, any context.
void SwitchCpuTimer(bool on);

// Sets what the host wants done with signals of that number that are not ours; returns what it had
// set before. Called by the hooked sigaction.
struct sigaction ExchangeHostAction(const struct sigaction* action);

// The stack bounds of a thread whose start we did not see: published by the collector once it
// has looked them up, read by that thread's next signal.
void PublishStackBounds(std::uint32_t tid, std::uintptr_t low, std::uintptr_t high);

}  // namespace wherefore::sdk
