#include "sdk/collect/profiler.h"

#include <algorithm>

#include "formats/formats.h"
#include "sdk/collect/collector.h"
#include "sdk/platform/background_thread.h"
#include "sdk/platform/clock.h"
#include "sdk/platform/task_list.h"
#include "sdk/platform/thread_state.h"
#include "sdk/sample/heap_table.h"
#include "sdk/sample/shared.h"

namespace wherefore::sdk {
namespace {

// Tools open it with `shown` where there is such a type in it, else with the first, which is bytes
// or time; left to themselves they take the last, which is how often.
Result<std::string> ToPprof(Result<profile::Batch> batch, std::string_view shown = {}) {
  const Busy busy;
  if (!batch) return std::move(batch).error();
  // Profiles name resource and scope 1; a pprof file has no place for either, but the table must.
  if (batch->resources.size() < 2) batch->resources.resize(2);
  if (batch->scopes.size() < 2) batch->scopes.resize(2);
  std::string_view chosen;
  for (const profile::Profile& profile : batch->profiles) {
    const std::string_view type = batch->Text(profile.sample_type.type);
    if (chosen.empty() || type == shown) chosen = type;
  }
  return formats::EncodePprof(*batch, {.shown = chosen, .named = true});
}

Result<Collector*> Running() {
  Collector* collector = Collector::Get();
  if (collector == nullptr) return Error(Code::kUnavailable, "the profiler is not running");
  return collector;
}

Series SinceStartSeries(Type type) {
  switch (type) {
    case Type::kCpu:
      return Series::kCpu;
    case Type::kWall:
      return Series::kWall;
    case Type::kOffCpu:
      return Series::kOffCpu;
    case Type::kHeap:
      return Series::kInUse;
    case Type::kMutex:
      return Series::kMutex;
    case Type::kBlock:
      return Series::kBlock;
    case Type::kThreads:
      return Series::kThreads;
  }
  return Series::kCpu;
}

}  // namespace

Result<> StartProfiler(const Options& options, Exporter& exporter) {
  return Collector::GetOrMake().Start(options, exporter);
}

void StopProfiler(Unsent unsent) {
  if (Collector* collector = Collector::Get(); collector != nullptr) collector->Stop(unsent);
}

void LockProfilerForFork() {
  if (Collector* collector = Collector::Get(); collector != nullptr) collector->BeforeFork();
}

void UnlockProfilerAfterFork(bool in_child) {
  Collector* const collector = Collector::Get();
  if (collector == nullptr) return;
  in_child ? collector->AfterForkInChild() : collector->AfterForkInParent();
}

void SendLastProfiles(std::int64_t longest_ns) {
  if (Collector* collector = Collector::Get(); collector != nullptr)
    collector->SendLast(longest_ns);
}

bool FlushProfiler(std::int64_t deadline_ns) {
  if (Collector* collector = Collector::Get(); collector != nullptr) collector->Flush();
  return MonotonicNow() <= deadline_ns;
}

Result<> SetEnabled(Type type, bool enabled) {
  WHEREFORE_ASSIGN_OR_RETURN(Collector * collector, Running());
  return collector->SetEnabled(type, enabled);
}

Result<> SetRate(Type type, double rate) {
  WHEREFORE_ASSIGN_OR_RETURN(Collector * collector, Running());
  return collector->SetRate(type, rate);
}

Options SetRemoteOptions(RemoteOptions remote) {
  return Collector::GetOrMake().SetRemote(std::move(remote));
}

Options EffectiveOptions() {
  return Collector::GetOrMake().Effective();
}

std::vector<TypeState> TypeStates() {
  Collector* collector = Collector::Get();
  return collector == nullptr ? std::vector<TypeState>() : collector->States();
}

Result<std::uint64_t> BeginOperation(unsigned types) {
  WHEREFORE_ASSIGN_OR_RETURN(Collector * collector, Running());
  return collector->BeginOperation(types);
}

Result<std::string> EndOperation(std::uint64_t operation, std::string_view shown) {
  WHEREFORE_ASSIGN_OR_RETURN(Collector * collector, Running());
  return ToPprof(collector->EndOperation(operation), shown);
}

void DropOperation(std::uint64_t operation) {
  if (Collector* collector = Collector::Get(); collector != nullptr)
    collector->DropOperation(operation);
}

Result<std::string> CollectPprof(Type type) {
  WHEREFORE_ASSIGN_OR_RETURN(Collector * collector, Running());
  return ToPprof(collector->SinceStart(type, SinceStartSeries(type)));
}

Result<std::string> CollectAllocations() {
  WHEREFORE_ASSIGN_OR_RETURN(Collector * collector, Running());
  return ToPprof(collector->SinceStart(Type::kHeap, Series::kAllocated));
}

RuntimeStatistics ReadRuntimeStatistics() {
  RuntimeStatistics now;
  if (g_shared.heap_period.load(std::memory_order_relaxed) > 0) {
    const HeapTable::InUse heap = g_heap_table.in_use();
    now.heap = {.bytes = heap.bytes, .objects = heap.objects};
  }
  // Our own that are just coming or going may be counted, or be one too many to take off.
  if (const std::optional<std::int64_t> all = CountThreads())
    now.threads = std::max<std::int64_t>(*all - BackgroundThread::count(), 1);
  return now;
}

}  // namespace wherefore::sdk
