// What the server says about a difference of two selections: which changes are more than chance.
// One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cli/source.h"
#include "query/tested_diff.h"

namespace wherefore::cli {

struct TestedValue {
  double before = 0;  // a share of 1, per second or per request
  double after = 0;
  double change = 0;
  double low = 0;  // 95 % interval of the change
  double high = 0;
  std::string verdict;  // more, less, undecided, unknown
};
// A function that explains part of the difference; shares are of everything before.
struct ToldCause {
  std::string function;
  std::string kind;  // more, less, new, gone, moved, everywhere
  std::string caller;
  std::string partner;
  double share = 0;
  double low = 0;
  double high = 0;
};
struct Verdicts {
  std::string groups;  // "instances (5 and 5)"; empty: nothing was tested
  std::string note;    // a sentence
  std::string basis;   // of causes: unchanged, requests, endpoints
  std::int64_t requests_before = 0;
  std::int64_t requests_after = 0;
  TestedValue whole;
  std::vector<ToldCause> causes;
  // Everything together, as a share of what it was; of shares always 0.
  double whole_low = 0;
  // The smallest change of a function that would have been found, as a share of everything before;
  // none: nothing was tested.
  std::optional<double> detectable;
  struct Row {
    TestedValue self;
    TestedValue total;
  };
  std::map<std::pair<std::string, std::string>, Row> rows;  // by function and module

  // Each a run of its own, instead of what a server stored.
  [[nodiscard]] bool OfFiles() const { return groups.starts_with("files"); }
  // Null: too little changed to be listed.
  [[nodiscard]] const Row* Find(const std::string& name, const std::string& module) const {
    const auto at = rows.find({name, module});
    return at == rows.end() ? nullptr : &at->second;
  }
};

// What was found out here, of files.
[[nodiscard]] Verdicts VerdictsOf(const query::TestedDifference& tested);
// `mode`: share, rate or request.
[[nodiscard]] Result<Verdicts> AskVerdicts(const Context& context, const SelectionOptions& before,
                                           const SelectionOptions& after, std::string_view mode);

}  // namespace wherefore::cli
