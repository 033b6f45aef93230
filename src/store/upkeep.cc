// Upkeep: what is finished in the background, because a start or a sender must not wait for it.
#include <chrono>
#include <filesystem>

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
    {
      MutexLock lock(state_mutex_);
      if (stopping_) return;
      replayed = replayed_;  // before it, names in the log may be in use
    }
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
    upkeep_changed_.WaitUntil(state_mutex_, std::chrono::steady_clock::now() + kEvery);
  }
}

}  // namespace wherefore::store
