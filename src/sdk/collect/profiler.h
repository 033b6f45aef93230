// The profiler as the rest of the library sees it: what src/sdk/api/runtime.cc and the C ABI call.
//
// Runtime calls these in order: StartProfiler once, then the others from any thread, StopProfiler
// last; start and stop never overlap (Runtime holds its lock). None throws, none blocks longer than
// its deadline, none is called from a signal handler.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sdk/collect/type_state.h"
#include "sdk/config/options.h"
#include "sdk/config/remote_options.h"
#include "sdk/context/resource.h"
#include "sdk/context/runtime_statistics.h"

namespace wherefore::sdk {

class Exporter;

// Starts what `options` ask for and can work here; what cannot work is off with its reason, not an
// error. Finished profiles go to `exporter`, which outlives the profiler. With manual_start nothing
// samples until BeginOperation or SetEnabled.
[[nodiscard]] Result<> StartProfiler(const Options& options, Exporter& exporter);
// Stops every sampler. Hooks stay in place, inactive.
void StopProfiler(Unsent unsent = Unsent::kSend);
// For a handler of quick_exit, in any context: sends what is there, within `longest_ns`.
void SendLastProfiles(std::int64_t longest_ns);
// Around a fork, by Runtime: between the two calls the profiler holds all its locks.
void LockProfilerForFork();
void UnlockProfilerAfterFork(bool in_child);
// Hands everything sampled so far to the exporter, now. False when `deadline_ns` (monotonic) came
// first.
[[nodiscard]] bool FlushProfiler(std::int64_t deadline_ns);

[[nodiscard]] Result<> SetEnabled(Type type, bool enabled);
[[nodiscard]] Result<> SetRate(Type type, double rate);
[[nodiscard]] std::vector<TypeState> TypeStates();
// By the server, over what the program chose. Gives what is in force then. Also before the first
// start and after a stop: the next start keeps to it.
Options SetRemoteOptions(RemoteOptions remote);
[[nodiscard]] Options EffectiveOptions();

// A profile of one operation, beside the continuous ones: the samples of the whole process between
// the two calls, as an uncompressed pprof file. `types` is a bit set, 1 << Type. Several may
// overlap. kUnsupported, with the reason, when none of the types can work here; a file without
// samples when nothing was seen. Tools open it with the sample type `shown`, if it has that.
[[nodiscard]] Result<std::uint64_t> BeginOperation(unsigned types);
[[nodiscard]] Result<std::string> EndOperation(std::uint64_t operation,
                                               std::string_view shown = {});
// Ends one and discards its samples.
void DropOperation(std::uint64_t operation);

// Profiles for /debug/pprof/*: uncompressed pprof, of what has been counted since the start, or the
// heap as it is now. Nothing counted is a file without samples, kUnsupported says why a type is
// off.
[[nodiscard]] Result<std::string> CollectPprof(Type type);
// The same for /debug/pprof/allocs: allocated since the start rather than in use.
[[nodiscard]] Result<std::string> CollectAllocations();

// Called in a forked child when the profiler starts again, with its new resource. Null: no
// listener.
void OnChildRestart(void (*listener)(const ResourceAttributes& resource));

// As things are at the call, which costs one system call.
[[nodiscard]] RuntimeStatistics ReadRuntimeStatistics();

}  // namespace wherefore::sdk
