#include "query/tabulation.h"

#include <optional>

namespace wherefore::query {

std::vector<MeasuredGroup> AsTheyAre(const GroupedSelection& side) {
  std::vector<MeasuredGroup> out;
  for (const SampleGroup& group : side.groups) {
    if (group.values.empty()) continue;
    out.push_back({.values = group.values, .exposure = group.observed_s});
  }
  return out;
}

Result<> Tabulation::Add(const Resolved& resolved, std::span<const MeasuredGroup> groups,
                         Side side) {
  for (const MeasuredGroup& group : groups) {
    std::vector<StackTries::Values> values;
    for (std::size_t i = 0; i < group.values.size(); ++i) {
      if (!group.values[i].empty())
        values.push_back({resolved.query.selections[i].dictionary, group.values[i]});
    }
    const MemoryScope scope(cancel_);
    WHEREFORE_ASSIGN_OR_RETURN(TrieSums sums, context_.tries.Sum(values, cancel_));
    if (!sums.IsPlain()) return Error(Code::kUnsupported, "values below zero are not tested");
    WHEREFORE_RETURN_IF_ERROR(sums.Apply(lens_));
    WHEREFORE_ASSIGN_OR_RETURN(const TrieSums::Stacks stacks, sums.EveryStack());
    // A lens may leave less than everything: shares are of what is left.
    table_.AddGroup(side, stacks, group.unit,
                    shares_ ? std::nullopt : std::optional<double>(group.exposure));
    WHEREFORE_RETURN_IF_ERROR(claim_.Resize(table_.bytes()));
  }
  return {};
}

}  // namespace wherefore::query
