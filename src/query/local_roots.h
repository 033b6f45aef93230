// Under which span a profiler files the samples of a request. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>

#include "query/stored_types.h"

namespace wherefore::query {

// The id under which a profiler filed the samples of a span, where the span says so: its own, its
// local root's, or one that no span has.
[[nodiscard]] std::optional<profile::SpanId> ProfileIdOf(const store::SpanRow& span);

// The services with samples of a span that is not a local root: their profilers link every span,
// so a span without samples has none elsewhere. A span that names where its samples are filed is a
// local root, whatever its parent is (a service that calls itself).
[[nodiscard]] std::set<std::uint64_t> ServicesThatLinkInnerSpans(
    std::span<const store::SpanRow> trace, const std::set<profile::SpanId>& with_samples);

}  // namespace wherefore::query
