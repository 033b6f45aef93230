// HashIds: content hash -> small dense id (1, 2, ...), 16 bytes an entry plus 4 to 8 for the table.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "base/hash.h"

namespace wherefore::store {

class HashIds {
 public:
  // 0: not known.
  [[nodiscard]] std::uint32_t Find(const Hash128& hash) const {
    if (slots_.empty()) return 0;
    for (std::size_t slot = hash.low & mask_;; slot = (slot + 1) & mask_) {
      const std::uint32_t id = slots_[slot];
      if (id == 0 || hashes_[id - 1] == hash) return id;
    }
  }
  // Start loading what Find will look at: first the slot, some time later the hash behind it.
  void PrefetchSlot(const Hash128& hash) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[hash.low & mask_]);
  }
  void PrefetchHash(const Hash128& hash) const {
    if (slots_.empty()) return;
    if (const std::uint32_t id = slots_[hash.low & mask_]) __builtin_prefetch(&hashes_[id - 1]);
  }
  // The next id for a hash that Find does not know.
  std::uint32_t Add(const Hash128& hash) {
    if ((hashes_.size() + 1) * 3 > slots_.size() * 2) Grow();
    hashes_.push_back(hash);
    const auto id = static_cast<std::uint32_t>(hashes_.size());
    Place(hash, id);
    return id;
  }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(hashes_.size()); }
  [[nodiscard]] const Hash128& HashOf(std::uint32_t id) const { return hashes_[id - 1]; }
  [[nodiscard]] std::size_t MemoryBytes() const {
    return hashes_.capacity() * sizeof(Hash128) + slots_.capacity() * sizeof(std::uint32_t);
  }

 private:
  void Place(const Hash128& hash, std::uint32_t id) {
    std::size_t slot = hash.low & mask_;
    while (slots_[slot] != 0) slot = (slot + 1) & mask_;
    slots_[slot] = id;
  }
  void Grow() {
    slots_.assign(slots_.empty() ? 64 : slots_.size() * 2, 0);
    mask_ = slots_.size() - 1;
    for (std::size_t i = 0; i < hashes_.size(); ++i) {
      Place(hashes_[i], static_cast<std::uint32_t>(i + 1));
    }
  }

  std::vector<Hash128> hashes_;  // by id - 1
  std::vector<std::uint32_t> slots_;
  std::size_t mask_ = 0;
};

}  // namespace wherefore::store
