#include "base/cancel.h"

#include <fmt/format.h>

#include "base/text.h"

namespace wherefore {

Error MemoryError(std::int64_t limit_bytes) {
  return {Code::kLimit,
          fmt::format("the question needs more than {} of memory; narrow it, or raise "
                      "--query-memory",
                      FormatBytes(limit_bytes))};
}

Result<> CancelToken::Charge(std::size_t bytes) const {
  const auto more = static_cast<std::int64_t>(bytes);
  const std::int64_t limit = state_->memory_limit.load(std::memory_order_relaxed);
  const std::int64_t used = state_->memory_used.fetch_add(more, std::memory_order_relaxed) + more;
  if (limit <= 0 || used <= limit) return {};
  Release(bytes);
  return MemoryError(limit);
}

}  // namespace wherefore
