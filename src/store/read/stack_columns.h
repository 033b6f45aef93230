// The columns of sums per stack, over samples and over hours. For the files of this module.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include <fmt/format.h>

#include "store/engine/columns.h"
#include "store/read.h"

namespace wherefore::store {

// The type of a row, known beforehand where only one is asked for: one key less to group by.
inline std::string TypeOf(const SampleQuery& query) {
  std::set<std::uint64_t> types;
  for (const SeriesSelection& selection : query.selections) {
    if (selection.types.empty()) return "type";
    types.insert(selection.types.begin(), selection.types.end());
  }
  return types.size() == 1 ? fmt::format("toUInt64({})", *types.begin()) : "type";
}

// What is read of a stack. `kind` and not `type`, which the condition means as it is stored.
inline auto StackColumns(const SampleQuery& query) {
  return Columns<StackSum>(Col(TypeOf(query) + " AS kind", &StackSum::type),
                           Col("stack", &StackSum::stack), Sum("value", &StackSum::value),
                           Col("sum(n)", &StackSum::count));
}

}  // namespace wherefore::store
