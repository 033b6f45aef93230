// Upkeep: what is done in the background, because a start or a sender must not wait for it: the end
// of a delete that was interrupted, and finding out what damage has cost.
#include <chrono>
#include <filesystem>
#include <utility>

#include "base/log.h"
#include "store/store_impl.h"

namespace wherefore::store {
namespace {

constexpr auto kEvery = std::chrono::seconds(10);

}  // namespace

void StoreImpl::RunUpkeep() {
  std::string said;
  while (true) {
    bool replayed = false;
    bool look = false;
    {
      MutexLock lock(state_mutex_);
      if (stopping_) return;
      replayed = replayed_;  // before it, names in the log may be in use
      look = replayed && std::exchange(look_for_damage_, false);
    }
    if (look) LookForDamage();
    std::error_code error;
    if (replayed && std::filesystem::exists(paths_.deleting, error)) {
      const auto finished = FinishInterruptedDelete();
      const std::string problem = finished ? "" : finished.error().message();
      if (!problem.empty() && problem != said) {
        Log(LogLevel::kError, "cannot finish an interrupted delete", {{"error", problem}});
      }
      said = problem;
    }
    MutexLock lock(state_mutex_);
    if (stopping_) return;
    if (look_for_damage_ && replayed_) continue;
    upkeep_changed_.WaitUntil(state_mutex_, std::chrono::steady_clock::now() + kEvery);
  }
}

}  // namespace wherefore::store
