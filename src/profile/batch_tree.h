// Puts the samples of a Batch into a flame tree, without a store: `wherefore top FILE` and tests.
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

// Function ids of a Batch's frames in a builder, worked out once per frame.
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
      frame_functions_;  // outermost first; empty = not asked yet
};

struct BatchTreeResult {
  FlameTree tree;
  std::size_t profiles = 0;      // that matched the type
  bool snapshot = false;         // it is one (IsSnapshot)
  std::int64_t observed_ns = 0;  // in which any of them was taken (observed_time.h); 0: not known
  // False: the tree's counts are of samples, of which each stands for any number of observations.
  bool observations_known = true;
};
// What several snapshots are together: their average over the time they were taken, in thousandths,
// or their sum, as Pyroscope has it.
enum class SeveralSnapshots : std::uint8_t { kAverage, kAddUp };
// Adds up all profiles of the type in the batch. `wanted` as in MatchType.
[[nodiscard]] BatchTreeResult BuildBatchTree(const Batch& batch, std::string_view wanted,
                                             SeveralSnapshots several = SeveralSnapshots::kAverage);
// The same within the time and memory a question may use; what it holds stays charged.
[[nodiscard]] Result<BatchTreeResult> BuildBatchTree(const Batch& batch, std::string_view wanted,
                                                     SeveralSnapshots several,
                                                     const CancelToken& cancel);
// Types in the batch, in order, once each.
[[nodiscard]] std::vector<ProfileType> BatchTypes(const Batch& batch);

struct BatchTime {
  std::int64_t start_ns = 0;     // when its first profile began; 0: it does not say
  std::int64_t duration_ns = 0;  // from then to the end of its last; 0: it does not say
};
[[nodiscard]] BatchTime TimeOf(const Batch& batch);

}  // namespace wherefore::profile
