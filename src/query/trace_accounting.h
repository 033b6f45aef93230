// Where the time of a trace's spans went, and of all spans of a name. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "query/accounting.h"
#include "query/context.h"
#include "query/span_observations.h"

namespace wherefore::query {

// By span, in the order of the trace. Spans that a profiler does not tell apart have the account of
// their request, which is filed under its local root (`seen.unit`).
struct TraceAccounting {
  SpanObservations seen;
  std::vector<Account> accounts;
  std::vector<std::uint32_t> why;    // into `reasons`: of what was not observed
  std::vector<std::string> reasons;  // [0] is empty
};
Result<TraceAccounting> AccountTrace(QueryContext& context, std::uint32_t tenant,
                                     const profile::TraceId& trace, const CancelToken& cancel);
[[nodiscard]] TraceAccounting AccountEach(SpanObservations seen);

// Of more spans than this the newest are looked at.
inline constexpr std::size_t kMostSpansAccounted = 10'000;

struct NameAccounting {
  Account account;         // of all of them together
  std::size_t spans = 0;   // that were found
  bool more = false;       // there are more, older ones
  std::size_t traces = 0;  // they are in
  std::string why;
  std::string filed_under;  // name of the local root, if samples are filed there
  std::int64_t made_others_wait_ns = 0;
};
// At most `most` of them, the newest.
Result<NameAccounting> AccountName(QueryContext& context, const store::SpanSearch& search,
                                   std::size_t most, const CancelToken& cancel);

}  // namespace wherefore::query
