// Which functions changed between two selections, and is that more than chance? The statistics of
// a difference, beside its exact sums (diff.h). Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "profile/flame_tree.h"
#include "query/context.h"
#include "query/lens.h"
#include "query/sample_groups.h"
#include "query/statistics.h"

namespace wherefore::query {

struct TestedChange {
  Comparison comparison;
  double q = 1;  // false discovery rate among everything tested; 1: not tested
  Verdict verdict = Verdict::kUnknown;
};
struct TestedFunction {
  profile::FlameFunction function;
  TestedChange self;
  TestedChange total;
};

struct TestedDifference {
  Grouping grouping = Grouping::kInstances;
  std::size_t groups_before = 0;
  std::size_t groups_after = 0;
  // What is not in the intervals, and what would make them smaller; sentences for people.
  std::string note;
  Comparison whole;                       // everything together; of shares always 1 and 1
  std::vector<TestedFunction> functions;  // by name and module
  // Null: it has no sample on either side.
  [[nodiscard]] const TestedFunction* Find(const profile::FlameFunction& function) const;
};

// Values are shares of a group's total, or per instance and second. Tests see every function;
// limits come after. Snapshots, single spans, negative values and what lenses that name paths leave
// are not tested; the note says so.
Result<TestedDifference> TestDifference(QueryContext& context, const Selection& before,
                                        const Selection& after, Measure measure, const Lens& lens,
                                        const CancelToken& cancel);

}  // namespace wherefore::query
