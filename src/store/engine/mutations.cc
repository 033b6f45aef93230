// See mutations.h.
#include "store/engine/mutations.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "base/clock.h"
#include "store/engine/query_rows.h"

namespace wherefore::store {
namespace {

struct Running {
  std::uint64_t mutations = 0;
  std::uint64_t parts = 0;
  std::string failure;  // of one that failed since it was last tried; empty: none
};

Result<Running> RunningMutations(Transport& transport) {
  constexpr auto kColumns = Columns<Running>(Col("toUInt64(count())", &Running::mutations),
                                             Col("toUInt64(sum(parts_to_do))", &Running::parts),
                                             Col("max(latest_fail_reason)", &Running::failure));
  Running running;
  WHEREFORE_RETURN_IF_ERROR(
      QueryRows(transport, kColumns,
                "FROM system.mutations WHERE is_done = 0 AND database = currentDatabase()",
                [&](Running&& found) { running = std::move(found); }));
  return running;
}

}  // namespace

Result<> WaitForMutations(Transport& transport, const StillWaiting& waiting) {
  using std::chrono::milliseconds;
  constexpr std::int64_t kFailurePatience = 5 * kNsPerSecond;
  constexpr milliseconds kLongest(200);
  std::int64_t failing_since = 0;
  for (milliseconds pause(2);; pause = std::min(pause * 2, kLongest)) {
    WHEREFORE_ASSIGN_OR_RETURN(const Running running, RunningMutations(transport));
    const bool go_on = waiting(running.parts);
    if (running.mutations == 0) return {};
    if (!go_on) return Error(Code::kUnavailable, "the store is shutting down");
    if (running.failure.empty()) {
      failing_since = 0;
    } else if (failing_since == 0) {
      failing_since = MonotonicNs();
    } else if (MonotonicNs() - failing_since > kFailurePatience) {
      return Error(Code::kUnavailable,
                   fmt::format("the engine cannot rewrite what is deleted, and goes on trying: {}",
                               running.failure));
    }
    std::this_thread::sleep_for(pause);
  }
}

Result<> Mutate(Transport& transport, std::span<const Mutation> mutations,
                const StillWaiting& waiting) {
  if (mutations.empty()) return {};
  const bool modern = transport.version() >= kHasInsertTokens;
  Settings settings{{"max_query_size", "268435456"}};  // lists of ids may be long
  if (modern) settings.emplace_back("mutations_sync", "0");
  for (const Mutation& m : mutations) {
    // The partition keeps the engine from looking at every part there is.
    const std::string in = modern ? fmt::format(" IN PARTITION {}", m.bucket) : std::string();
    WHEREFORE_RETURN_IF_ERROR(
        transport.Execute(fmt::format("ALTER TABLE {} {}{} WHERE bucket = {} AND ({})",
                                      PhysicalName(m.table), m.change, in, m.bucket, m.where),
                          settings));
  }
  return WaitForMutations(transport, waiting);
}

}  // namespace wherefore::store
