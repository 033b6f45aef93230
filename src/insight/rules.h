// Rules from YAML: those shipped with the program (rules/), overruled and added to by the user's.
//
// Pure but for ReadRuleFolder(); any thread. Failure: everything that is wrong is among the
// problems, with file, line and column, and reading goes on.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "insight/rule.h"
#include "settings/problems.h"

namespace wherefore::insight {

struct ShippedFile {
  std::string_view name;
  std::string_view text;
};
// Compiled in; one file per language.
[[nodiscard]] std::span<const ShippedFile> ShippedFiles();

// The rules of one file. No id twice.
[[nodiscard]] std::vector<Rule> ReadRules(std::string_view text, std::string_view file,
                                          settings::Problems& problems);

// Shipped rules, then those of the folder's *.yaml files in the order of their names: a rule with
// an id that is there already takes its place. Disabled ones are left out. Empty folder: none.
Result<std::vector<Rule>> LoadRules(const std::string& folder);

}  // namespace wherefore::insight
