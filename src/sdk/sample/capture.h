// Writes stack and trace context into events: the one place where an observation is made.
//
// CaptureSignal runs in signal handlers, CaptureHere in hooked calls. Neither takes a lock,
// allocates or changes errno.
#pragma once

#include <cstdint>

#include "sdk/sample/event.h"

// Hook functions live in a section of their own, so that their frames can be told from the host's
// wherever we are linked in.
#define WHEREFORE_HOOK [[gnu::section("wherefore_hooks"), gnu::visibility("default")]]

namespace wherefore::sdk {

// The stack the signal interrupted. `context` is the handler's third argument.
void CaptureSignal(Event& event, const void* context);

// For an event whose stack was kept for later (early_stacks.h): follows it now. Collector.
void FollowEarly(Event& event);
// The same, but keeps our own frames, and may be repeated when there are more tables.
void TryEarly(Event& event);

// The caller's stack; frames of our own hooks on top of it are left out.
[[gnu::noinline]] void CaptureHere(Event& event);

// Whether an address is in one of our hooks.
[[nodiscard]] bool IsHook(std::uint64_t pc);

// Whether there are hooks in this process at all: a fully static program has none.
[[nodiscard]] bool HooksAreLinked();

// Trace, span and labels of this thread.
void CaptureContext(Event& event);

}  // namespace wherefore::sdk
