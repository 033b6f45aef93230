// The lens: a pipeline of tree transformations, written as text, evaluated here before anything is
// pruned, so that its totals are exact. The same words work in the CLI, the URL and the API.
//
//   lens = step { " > " step }
//   step = "focus:" re        keep stacks with a matching function; it becomes the top of the graph
//        | "hide:" re         take matching functions out; what they did counts for their callers
//        | "merge:" re        neighbouring matching functions in a stack become one (a library)
//        | "collapse:" re     a matching function swallows everything it called
//        | "drop:" re         leave out stacks with a matching function altogether
//        | "recursion:" re    a matching function called by itself, directly or through others, is
//                             its outermost call: what lies between the two is left out
//        | "focus-path:" path keep what lies at and below one frame; it becomes the top
//        | "merge-path:" path take one frame out, there only; its caller gets what it did
//        | "my-code"          hide the language runtime, the C library and the kernel
//        | "own" [":" rules]  only what is the program's own (own_code.h, which has the rules).
//        What
//                             others did is charged to the nearest own frame above; chains of
//                             others between two own frames become one, "[19 std frames]"; stacks
//                             without an own frame are "[no own code]"
//        | "merge-templates"  names without template arguments: instances become one
//        | "invert"           stacks stand on their heads: what did the work is on top, its callers
//                             below it
//   path = function { ";" function }   from the top down, each a name or "module`name"
//        | "@" 16 hex digits           a frame's address (profile/tree_path.h): for long paths, and
//                                      for names with ";" or " > " in them
//
// A regular expression (RE2) matches anywhere in "function" or "module`function". Steps apply left
// to right, so that a path is one of the tree that the steps before it leave.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "profile/flame_tree.h"
#include "query/own_code.h"

namespace re2 {
class RE2;
}

namespace wherefore::query {

class Lens {
 public:
  static Result<Lens> Parse(std::string_view text);
  // The same with the step "own" and these rules behind all others, but before those that invert.
  static Result<Lens> ParseWithOwn(std::string_view text, std::string_view rules);
  // For statistics, which are about functions as they are.
  [[nodiscard]] Lens WithoutOwn() const;
  [[nodiscard]] bool HasOwn() const;
  [[nodiscard]] bool empty() const { return steps_.empty(); }
  // kLimit where an inverted tree needs more memory than the query may have.
  [[nodiscard]] Result<profile::FlameTree> Apply(const profile::FlameTree& tree,
                                                 const CancelToken& cancel) const;
  [[nodiscard]] std::string Text() const;
  // Whether each step looks at the functions of a path only, so that it needs no tree
  // (TrieSums::Apply).
  [[nodiscard]] bool IsByFunction() const;

 private:
  enum class Op : std::uint8_t {
    kFocus,
    kHide,
    kMerge,
    kCollapse,
    kDrop,
    kRecursion,
    kFocusPath,
    kMergePath,
    kMyCode,  // from here on without a text behind the word
    kTemplates,
    kInvert,
    kOwn  // with or without
  };
  struct Step {
    Op op;
    std::string text;                       // behind the word, as it was written
    std::shared_ptr<const re2::RE2> regex;  // not of paths
    std::vector<std::string> path;
    std::optional<std::uint64_t> address;  // instead of a path
    OwnCode own;                           // of kOwn

    [[nodiscard]] bool has_path() const { return address.has_value() || !path.empty(); }
    // Not of paths.
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
  static Kept AtRoot(Op op) {
    return {.node = false, .value = op != Op::kFocus && op != Op::kFocusPath};
  }
  // "Map<int, std::less<int>>::find(int)" -> "Map<>::find(int)"; names with operators of that
  // shape, and brackets that do not match, stay as they are.
  static profile::FlameFunction WithoutTemplateArguments(profile::FlameFunction function);
  static Result<Step> ParseStep(std::string_view part);
  // By node: does the step mean it?
  static std::vector<char> Matches(const Step& step, const profile::FlameTree& tree);
  static profile::FlameTree ApplyStep(const Step& step, const profile::FlameTree& tree);
  static profile::FlameTree ApplyOwn(const OwnCode& own, const profile::FlameTree& tree);

  friend class StackLens;
  friend class TrieLens;
  friend class TrieSums;
  std::vector<Step> steps_;
};

// Does a word of a path mean this function: its name, or "module`name"?
[[nodiscard]] bool IsCalled(const profile::FlameFunction& function, std::string_view word);

}  // namespace wherefore::query
