// Decodes the text that `perf script` prints. Pure functions; any thread. For what always holds see
// formats.h.
//
//   comm  pid/tid [cpu] seconds.micros: period event:      pid, cpu, time and period may be missing
//          address symbol+0xoffset (module)                leaf first; a blank line ends the sample
//
// One profile per event. The clocks (cpu-clock, task-clock) are CPU time in nanoseconds; other
// events are counted by their period ("cycles"); an event without periods is a count of samples.
// Times count from the machine's start, so a profile has a duration but no time. The command's name
// becomes the label thread.name, as for JFR's threads. Inlined functions become lines of the frame
// they were inlined into; a frame without a symbol is named after its module.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "formats/formats.h"

namespace wherefore::formats {

[[nodiscard]] bool IsPerfScript(std::string_view text);
// Lines inside a sample that are not frames (source lines, branches) are skipped and noted. A line
// that should start a sample and does not is kCorrupt, with its number.
[[nodiscard]] Result<DecodedProfiles> DecodePerfScript(
    const std::shared_ptr<const std::string>& text, const StacksContext& context);

}  // namespace wherefore::formats
