// Which functions changed between two selections, and is that more than chance? The statistics of
// a difference, beside its exact sums (diff.h). Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "profile/flame_tree.h"
#include "query/causes.h"
#include "query/context.h"
#include "query/lens.h"
#include "query/requests.h"
#include "query/sample_groups.h"
#include "query/statistics.h"

namespace wherefore::query {

struct TestedChange {
  Comparison comparison;
  double q = 1;  // false discovery rate among everything tested; 1: not tested
  Verdict verdict = Verdict::kUnknown;
};
struct TestedFunction {
  profile::FlameFunction function;
  TestedChange self;
  TestedChange total;
};

// What values are compared in.
enum class Compared : std::uint8_t {
  kShares,      // of a group's total
  kPerSecond,   // and instance; shown for as many instances as the side after has on average
  kPerRequest,  // requests.h
};
// What causes are measured against.
enum class CauseBasis : std::uint8_t { kUnchanged, kRequests, kEndpoints };
[[nodiscard]] std::string_view CauseBasisName(CauseBasis basis);

struct TestedDifference {
  Compared compared = Compared::kShares;
  Grouping grouping = Grouping::kInstances;
  std::size_t groups_before = 0;
  std::size_t groups_after = 0;
  // Instances seen on average, while any was.
  double instances_before = 0;
  double instances_after = 0;
  // At times and in instances that were profiled; 0: not known.
  std::int64_t requests_before = 0;
  std::int64_t requests_after = 0;
  RequestTimes times_before;
  RequestTimes times_after;
  double mix_moved = 0;  // as in PerRequest
  std::vector<MixOfEndpoint> mix;
  // What is not in the intervals, and what would make them smaller; sentences for people.
  std::string note;
  Comparison whole;                       // everything together; of shares always 1 and 1
  std::vector<TestedFunction> functions;  // by name and module
  std::vector<Verdict> nodes;             // of the tree that is shown, if one is
  // The tree that is shown charges own code; functions are tested as they are: their totals are the
  // same, their self values are not.
  bool charged = false;
  // What explains the difference, per request where requests are known; in the same units.
  CauseBasis cause_basis = CauseBasis::kUnchanged;
  std::vector<Cause> causes;
  // Null: it has no sample on either side.
  [[nodiscard]] const TestedFunction* Find(const profile::FlameFunction& function) const;
};

// Tests see every function; limits come after. Snapshots, single spans, negative values, what
// lenses that name paths leave, and sides without requests are not tested; the note says so.
// `shown`: what the lens leaves, whose nodes get verdicts too; may be null. Functions and causes
// are those without the step `own`.
Result<TestedDifference> TestDifference(QueryContext& context, const Selection& before,
                                        const Selection& after, Compared compared, const Lens& lens,
                                        const profile::FlameTree* shown, const CancelToken& cancel);
// Per request where requests are known, else in shares.
Result<TestedDifference> TestVersions(QueryContext& context, const Selection& before,
                                      const Selection& after, const CancelToken& cancel);
// The same where groups are days, counted back from the end of each side.
Result<TestedDifference> TestDays(QueryContext& context, const Selection& before,
                                  const Selection& after, const CancelToken& cancel);

// The same of trees that are there already, each a group of its own: files of repeated runs. With
// one on each side only sampling is in the intervals, which the note says. Per request means per
// run: each file counts as one.
struct TreeGroup {
  const profile::FlameTree* tree = nullptr;  // whole
  double seconds = 0;                        // observed; 0: not known
};
Result<TestedDifference> TestTrees(std::span<const TreeGroup> before,
                                   std::span<const TreeGroup> after, Compared compared,
                                   const CancelToken& cancel);

}  // namespace wherefore::query
