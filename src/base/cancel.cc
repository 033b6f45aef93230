#include "base/cancel.h"

#include <fmt/format.h>

#include "base/memory_budget.h"
#include "base/text.h"

namespace wherefore {

Error MemoryError(std::int64_t limit_bytes) {
  return {Code::kLimit, fmt::format("the query needs more than {} of memory; narrow it, or raise "
                                    "--query-memory",
                                    FormatBytes(limit_bytes))};
}

Result<> CancelToken::Charge(std::size_t bytes) const {
  const auto more = static_cast<std::int64_t>(bytes);
  const std::int64_t limit = state_->memory_limit.load(std::memory_order_relaxed);
  const std::int64_t used = state_->memory_used.fetch_add(more, std::memory_order_relaxed) + more;
  const bool within = limit <= 0 || used <= limit;
  if (within && MemoryBudget::Process().TakeForQuery(bytes)) return {};
  state_->memory_used.fetch_sub(more, std::memory_order_relaxed);
  return within ? ShortOfMemory() : MemoryError(limit);
}

void CancelToken::Release(std::size_t bytes) const {
  state_->memory_used.fetch_sub(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
  MemoryBudget::Process().GiveForQuery(bytes);
}

CancelToken::State::~State() {
  MemoryBudget::Process().GiveForQuery(static_cast<std::size_t>(memory_used.load()));
}

}  // namespace wherefore
