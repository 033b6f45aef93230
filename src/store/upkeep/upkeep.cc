// Upkeep: what is done in the background, because a start or a sender must not wait for it: the end
// of a delete that was interrupted, and finding out what damage has cost.
#include <fcntl.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "store/store_impl.h"

namespace wherefore::store {
namespace {

constexpr auto kEvery = std::chrono::seconds(10);
constexpr std::int64_t kLongestWaitNs = 600 * kNsPerSecond;

constexpr std::int64_t kReserve = std::int64_t{16} << 20;

std::int64_t FreeBytes(const std::string& path) {
  struct statvfs disk{};
  if (statvfs(path.c_str(), &disk) != 0) return 0;
  return static_cast<std::int64_t>(disk.f_bavail) * static_cast<std::int64_t>(disk.f_frsize);
}

}  // namespace

void StoreImpl::KeepReserve() {
  std::error_code error;
  const bool there =
      static_cast<std::int64_t>(std::filesystem::file_size(paths_.reserve, error)) >= kReserve &&
      !error;
  if (there || FreeBytes(paths_.root) < 10 * kReserve) return;
  auto file = journal::File::Open(paths_.reserve, O_WRONLY | O_CREAT);
  if (!file || posix_fallocate(file->fd(), 0, kReserve) != 0)
    std::filesystem::remove(paths_.reserve, error);
}

void StoreImpl::UseReserve() {
  if (FreeBytes(paths_.root) >= kReserve) return;
  std::error_code error;
  std::filesystem::remove(paths_.reserve, error);
}

void StoreImpl::RunUpkeep() {
  Upkeep upkeep;
  while (true) {
    bool replayed = false;
    {
      MutexLock lock(state_mutex_);
      if (stopping_) return;
      replayed = replayed_;  // before it, names in the log may be in use
      upkeep.look_for_damage |= replayed && std::exchange(look_for_damage_, false);
    }
    try {
      if (replayed) DoUpkeep(upkeep);
      if (replayed) RollSome(upkeep);
      KeepReserve();
    } catch (const std::bad_alloc&) {
      Log(LogLevel::kWarn, "there is no memory for the store's upkeep; it is tried again");
    }
    MutexLock lock(state_mutex_);
    if (stopping_) return;
    if (look_for_damage_ && replayed_) continue;
    const std::chrono::nanoseconds roll(options_.roll_waits.every_ns);
    const auto wait = roll.count() == 0 ? kEvery : std::min<std::chrono::nanoseconds>(kEvery, roll);
    upkeep_changed_.WaitUntil(state_mutex_, std::chrono::steady_clock::now() + wait);
  }
}

void StoreImpl::DoUpkeep(Upkeep& upkeep) {
  if (upkeep.look_for_damage) upkeep.look_for_damage = !LookForDamage();
  if (names_lost_.load() && MonotonicNs() >= upkeep.next_names_ns) {
    // Less and less often: their sender may never come again.
    upkeep.names_wait_ns = std::min(upkeep.names_wait_ns * 2, kLongestWaitNs);
    upkeep.next_names_ns = MonotonicNs() + upkeep.names_wait_ns;
    MutexLock insert(insert_mutex_);
    if (auto named = RestoreLostNames(); !named) {
      Log(LogLevel::kWarn, "names that were lost cannot be looked for",
          {{"error", named.error().message()}});
    }
  }
  std::error_code error;
  if (!std::filesystem::exists(paths_.deleting, error)) return;
  const auto finished = FinishInterruptedDelete();
  const std::string problem = finished ? "" : finished.error().message();
  if (!problem.empty() && problem != upkeep.said) {
    Log(LogLevel::kError, "cannot finish an interrupted delete", {{"error", problem}});
  }
  upkeep.said = problem;
}

void StoreImpl::RollSome(Upkeep& upkeep) {
  constexpr std::int64_t kAtOnceNs = 2 * kNsPerSecond;
  const std::int64_t every_ns = options_.roll_waits.every_ns;
  if (every_ns == 0 || MonotonicNs() < upkeep.next_roll_ns) return;
  const auto more = RollHours(kAtOnceNs);
  // What is left goes on with the next round, so that deletes and backups get their turn.
  if (!more || !*more) upkeep.next_roll_ns = MonotonicNs() + every_ns;
  const std::string problem = more ? "" : more.error().message();
  if (!problem.empty() && problem != upkeep.roll_said)
    Log(LogLevel::kWarn, "hours cannot be summed up; it is tried again", {{"error", problem}});
  upkeep.roll_said = problem;
}

}  // namespace wherefore::store
