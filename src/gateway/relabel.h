// Prometheus' relabelling rules: they rewrite the labels of a target before it is used, or drop it.
// Pure; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace re2 {
class RE2;
}

namespace wherefore::gateway {

using LabelMap = std::map<std::string, std::string>;

// One rule. Regular expressions are RE2 and match the whole text.
class RelabelRule {
 public:
  enum class Action : std::uint8_t {
    kReplace,
    kKeep,
    kDrop,
    kKeepEqual,
    kDropEqual,
    kHashMod,
    kLabelMap,
    kLabelDrop,
    kLabelKeep,
    kLowercase,
    kUppercase
  };
  struct Spec {
    std::vector<std::string> source_labels;
    std::string separator = ";";
    std::string target_label;
    std::string regex = "(.*)";
    std::uint64_t modulus = 0;
    std::string replacement = "$1";
    std::string action = "replace";
  };
  // kInvalid, with what is wrong in the rule.
  [[nodiscard]] static Result<RelabelRule> Make(Spec spec);

  // False: drop the target.
  [[nodiscard]] bool Apply(LabelMap& labels) const;

 private:
  [[nodiscard]] std::string Source(const LabelMap& labels) const;
  void Replace(LabelMap& labels, const std::string& source) const;
  void MapNames(LabelMap& labels) const;

  Spec spec_;
  Action action_ = Action::kReplace;
  std::shared_ptr<const re2::RE2> regex_;
};

// False: a rule dropped the target.
[[nodiscard]] bool Relabel(const std::vector<RelabelRule>& rules, LabelMap& labels);

}  // namespace wherefore::gateway
