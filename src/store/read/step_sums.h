// StepSums: profiles added up by step, each shared out between the steps it lasts in.
//
// The part of a value up to a moment is rounded towards zero and the last step gets the rest, so
// the parts of a profile are together exactly its value. One that would fall into a thousand steps
// and more is a point: its length is as likely wrong as right. What lies beyond the range goes to
// the range's last step. Memory: one entry per series and step that has something in it.
//
// One thread.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "store/read.h"

namespace wherefore::store {

class StepSums {
 public:
  // `end_ns`: the end of the range, exclusive.
  StepSums(const Steps& steps, std::int64_t end_ns) : steps_(steps), end_ns_(end_ns) {}

  [[nodiscard]] const Steps& steps() const { return steps_; }
  // One profile, or what is wanted of it.
  void Add(const ProfileSum& profile);
  // Profiles that lie within one step, added up before.
  void AddWithin(const SeriesPoint& sums);
  // What it holds, for whoever counts the memory of a query.
  [[nodiscard]] std::size_t bytes() const {
    constexpr std::size_t kNode = sizeof(Key) + sizeof(SeriesPoint) + 4 * sizeof(void*);
    return points_.size() * kNode;
  }
  // In no order; nothing is left.
  [[nodiscard]] std::vector<SeriesPoint> Take();

 private:
  struct Key {
    std::uint32_t dictionary;
    std::uint32_t series;
    std::uint64_t type;
    std::int64_t step_start_ns;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  const Steps steps_;
  const std::int64_t end_ns_;
  std::unordered_map<Key, SeriesPoint, KeyHash> points_;
};

}  // namespace wherefore::store
