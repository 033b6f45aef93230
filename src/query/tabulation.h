// Tabulation: groups of a selection become the columns of a StackTable.
//
// One thread. Failure: kUnsupported where values below zero make shares meaningless.
#pragma once

#include <span>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "query/context.h"
#include "query/lens.h"
#include "query/requests.h"
#include "query/sample_groups.h"
#include "query/stack_table.h"

namespace wherefore::query {

// The groups as they are, measured against their time.
[[nodiscard]] std::vector<MeasuredGroup> AsTheyAre(const GroupedSelection& side);

class Tabulation {
 public:
  // `shares`: what is measured is the part of each group's own total, not its exposure.
  Tabulation(QueryContext& context, const Lens& lens, bool shares, const CancelToken& cancel)
      : context_(context), lens_(lens), shares_(shares), cancel_(cancel), claim_(cancel) {}

  Result<> Add(const Resolved& resolved, std::span<const MeasuredGroup> groups, Side side);
  [[nodiscard]] StackTable& table() { return table_; }
  [[nodiscard]] const StackTable& table() const { return table_; }

 private:
  QueryContext& context_;
  const Lens& lens_;
  const bool shares_;
  const CancelToken& cancel_;
  MemoryClaim claim_;
  StackTable table_;
};

}  // namespace wherefore::query
