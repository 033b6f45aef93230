// The difference of two flame graphs, laid over each other by function path. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/flame_tree.h"

namespace wherefore::query {

// Both sides by function path.
struct DiffTree {
  profile::FlameTree tree;           // union of both; values are those of `after`
  std::vector<std::int64_t> before;  // total per node
  std::vector<std::int64_t> before_self;
  std::vector<std::int64_t> before_count;  // observations behind before_self
};
[[nodiscard]] DiffTree Diff(const profile::FlameTree& before, const profile::FlameTree& after);

// What is small on both sides folded into explicit "other" children, as profile::Prune does it;
// totals of both sides do not change.
[[nodiscard]] DiffTree PruneDiff(const DiffTree& diff, const profile::PruneOptions& options);

struct DiffRow {
  std::uint32_t function = 0;  // into the union tree's functions
  std::int64_t self_before = 0;
  std::int64_t self_after = 0;
  std::int64_t total_before = 0;
  std::int64_t total_after = 0;
};
// Functions by how much their self value changed, largest change first.
[[nodiscard]] std::vector<DiffRow> DiffTop(const DiffTree& diff);
// Into that order; among equals by how much the total changed.
void SortDiffTop(std::vector<DiffRow>& rows);

// The same with the functions it is about.
struct Changes {
  std::vector<profile::FlameFunction> functions;
  std::vector<DiffRow> rows;
};

}  // namespace wherefore::query
