// Builds a flame tree from the samples of a Batch, without a store: for `wherefore top FILE` and
// tests.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "profile/batch.h"
#include "profile/flame_tree.h"
#include "profile/type_id.h"

namespace wherefore::profile {

// Maps a Batch's frames to function ids of a TreeBuilder, each frame once.
class BatchNamer {
 public:
  BatchNamer(const Batch& batch, TreeBuilder& builder) : batch_(batch), builder_(builder) {}
  // Adds `value` under the sample's stack (root first), or under "[no stack]".
  void AddStack(Id stack, std::int64_t value, std::int64_t count);

 private:
  const std::vector<std::uint32_t>& FunctionsOf(Id frame);

  const Batch& batch_;
  TreeBuilder& builder_;
  std::vector<std::vector<std::uint32_t>>
      frame_functions_;  // outermost first; empty: not computed yet
};

struct BatchTreeResult {
  FlameTree tree;
  std::size_t profiles = 0;      // of the wanted type
  bool snapshot = false;         // see IsSnapshot
  std::int64_t observed_ns = 0;  // time covered by any of them (observed_time.h); 0: not known
  // False: the tree's counts are samples, each of which may stand for any number of observations.
  bool observations_known = true;
};
// How several snapshots are combined: their average over the observed time, in thousandths, or
// their sum, as Pyroscope does.
enum class SeveralSnapshots : std::uint8_t { kAverage, kAddUp };
// Adds up all profiles of the type in the batch. `wanted` as in MatchType.
[[nodiscard]] BatchTreeResult BuildBatchTree(const Batch& batch, std::string_view wanted,
                                             SeveralSnapshots several = SeveralSnapshots::kAverage);
// The same within a query's time and memory limits; what the result holds stays charged.
[[nodiscard]] Result<BatchTreeResult> BuildBatchTree(const Batch& batch, std::string_view wanted,
                                                     SeveralSnapshots several,
                                                     const CancelToken& cancel);
// The types in the batch, in order, without repetition.
[[nodiscard]] std::vector<ProfileType> BatchTypes(const Batch& batch);

struct BatchTime {
  std::int64_t start_ns = 0;     // of the first profile; 0: not known
  std::int64_t duration_ns = 0;  // until the end of the last profile; 0: not known
};
[[nodiscard]] BatchTime TimeOf(const Batch& batch);

}  // namespace wherefore::profile
