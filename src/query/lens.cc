#include "query/lens.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <re2/re2.h>

#include "profile/invert.h"
#include "profile/tree_path.h"
#include "query/selector.h"

namespace wherefore::query {
namespace {

using profile::FlameFunction;
using profile::FlameTree;
using profile::TreeBuilder;

// Modules and name prefixes nobody on call can change.
bool IsForeign(const FlameFunction& f) {
  if (f.kind == profile::FrameKind::kKernel) return true;
  static constexpr std::array<std::string_view, 12> kModules = {
      "libc.so",  "libc-",  "libstdc++", "libpthread", "ld-linux",  "libm.so",
      "libgcc_s", "[vdso]", "[kernel",   "[vsyscall]", "libjvm.so", "libnode.so"};
  static constexpr std::array<std::string_view, 14> kNames = {
      "std::",  "__gnu_cxx::", "__libc_", "_start", "clone", "start_thread", "runtime.",
      "core::", "alloc::",     "java.",   "jdk.",   "node:", "__GI_",        "operator new"};
  const auto starts = [](std::string_view text) {
    return [text](std::string_view prefix) { return text.starts_with(prefix); };
  };
  return std::any_of(kModules.begin(), kModules.end(), starts(f.module)) ||
         std::any_of(kNames.begin(), kNames.end(), starts(f.name));
}

bool Found(const FlameFunction& f, const re2::RE2& regex) {
  return re2::RE2::PartialMatch(f.name, regex) ||
         (!f.module.empty() && re2::RE2::PartialMatch(f.module + "`" + f.name, regex));
}

}  // namespace

FlameFunction Lens::WithoutTemplateArguments(FlameFunction f) {
  // Rust names a method after its type, in brackets: these are no arguments.
  if (f.name.find('<') == std::string::npos || f.name.starts_with('<') ||
      f.name.find("operator<") != std::string::npos ||
      f.name.find("operator>") != std::string::npos ||
      f.name.find("operator-") != std::string::npos)
    return f;
  std::string out;
  int depth = 0;
  for (const char c : f.name) {
    if (c == '<' && depth++ == 0) out += c;
    if (c == '>' && --depth == 0) out += c;
    if (depth < 0) return f;
    if (depth == 0 && c != '>') out += c;
  }
  if (depth == 0) f.name = std::move(out);
  return f;
}

bool IsCalled(const FlameFunction& f, std::string_view word) {
  return f.name == word ||
         (word.size() == f.module.size() + 1 + f.name.size() && word.starts_with(f.module) &&
          word[f.module.size()] == '`' && word.ends_with(f.name));
}

namespace {

// By node: is it at the end of that path?
std::vector<char> EndsOf(const std::vector<std::string>& path, const FlameTree& tree) {
  std::vector<char> out(tree.size());
  std::vector<std::uint32_t> same = {0};  // by depth: how many names agree down to there
  for (std::size_t i = 1; i < tree.size(); ++i) {
    const std::uint32_t depth = tree.depth[i];
    same.resize(depth);
    const bool agrees = same.back() == depth - 1 && depth <= path.size() &&
                        IsCalled(tree.functions[tree.function[i]], path[depth - 1]);
    same.push_back(agrees ? depth : same.back());
    out[i] = agrees && depth == path.size();
  }
  return out;
}

// One call of a recursive function instead of several: where `function` is above `node` in the new
// tree, that one. By walking up: stacks are short against the number of nodes.
class Outermost {
 public:
  std::uint32_t Above(std::uint32_t node, std::uint32_t function) const {
    while (node != 0 && made_[node].function != function) node = made_[node].parent;
    return node;
  }
  void Made(std::uint32_t node, std::uint32_t parent, std::uint32_t function) {
    if (node >= made_.size()) made_.resize(node + 1);
    made_[node] = {.parent = parent, .function = function};
  }

 private:
  struct Node {
    std::uint32_t parent = 0;
    std::uint32_t function = 0;
  };
  std::vector<Node> made_ = {{}};
};

constexpr std::array<std::string_view, 12> kNames = {
    "focus",      "hide",       "merge",   "collapse",        "drop",   "recursion",
    "focus-path", "merge-path", "my-code", "merge-templates", "invert", "own"};

}  // namespace

Result<Lens::Step> Lens::ParseStep(std::string_view part) {
  const std::size_t colon = part.find(':');
  const auto* const word = std::ranges::find(kNames, part.substr(0, colon));
  const auto op = static_cast<Op>(word - kNames.begin());
  if (word == kNames.end() ||
      (op != Op::kOwn && (op < Op::kMyCode) != (colon != std::string_view::npos))) {
    return Error(Code::kInvalid,
                 fmt::format("lens '{}': expected focus:, hide:, merge:, collapse:, drop:, "
                             "recursion:, focus-path:, merge-path:, own, my-code, "
                             "merge-templates or invert",
                             part));
  }
  Step step{.op = op};
  if (op == Op::kOwn && colon != std::string_view::npos) {
    step.text = std::string(part.substr(colon + 1));
    WHEREFORE_ASSIGN_OR_RETURN(step.own, OwnCode::Parse(step.text));
  }
  if (op >= Op::kMyCode) return step;
  step.text = std::string(part.substr(colon + 1));
  if (op != Op::kFocusPath && op != Op::kMergePath) {
    auto regex = CompileRegex(step.text);
    if (!regex) return std::move(regex).error().Within("lens");
    step.regex = *std::move(regex);
    return step;
  }
  if (step.text.starts_with('@')) {
    step.address = profile::ParsePathHash(std::string_view(step.text).substr(1));
  } else {
    for (std::string_view rest = step.text; !rest.empty();) {
      const std::size_t end = std::min(rest.find(';'), rest.size());
      step.path.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  if (step.path.empty() && !step.address) {
    return Error(Code::kInvalid,
                 fmt::format("lens '{}': expected functions from the top down, joined by ';', or @ "
                             "and the 16 hex digits of a frame's address",
                             part));
  }
  return step;
}

Result<Lens> Lens::Parse(std::string_view text) {
  Lens lens;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(" > "), text.size());
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 3, text.size()));
    if (part.empty()) continue;
    WHEREFORE_ASSIGN_OR_RETURN(Step step, ParseStep(part));
    lens.steps_.push_back(std::move(step));
  }
  return lens;
}

Result<Lens> Lens::ParseWithOwn(std::string_view text, std::string_view rules) {
  WHEREFORE_ASSIGN_OR_RETURN(Lens lens, Parse(text));
  WHEREFORE_ASSIGN_OR_RETURN(Step own, ParseStep("own:" + std::string(rules)));
  const auto inverts =
      std::ranges::find_if(lens.steps_, [](const Step& s) { return s.op == Op::kInvert; });
  lens.steps_.insert(inverts, std::move(own));
  return lens;
}

Lens Lens::WithoutOwn() const {
  Lens lens = *this;
  std::erase_if(lens.steps_, [](const Step& step) { return step.op == Op::kOwn; });
  return lens;
}

bool Lens::HasOwn() const {
  return std::ranges::any_of(steps_, [](const Step& step) { return step.op == Op::kOwn; });
}

Result<FlameTree> Lens::Apply(const FlameTree& tree, const CancelToken& cancel) const {
  FlameTree current = tree;
  for (const Step& step : steps_) {
    WHEREFORE_RETURN_IF_ERROR(cancel.Check());
    if (step.op == Op::kInvert) {
      WHEREFORE_ASSIGN_OR_RETURN(current, profile::Inverted(current, cancel));
    } else {
      MemoryClaim second(cancel);
      WHEREFORE_RETURN_IF_ERROR(second.Resize(current.bytes()));
      current = ApplyStep(step, current);
    }
  }
  return current;
}

bool Lens::Step::Matches(const FlameFunction& function) const {
  if (op == Op::kMyCode) return IsForeign(function);
  return regex != nullptr && Found(function, *regex);
}

std::vector<char> Lens::Matches(const Step& step, const FlameTree& tree) {
  if (!step.path.empty()) return EndsOf(step.path, tree);
  std::vector<char> out(tree.size());
  if (step.address) {
    const auto hashes = profile::PathHashes(tree);
    for (std::size_t i = 1; i < out.size(); ++i) out[i] = hashes[i] == *step.address;
    return out;
  }
  std::vector<char> functions(tree.functions.size());
  for (std::size_t f = 1; f < functions.size(); ++f) functions[f] = step.Matches(tree.functions[f]);
  for (std::size_t i = 1; i < out.size(); ++i) out[i] = functions[tree.function[i]];
  return out;
}

Lens::Kept Lens::Visit(Op op, bool hit, Above& above) {
  Kept kept;
  switch (op) {
    case Op::kFocus:
    case Op::kFocusPath:
      kept.node = above.matched || hit;
      kept.value = kept.node;
      break;
    case Op::kHide:
    case Op::kMergePath:
    case Op::kMyCode:
      kept.node = !hit;
      break;
    case Op::kMerge:
      kept.node = !(hit && above.last_matched);
      break;
    case Op::kCollapse:
      kept.node = !above.matched;
      break;
    case Op::kDrop:
      kept.value = !above.matched && !hit;
      kept.node = kept.value;
      break;
    case Op::kRecursion:  // by what is above it in the new tree
    case Op::kTemplates:
    case Op::kInvert:
    case Op::kOwn:
      break;
  }
  above.matched = above.matched || hit;
  above.last_matched = hit;
  return kept;
}

FlameTree Lens::ApplyOwn(const OwnCode& own, const FlameTree& tree) {
  TreeBuilder builder;
  std::vector<std::string_view> kinds(tree.functions.size());
  std::vector<std::uint32_t> ids(tree.functions.size());
  for (std::size_t f = 1; f < kinds.size(); ++f) {
    kinds[f] = own.KindOf(tree.functions[f]);
    if (kinds[f].empty()) ids[f] = builder.AddFunction(tree.functions[f]);
  }
  std::vector<std::pair<std::uint32_t, OwnChain>> path;  // node of the new tree; by depth
  const auto value = [&](std::uint32_t node, std::size_t i) {
    if (tree.self[i] == 0 && tree.self_count[i] == 0) return;
    if (node == 0 && i != 0) {
      node = builder.Child(0, builder.AddFunction({.name = std::string(kNoOwnCode)}));
    }
    builder.AddValue(node, tree.self[i], tree.self_count[i]);
  };
  for (std::size_t i = 0; i < tree.size(); ++i) {
    path.resize(tree.depth[i]);
    auto [node, chain] = path.empty() ? std::pair(0U, OwnChain()) : path.back();
    const std::uint32_t f = tree.function[i];
    if (i != 0 && !kinds[f].empty()) {
      chain.Add(kinds[f]);
    } else if (i != 0) {
      if (node != 0 && chain.frames > 0)
        node = builder.Child(node, builder.AddFunction({.name = chain.Name()}));
      node = builder.Child(node, ids[f]);
      chain = {};
    }
    value(node, i);
    path.emplace_back(node, chain);
  }
  FlameTree out = builder.Build();
  out.type = tree.type;
  out.unit = tree.unit;
  out.scale = tree.scale;
  out.inverted = tree.inverted;
  return out;
}

FlameTree Lens::ApplyStep(const Step& step, const FlameTree& tree) {
  if (step.op == Op::kOwn) return ApplyOwn(step.own, tree);
  TreeBuilder builder;
  std::vector<std::uint32_t> ids(tree.functions.size());
  for (std::size_t f = 1; f < tree.functions.size(); ++f) {
    const FlameFunction& function = tree.functions[f];
    ids[f] = builder.AddFunction(step.op == Op::kTemplates ? WithoutTemplateArguments(function)
                                                           : function);
  }
  const std::vector<char> match = Matches(step, tree);
  Outermost outermost;  // of recursion only

  // Where each open node of the old tree went in the new one, and what is above the next.
  struct Open {
    std::uint32_t node = 0;
    Above above;
  };
  std::vector<Open> path;
  for (std::size_t i = 0; i < tree.size(); ++i) {
    path.resize(tree.depth[i]);
    Open here = path.empty() ? Open{} : path.back();
    const std::uint32_t f = tree.function[i];
    const bool hit = match[i] != 0;
    const std::uint32_t again =
        step.op == Op::kRecursion && hit ? outermost.Above(here.node, ids[f]) : 0;
    if (again != 0) {
      here.node = again;
      builder.AddValue(again, tree.self[i], tree.self_count[i]);
      path.push_back(here);
      continue;
    }
    const Kept kept = i == 0 ? AtRoot(step.op) : Visit(step.op, hit, here.above);
    if (kept.node) {
      const std::uint32_t parent = here.node;
      here.node = builder.Child(parent, ids[f]);
      if (step.op == Op::kRecursion) outermost.Made(here.node, parent, ids[f]);
    }
    if (kept.value) builder.AddValue(here.node, tree.self[i], tree.self_count[i]);
    path.push_back(here);
  }
  FlameTree out = builder.Build();
  out.type = tree.type;
  out.unit = tree.unit;
  out.scale = tree.scale;
  out.inverted = tree.inverted;
  return out;
}

bool Lens::IsByFunction() const {
  return std::ranges::all_of(steps_, [](const Step& step) {
    return step.op == Op::kMyCode || step.op == Op::kOwn ||
           (step.op < Op::kMyCode && !step.has_path());
  });
}

std::string Lens::Text() const {
  std::string out;
  for (const Step& step : steps_) {
    if (!out.empty()) out += " > ";
    out += kNames[static_cast<std::size_t>(step.op)];
    if (step.op < Op::kMyCode || !step.text.empty()) out += ":" + step.text;
  }
  return out;
}

}  // namespace wherefore::query
