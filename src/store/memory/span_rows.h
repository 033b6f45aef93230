// Spans of tables in memory: where those of traces lie, whose they are, and which a search means.
// For the files of this room.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "store/memory/tables.h"
#include "store/read.h"

namespace wherefore::store::memory {

// The attribute of a span that says under which id its profiler filed its samples; empty: none.
[[nodiscard]] std::string_view ProfileIdOf(const SpanRow& span);

// Names of a tenant's services by hash, from the buckets that are asked for.
[[nodiscard]] std::map<std::uint64_t, std::string> ServiceNames(
    const Tables& tables, std::uint32_t tenant, const std::function<bool(std::uint32_t)>& bucket);

// Served or consumed, or begun by nobody else.
[[nodiscard]] inline bool IsRequest(const SpanRow& row) {
  return row.kind == 2 || row.kind == 5 || row.parent == profile::SpanId{};
}

// Does the search mean it?
[[nodiscard]] bool Matches(const SpanSearch& search, const StoredSpan& span);

// The spans of some traces, as the index knows them.
[[nodiscard]] Result<std::vector<const StoredSpan*>> SpansOf(
    const Tables& tables, std::uint32_t tenant, const std::set<profile::TraceId>& traces,
    const CancelToken& cancel);

// Their rows, with the names of their services.
[[nodiscard]] std::vector<SpanRow> WholeRows(const Tables& tables, std::uint32_t tenant,
                                             const std::vector<const StoredSpan*>& spans);

}  // namespace wherefore::store::memory
