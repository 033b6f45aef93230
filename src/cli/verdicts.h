// What the server says about a difference of two selections: which changes are more than chance.
// One thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "cli/source.h"

namespace wherefore::cli {

struct TestedValue {
  double low = 0;  // 95 % interval of the change: a share of 1, or per instance and second
  double high = 0;
  std::string verdict;  // more, less, undecided, unknown
};
struct Verdicts {
  std::string groups;  // "instances (5 and 5)"; empty: nothing was tested
  std::string note;    // a sentence
  struct Row {
    TestedValue self;
    TestedValue total;
  };
  std::map<std::pair<std::string, std::string>, Row> rows;  // by function and module

  // Null: too little changed to be listed.
  [[nodiscard]] const Row* Find(const std::string& name, const std::string& module) const {
    const auto at = rows.find({name, module});
    return at == rows.end() ? nullptr : &at->second;
  }
};

// `mode`: share or rate.
[[nodiscard]] Result<Verdicts> AskVerdicts(const Context& context, const SelectionOptions& before,
                                           const SelectionOptions& after, std::string_view mode);

}  // namespace wherefore::cli
