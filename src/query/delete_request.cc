#include "query/delete_request.h"

namespace wherefore::query {

Result<store::DeleteRequest> ResolveDelete(QueryContext& context, const Selection& selection,
                                           const CancelToken& cancel) {
  if (!selection.selector.narrowing().empty()) {
    return Error(Code::kInvalid,
                 "a delete cannot name spans, traces or profiles (span_id, trace_id, profile_id): "
                 "it is of services, labels and times");
  }
  store::DeleteRequest out{.tenant = selection.tenant, .range = selection.range};
  const bool has_matchers = !selection.selector.label_matchers().empty();
  WHEREFORE_ASSIGN_OR_RETURN(
      auto rows, context.reader.ServicesOfAnySignal(selection.tenant, selection.range, cancel));
  for (const store::ServiceRow& row : rows) {
    if (selection.selector.MatchesService(row.name)) out.spans_of.push_back(row.dictionary);
  }
  std::vector<SeriesList> lists(out.spans_of.size());
  if (has_matchers) {
    WHEREFORE_ASSIGN_OR_RETURN(lists, context.catalog.Series(out.spans_of, cancel));
  }
  for (std::size_t i = 0; i < lists.size(); ++i) {
    store::SeriesSelection one{.dictionary = out.spans_of[i]};
    if (has_matchers) {
      for (const store::SeriesRow& series : *lists[i]) {
        if (selection.selector.MatchesLabels(series.labels)) one.series.push_back(series.series);
      }
      if (one.series.empty()) continue;
    }
    out.selections.push_back(std::move(one));
  }
  if (has_matchers) {
    out.span_matches = [selector = selection.selector](const store::SpanLabels& labels) {
      return selector.MatchesLabels(labels);
    };
  }
  return out;
}

}  // namespace wherefore::query
