#include "query/engine.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/text.h"

namespace wherefore::query {
namespace {

// Sums of one dictionary, ready for its trie.
using StackValues = std::vector<std::vector<StackValue>>;  // by selection

}  // namespace

Engine::Engine(store::Reader& reader, symbols::Symbolizer* symbolizer, std::size_t cache_bytes)
    : reader_(reader),
      symbolizer_(symbolizer),
      catalog_(reader),
      tries_(reader, symbolizer, cache_bytes) {}

Result<StackValues> Engine::Sum(const Resolved& r, const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(auto sums, reader_.SumStacks(r.query, cancel));
  StackValues by_selection(r.query.selections.size());
  for (const store::StackSum& s : sums) {
    const TypeUse& use = r.types.at(s.type);
    by_selection[s.dictionary].push_back(
        {.stack = s.stack, .value = use.Value(s.value), .count = use.Count(s.value, s.count)});
  }
  return by_selection;
}

Result<StackValues> Engine::SumOrAverage(const Resolved& r, const CancelToken& cancel) {
  if (r.query.selections.empty()) return StackValues();
  StackValues values;
  {
    const MemoryScope scope(cancel);  // the sums they are made of
    WHEREFORE_ASSIGN_OR_RETURN(values, r.snapshot ? Average(r, cancel) : Sum(r, cancel));
  }
  std::size_t bytes = 0;
  for (const auto& of_selection : values) bytes += of_selection.capacity() * sizeof(StackValue);
  WHEREFORE_RETURN_IF_ERROR(cancel.Charge(bytes));
  return values;
}

Result<Resolved> Engine::Resolve(const Selection& selection, const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(Resolved r, catalog_.Resolve(selection, {}, cancel));
  if (!r.snapshot || r.query.selections.empty()) return r;
  return catalog_.Resolve(selection, {.with_series = true}, cancel);
}

Result<FlameAnswer> Engine::Flame(const Selection& selection, const Lens& lens,
                                  const CancelToken& cancel) {
  if (const Narrowing& narrowing = selection.selector.narrowing(); !narrowing.empty()) {
    WHEREFORE_ASSIGN_OR_RETURN(profile::FlameTree tree,
                               NarrowedFlame(selection, narrowing, cancel));
    if (!lens.empty()) {
      WHEREFORE_ASSIGN_OR_RETURN(tree, lens.Apply(tree, cancel));
    }
    FlameAnswer narrowed{.tree = std::move(tree)};
    if (narrowed.tree.total[0] == 0) narrowed.hint = "no samples of that span, trace or profile";
    return narrowed;
  }
  WHEREFORE_ASSIGN_OR_RETURN(const Resolved r, Resolve(selection, cancel));
  WHEREFORE_ASSIGN_OR_RETURN(const StackValues values, SumOrAverage(r, cancel));
  profile::TreeBuilder builder;
  std::vector<StackTries::Values> all;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i].empty()) all.push_back({r.query.selections[i].dictionary, values[i]});
  }
  WHEREFORE_RETURN_IF_ERROR(tries_.AddTo(builder, all, cancel));
  WHEREFORE_RETURN_IF_ERROR(cancel.Check());
  FlameAnswer answer{.averaged = r.snapshot};
  WHEREFORE_ASSIGN_OR_RETURN(answer.tree, BuildTree(builder, cancel));
  answer.tree.scale = r.snapshot ? kAverageScale : 1;
  answer.tree.type = r.type;
  answer.tree.unit = r.unit;
  if (answer.tree.size() == 1 && answer.tree.total[0] == 0) {
    answer.hint = catalog_.ExplainEmpty(selection, cancel);
  }
  if (!lens.empty()) {
    WHEREFORE_ASSIGN_OR_RETURN(answer.tree, lens.Apply(answer.tree, cancel));
  }
  return answer;
}

Result<std::vector<store::ProfileRow>> Engine::Profiles(const Selection& selection,
                                                        std::size_t limit,
                                                        const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(Resolved r, catalog_.Resolve(selection, {}, cancel));
  if (r.query.selections.empty()) return std::vector<store::ProfileRow>{};
  return reader_.Profiles(r.query, limit, cancel);
}

Result<store::DeleteRequest> Engine::ResolveDelete(const Selection& selection,
                                                   const CancelToken& cancel) {
  store::DeleteRequest out{.tenant = selection.tenant, .range = selection.range};
  const bool has_matchers = !selection.selector.label_matchers().empty();
  WHEREFORE_ASSIGN_OR_RETURN(
      auto rows, reader_.ServicesOfAnySignal(selection.tenant, selection.range, cancel));
  for (const store::ServiceRow& row : rows) {
    if (selection.selector.MatchesService(row.name)) out.spans_of.push_back(row.dictionary);
  }
  std::vector<SeriesList> lists(out.spans_of.size());
  if (has_matchers) {
    WHEREFORE_ASSIGN_OR_RETURN(lists, catalog_.Series(out.spans_of, cancel));
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
