// Tiers: what is left of old data, for readers and for the writer: buckets whose samples retention
// has dropped while their hours stay, and whether anything hours were rolled to is going away.
//
// Samples that are gone never come back: where a bucket is listed, its hours count as they are,
// whatever its profiles say, and nothing more is written to it.
//
// Threads: any.
#pragma once

#include <atomic>
#include <cstdint>
#include <set>
#include <utility>

#include "base/shared_mutex.h"

namespace wherefore::store {

// A bucket, and whose samples of it are gone: a tenant's, or everybody's.
inline constexpr std::int64_t kEverybody = -1;
using GoneSamples = std::set<std::pair<std::uint32_t, std::int64_t>>;

class Tiers {
 public:
  [[nodiscard]] bool SamplesGone(std::uint32_t tenant, std::uint32_t bucket) const
      EXCLUDES(mutex_) {
    if (!any_.load(std::memory_order_acquire)) return false;
    ReaderLock lock(mutex_);
    return gone_.contains({bucket, kEverybody}) || gone_.contains({bucket, tenant});
  }
  void SetSamplesGone(GoneSamples gone) EXCLUDES(mutex_) {
    WriterLock lock(mutex_);
    gone_ = std::move(gone);
    any_.store(!gone_.empty(), std::memory_order_release);
  }

  // Odd while sums of hours, or the notes that speak of them, go away. Notes go first: who finds
  // the same even number before and after it has read sums, or finds their notes after it, has read
  // all of them.
  [[nodiscard]] std::uint64_t Removals() const { return removals_.load(); }
  class Removal {
   public:
    explicit Removal(Tiers& tiers) : tiers_(tiers) { tiers_.Begin(); }
    ~Removal() { tiers_.End(); }
    Removal(const Removal&) = delete;
    Removal& operator=(const Removal&) = delete;

   private:
    Tiers& tiers_;
  };

 private:
  void Begin() EXCLUDES(mutex_) {
    WriterLock lock(mutex_);
    if (running_++ == 0) removals_.fetch_add(1);
  }
  void End() EXCLUDES(mutex_) {
    WriterLock lock(mutex_);
    if (--running_ == 0) removals_.fetch_add(1);
  }

  mutable SharedMutex mutex_;
  GoneSamples gone_ GUARDED_BY(mutex_);
  int running_ GUARDED_BY(mutex_) = 0;
  std::atomic<bool> any_{false};
  std::atomic<std::uint64_t> removals_{0};
};

}  // namespace wherefore::store
