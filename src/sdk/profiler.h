// The engines as the rest of the library sees them: what src/sdk/runtime.cc and the C ABI call.
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
#include "sdk/options.h"
#include "sdk/resource.h"

namespace wherefore::sdk {

class Exporter;

// How one type is doing, for the start line, `doctor` and wherefore_get_type_state().
struct TypeState {
  Type type = Type::kCpu;
  bool on = false;
  double rate = 0;  // what is real now, in the type's unit (options.h)
  std::string why;  // when off: a reason a person can act on; when on: empty or a restriction
  bool refused = false;  // `why` is a sandbox or a crash before, nothing that is so by nature
};

// Starts what `options` ask for and can work here; what cannot work is off with its reason, not an
// error. Finished profiles go to `exporter`, which outlives the engines. With manual_start nothing
// samples until BeginOperation or SetEnabled.
[[nodiscard]] Result<> StartProfiler(const Options& options, Exporter& exporter);
// What a stop does with what was sampled and not yet sent: hands it to the exporter, or leaves it
// to the next start, which keeps the types that are on then.
enum class Unsent : std::uint8_t { kSend, kKeep };
// Stops every engine. Hooks stay in place, inactive.
void StopProfiler(Unsent unsent = Unsent::kSend);
// For a handler of quick_exit, in any context: what there is is sent, or `longest_ns` pass.
void SendLastProfiles(std::int64_t longest_ns);
// Around a fork, by Runtime: between the two the engines hold every lock of theirs.
void LockProfilerForFork();
void UnlockProfilerAfterFork(bool in_child);
// Hands everything sampled so far to the exporter, now. False when `deadline_ns` (monotonic) came
// first.
[[nodiscard]] bool FlushProfiler(std::int64_t deadline_ns);

[[nodiscard]] Result<> SetEnabled(Type type, bool enabled);
[[nodiscard]] Result<> SetRate(Type type, double rate);
[[nodiscard]] std::vector<TypeState> TypeStates();

// A profile of one operation, beside the continuous ones: the samples of the whole process between
// the two calls, as an uncompressed pprof file. `types` is a bit set, 1 << Type. Several may
// overlap. kUnsupported, with the reason, when none of the types can work here; a file without
// samples when nothing was seen. Tools open it with the sample type `shown`, if it has that.
[[nodiscard]] Result<std::uint64_t> BeginOperation(unsigned types);
[[nodiscard]] Result<std::string> EndOperation(std::uint64_t operation,
                                               std::string_view shown = {});
// Ends one that nobody wants any more.
void DropOperation(std::uint64_t operation);

// Profiles for /debug/pprof/*: uncompressed pprof, of what has been counted since the start, or the
// heap as it is now. Nothing counted is a file without samples, kUnsupported says why a type is off.
[[nodiscard]] Result<std::string> CollectPprof(Type type);
// The same for /debug/pprof/allocs: allocated since the start rather than in use.
[[nodiscard]] Result<std::string> CollectAllocations();

// In a forked child, when the engines start again, with its new resource. Null: nobody.
void OnChildRestart(void (*listener)(const ResourceAttributes& resource));

// The figures spans may carry, as they are at the call, which costs one system call. Nothing where
// it is not known.
struct RuntimeStatistics {
  struct Heap {
    std::int64_t bytes = 0;
    std::int64_t objects = 0;
  };
  std::optional<Heap> heap;             // in use, as far as sampled; while the heap is
  std::optional<std::int64_t> threads;  // the host's, not ours
};
[[nodiscard]] RuntimeStatistics ReadRuntimeStatistics();

}  // namespace wherefore::sdk
