// The lens: a pipeline of tree transformations, written as text, evaluated here before anything is
// pruned, so that its totals are exact. The same words work in the CLI, the URL and the API.
//
//   lens = step { " > " step }
//   step = "focus:" re   keep stacks with a matching function; it becomes the top of the graph
//        | "hide:" re    take matching functions out; what they did counts for their callers
//        | "merge:" re   neighbouring matching functions in a stack become one (recursion, a
//        library) | "collapse:" re  a matching function swallows everything it called | "drop:" re
//        leave out stacks with a matching function altogether | "my-code"     hide the language
//        runtime, the C library and the kernel | "merge-templates"  names without template
//        arguments: instances of one template become one
//
// A regular expression (RE2) matches anywhere in "function" or "module`function". Steps apply left
// to right.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "profile/flame_tree.h"

namespace re2 {
class RE2;
}

namespace wherefore::query {

class Lens {
 public:
  static Result<Lens> Parse(std::string_view text);
  [[nodiscard]] bool empty() const { return steps_.empty(); }
  [[nodiscard]] profile::FlameTree Apply(const profile::FlameTree& tree) const;
  [[nodiscard]] std::string Text() const;

 private:
  enum class Op : std::uint8_t { kFocus, kHide, kMerge, kCollapse, kDrop, kMyCode, kTemplates };
  struct Step {
    Op op;
    std::string pattern;
    std::shared_ptr<const re2::RE2> regex;

    [[nodiscard]] bool Matches(const profile::FlameFunction& function) const;
  };
  // What is above a frame, on the way down.
  struct Above {
    bool matched = false;       // this path contains a match
    bool last_matched = false;  // the frame right above is a match (merge)
  };
  struct Kept {
    bool node = true;
    bool value = true;  // that ends here
  };
  // What becomes of a frame, and of what lies right at the root; `above` becomes that of the next.
  static Kept Visit(Op op, bool hit, Above& above);
  static Kept AtRoot(Op op) { return {.node = false, .value = op != Op::kFocus}; }
  // "Map<int, std::less<int>>::find(int)" -> "Map<>::find(int)"; names with operators of that
  // shape, and brackets that do not match, stay as they are.
  static profile::FlameFunction WithoutTemplateArguments(profile::FlameFunction function);
  static profile::FlameTree ApplyStep(const Step& step, const profile::FlameTree& tree);

  friend class LensWalk;
  std::vector<Step> steps_;
};

}  // namespace wherefore::query
