// Which stacks hold what rules look for. All rules are looked for at once: what each function
// matches is found out once, then every stack is walked once.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "insight/rule.h"
#include "query/stack_table.h"

namespace wherefore::insight {

// Where a rule, or a detector, found something.
struct Hit {
  std::uint32_t stack = 0;             // of the table
  std::uint32_t function = 0;          // of the table: what matched, the innermost
  std::uint32_t caller = kNoFunction;  // the nearest frame above that does not match
  static constexpr std::uint32_t kNoFunction = UINT32_MAX;
};

// By rule: its stacks, each once. Rules without frames have none.
Result<std::vector<std::vector<Hit>>> FindFrames(std::span<const Rule> rules,
                                                 const query::StackTable& table,
                                                 const CancelToken& cancel);

}  // namespace wherefore::insight
