// Self and total per source line of the functions that match, as `pprof list` shows them. Any
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "profile/line_table.h"
#include "query/context.h"
#include "query/tiers.h"

namespace wherefore::query {

// Only functions of that module (its file name; empty: of none) and of that source file.
struct ListOptions {
  std::optional<std::string> module;  // not said: of any
  std::string file;                   // empty: of any
};
struct ListAnswer {
  std::string type;
  std::string unit;
  std::int64_t scale = 1;  // values are in 1/scale units
  std::int64_t total = 0;  // of the whole selection
  std::vector<profile::ListedFunction> functions;
  std::string hint;
  Tier tier;
};

Result<ListAnswer> List(QueryContext& context, const Selection& selection,
                        const std::string& function_regex, const ListOptions& options,
                        const CancelToken& cancel);
// Whether a profile of the selection's services and days names this source file.
Result<bool> NamesFile(QueryContext& context, const Selection& selection, const std::string& file,
                       const CancelToken& cancel);

}  // namespace wherefore::query
