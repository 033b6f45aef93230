#include "query/trace_accounting.h"

#include <map>
#include <set>
#include <unordered_map>

#include "base/clock.h"
#include "query/looks.h"

namespace wherefore::query {

TraceAccounting AccountEach(SpanObservations seen) {
  TraceAccounting out{.seen = std::move(seen)};
  out.reasons.emplace_back();
  std::unordered_map<std::string, std::uint32_t> numbers{{"", 0}};
  const std::size_t size = out.seen.spans.size();
  out.accounts.resize(size);
  out.why.resize(size);
  const std::int64_t now = NowUnixNs();
  for (std::uint32_t i = 0; i < size; ++i) {
    if (out.seen.unit[i] != i) continue;
    out.accounts[i] = AccountOf(out.seen.figures[i]);
    const store::SpanRow& span = out.seen.spans[i];
    std::string why = WhyUnobserved(out.accounts[i], out.seen.services[out.seen.service[i]],
                                    span.start_ns + span.duration_ns, now);
    const auto [at, fresh] =
        numbers.try_emplace(std::move(why), static_cast<std::uint32_t>(out.reasons.size()));
    if (fresh) out.reasons.push_back(at->first);
    out.why[i] = at->second;
  }
  for (std::uint32_t i = 0; i < size; ++i) {
    const std::uint32_t unit = out.seen.unit[i];
    if (unit == i) continue;
    out.accounts[i] = out.accounts[unit];
    out.why[i] = out.why[unit];
  }
  return out;
}

Result<TraceAccounting> AccountTrace(QueryContext& context, std::uint32_t tenant,
                                     const profile::TraceId& trace, const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(SpanObservations seen, ObserveSpans(context, tenant, {trace}, cancel));
  return AccountEach(std::move(seen));
}

Result<NameAccounting> AccountName(QueryContext& context, const store::SpanSearch& search,
                                   std::size_t most, const CancelToken& cancel) {
  store::SpanSearch wanted = search;
  wanted.limit = most + 1;
  WHEREFORE_ASSIGN_OR_RETURN(auto found, context.reader.FindSpans(wanted, cancel));
  NameAccounting out;
  out.more = found.size() > most;
  if (out.more) found.resize(most);
  std::set<SpanKey> keys;
  std::set<profile::TraceId> traces;
  for (const store::SpanTime& span : found) {
    keys.emplace(span.trace, span.id);
    traces.insert(span.trace);
  }
  out.traces = traces.size();
  WHEREFORE_ASSIGN_OR_RETURN(
      const SpanObservations seen,
      ObserveSpans(context, search.tenant, {traces.begin(), traces.end()}, cancel));
  Accounting together;
  std::vector<char> counted(seen.spans.size());
  std::map<std::string, std::size_t> roots;
  std::uint32_t last = kNoSpan;
  for (std::uint32_t i = 0; i < seen.spans.size(); ++i) {
    const store::SpanRow& span = seen.spans[i];
    if (!keys.contains({span.trace, span.id})) continue;
    ++out.spans;
    const std::uint32_t unit = seen.unit[i];
    if (counted[unit]++ != 0) continue;
    together.Add(seen.figures[unit]);
    out.made_others_wait_ns =
        SaturatingAdd(out.made_others_wait_ns, seen.made_others_wait_ns[unit]);
    if (unit != i) ++roots[seen.spans[unit].name];
    last = unit;
  }
  out.account = together.Total();
  std::size_t often = 0;
  for (const auto& [name, count] : roots) {
    if (count <= often) continue;
    often = count;
    out.filed_under = name;
  }
  if (last != kNoSpan) {
    const store::SpanRow& span = seen.spans[last];
    out.why = WhyUnobserved(out.account, seen.services[seen.service[last]],
                            span.start_ns + span.duration_ns, NowUnixNs());
  }
  return out;
}

}  // namespace wherefore::query
