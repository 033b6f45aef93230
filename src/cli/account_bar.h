// Where the time of spans went, as bars of a waterfall. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "query/accounting.h"

namespace wherefore::cli {

struct SpanAccount {
  std::array<std::int64_t, query::kParts> value{};  // by query::Part
  std::array<std::int64_t, query::kParts> error{};
  std::string why;
  std::string filed_under;  // not empty: it is that span's, with all that its service did below it
};
using SpanAccounts = std::map<std::string, SpanAccount>;  // by id

// Of every span of a trace, or of one.
[[nodiscard]] Result<SpanAccounts> AskAccounts(const Context& context, const std::string& trace,
                                               const std::string& span);

// `length` cells, each a part's sign (█ on CPU, L lock, …), in proportion.
[[nodiscard]] std::string AccountBar(const SpanAccount& account, std::size_t length);
// What the signs mean.
[[nodiscard]] std::string AccountLegend();
// "on CPU 131 ms, lock 23 ms ± 3 ms, …": the parts that are there, the largest first.
[[nodiscard]] std::string AccountText(const SpanAccount& account);

// "on CPU", as people read it.
[[nodiscard]] std::string_view PartLabel(query::Part part);

}  // namespace wherefore::cli
