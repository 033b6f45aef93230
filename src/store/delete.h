// What to delete, and what was deleted. Plain data.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "store/read.h"

namespace wherefore::store {

// Attributes as text, nearer ones first: the span's own, then its resource's.
using SpanLabels = std::vector<std::pair<std::string, std::string>>;
using SpanPredicate = std::function<bool(const SpanLabels&)>;

struct DeleteRequest {
  std::uint32_t tenant = 0;
  TimeRange range;
  // Profiles: which series of which dictionaries; empty `series` inside an entry = all of that
  // service's.
  std::vector<SeriesSelection> selections;
  // Spans: of these services, those that match; no predicate = all.
  std::vector<DictionaryKey> spans_of;
  SpanPredicate span_matches;
  // Where samples are gone, sums by hour know no label but the version, and nothing within an hour:
  // then whole hours of the services go, or, without this, nothing at all (kInvalid).
  bool whole_hours = false;
};
struct DeleteResult {
  std::uint64_t samples = 0;
  std::uint64_t profiles = 0;
  std::uint64_t spans = 0;
};

}  // namespace wherefore::store
