// Runs a query and hands its rows to a function, one by one. For the files of this module.
#pragma once

#include <string_view>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "store/native.h"
#include "store/transport.h"

namespace wherefore::store {

// The answer counts as memory of the question: its bytes while they are read, and once more for the
// rows that are made of them. `row(columns, index)` returns a Result<>; an error ends it.
template <typename F>
Result<> QueryRows(Transport& transport, std::string_view sql, std::size_t columns,
                   const QueryLimits& limits, const CancelToken& cancel, F&& row) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::string bytes, transport.Query(sql, limits, cancel));
  MemoryClaim raw(cancel);
  WHEREFORE_RETURN_IF_ERROR(raw.Resize(bytes.size()));
  WHEREFORE_RETURN_IF_ERROR(cancel.Charge(bytes.size()));
  WHEREFORE_ASSIGN_OR_RETURN(const NativeResult result, NativeResult::Parse(bytes, columns));
  for (const NativeBlock& block : result.blocks) {
    for (std::size_t i = 0; i < block.rows; ++i) WHEREFORE_RETURN_IF_ERROR(row(block.columns, i));
  }
  return {};
}

}  // namespace wherefore::store
