#include "query/lens.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <re2/re2.h>

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
  if (f.name.find('<') == std::string::npos || f.name.find("operator<") != std::string::npos ||
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

Result<Lens> Lens::Parse(std::string_view text) {
  Lens lens;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(" > "), text.size());
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 3, text.size()));
    if (part.empty()) continue;
    if (part == "my-code" || part == "merge-templates") {
      lens.steps_.push_back({.op = part == "my-code" ? Op::kMyCode : Op::kTemplates});
      continue;
    }
    struct Word {
      std::string_view name;
      Op op;
    };
    static constexpr std::array kWords = {Word{"focus", Op::kFocus}, Word{"hide", Op::kHide},
                                          Word{"merge", Op::kMerge},
                                          Word{"collapse", Op::kCollapse}, Word{"drop", Op::kDrop}};
    const std::size_t colon = part.find(':');
    const auto* const word = std::find_if(kWords.begin(), kWords.end(), [&](const Word& w) {
      return colon != std::string_view::npos && w.name == part.substr(0, colon);
    });
    if (word == kWords.end()) {
      return Error(
          Code::kInvalid,
          fmt::format("lens '{}': expected focus:, hide:, merge:, collapse:, drop:, my-code "
                      "or merge-templates",
                      part));
    }
    Step step{.op = word->op, .pattern = std::string(part.substr(colon + 1))};
    auto regex = CompileRegex(step.pattern);
    if (!regex) return std::move(regex).error().Within("lens");
    step.regex = *std::move(regex);
    lens.steps_.push_back(std::move(step));
  }
  return lens;
}

FlameTree Lens::Apply(const FlameTree& tree) const {
  FlameTree current = tree;
  for (const Step& step : steps_) current = ApplyStep(step, current);
  return current;
}

bool Lens::Step::Matches(const FlameFunction& function) const {
  if (op == Op::kMyCode) return IsForeign(function);
  return op != Op::kTemplates && Found(function, *regex);
}

Lens::Kept Lens::Visit(Op op, bool hit, Above& above) {
  Kept kept;
  switch (op) {
    case Op::kFocus:
      kept.node = above.matched || hit;
      kept.value = kept.node;
      break;
    case Op::kTemplates:
      break;
    case Op::kHide:
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
  }
  above.matched = above.matched || hit;
  above.last_matched = hit;
  return kept;
}

FlameTree Lens::ApplyStep(const Step& step, const FlameTree& tree) {
  TreeBuilder builder;
  std::vector<std::uint32_t> ids(tree.functions.size());
  std::vector<char> match(tree.functions.size());
  for (std::size_t f = 1; f < tree.functions.size(); ++f) {
    const FlameFunction& function = tree.functions[f];
    ids[f] = builder.AddFunction(step.op == Op::kTemplates ? WithoutTemplateArguments(function)
                                                           : function);
    match[f] = step.Matches(function);
  }

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
    const Kept kept = i == 0 ? AtRoot(step.op) : Visit(step.op, match[f] != 0, here.above);
    if (kept.node) here.node = builder.Child(here.node, ids[f]);
    if (kept.value) builder.AddValue(here.node, tree.self[i], tree.self_count[i]);
    path.push_back(here);
  }
  FlameTree out = builder.Build();
  out.type = tree.type;
  out.unit = tree.unit;
  out.scale = tree.scale;
  return out;
}

std::string Lens::Text() const {
  static constexpr std::array<std::string_view, 7> kNames = {
      "focus", "hide", "merge", "collapse", "drop", "my-code", "merge-templates"};
  std::string out;
  for (const Step& step : steps_) {
    if (!out.empty()) out += " > ";
    out += kNames[static_cast<std::size_t>(step.op)];
    if (step.op < Op::kMyCode) out += ":" + step.pattern;
  }
  return out;
}

}  // namespace wherefore::query
