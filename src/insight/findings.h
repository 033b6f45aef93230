// Findings: the rules of one type held against the stacks of one service.
//
// A rule fires when the near end of the interval of its share reaches what it asks for: what is
// shown is what we are sure of. Pure; the same table gives the same findings in the same order.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "insight/rule.h"
#include "profile/flame_tree.h"
#include "query/stack_table.h"
#include "query/statistics.h"

namespace wherefore::insight {

struct Finding {
  Rule rule;
  std::string service;
  std::string type;
  std::string unit;
  query::Estimate share;  // of the service's whole
  double value = 0;       // in the type's unit
  // The share, its near end, of what a garbage collector does because of what matched: it would
  // go, too.
  double collected = 0;
  // What matched with most of it, and who calls that; at most three.
  profile::FlameFunction function;
  std::vector<profile::FlameFunction> callers;
  std::vector<std::string> endpoints;  // spans it was seen in, where samples are linked
  std::string since;                   // the version it came with, if it was surely less before
  double cores = 0;                    // what matches, where the type is CPU time
  double saved = 0;                    // of them, by the near end
};

// What marks the evidence in a flame graph: a regular expression of its search.
[[nodiscard]] std::string SearchFor(const Finding& finding);

// Largest share first.
Result<std::vector<Finding>> FindIn(const query::StackTable& table, std::span<const Rule> rules,
                                    const CancelToken& cancel);

// The share that a rule's matches have; for comparing versions.
Result<query::Estimate> ShareIn(const query::StackTable& table, const Rule& rule,
                                const CancelToken& cancel);

}  // namespace wherefore::insight
