#include "query/top.h"

#include "query/flame.h"
#include "query/snapshots.h"
#include "query/view.h"

namespace wherefore::query {
namespace {

TopAnswer OfTree(profile::FlameTree tree, const Search& search) {
  TopAnswer answer{.type = tree.type,
                   .unit = tree.unit,
                   .scale = tree.scale,
                   .total = tree.total[0],
                   .count = tree.total_count[0],
                   .rows = profile::Top(tree)};
  if (!search.empty()) answer.found = search.In(tree);
  answer.functions = std::move(tree.functions);
  return answer;
}

}  // namespace

Result<TopAnswer> Top(QueryContext& context, const Selection& selection, const Lens& lens,
                      const Search& search, const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(
      SummedSelection summed,
      SumSelection(context, selection, selection.selector.narrowing(), cancel));
  TopAnswer answer;
  if (lens.IsByFunction() && search.empty() && summed.sums.IsPlain()) {
    WHEREFORE_RETURN_IF_ERROR(summed.sums.Apply(lens));
    WHEREFORE_ASSIGN_OR_RETURN(auto top, summed.sums.Top());
    answer = {.total = top.total,
              .count = top.count,
              .functions = std::move(top.functions),
              .rows = std::move(top.rows)};
  } else {
    WHEREFORE_ASSIGN_OR_RETURN(auto tree, summed.sums.Whole(Identity::kFunction));
    WHEREFORE_ASSIGN_OR_RETURN(tree, ApplyLens(std::move(tree), lens, cancel));
    answer = OfTree(std::move(tree), search);
  }
  const Resolved& r = summed.resolved;
  answer.type = r.type;
  answer.unit = r.unit;
  answer.scale = r.snapshot ? kAverageScale : 1;
  answer.averaged = r.snapshot;
  answer.tier = summed.tier;
  answer.hint = HintFor(context, selection, !answer.rows.empty() || answer.total != 0, cancel);
  return answer;
}

}  // namespace wherefore::query
