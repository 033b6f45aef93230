#include "insight/frame_matches.h"

#include <algorithm>
#include <bitset>

#include <re2/re2.h>

namespace wherefore::insight {
namespace {

// One alternative of a rule is one bit; what does not fit goes in another pass.
constexpr std::size_t kAtOnce = 128;
using Bits = std::bitset<kAtOnce>;

struct Wanted {
  std::size_t rule = 0;
  const FrameMatch* match = nullptr;
};

std::string_view KindName(profile::FrameKind kind) {
  switch (kind) {
    case profile::FrameKind::kKernel:
      return "kernel";
    case profile::FrameKind::kInlined:
      return "inlined";
    case profile::FrameKind::kNative:
      return "native";
    case profile::FrameKind::kJit:
      return "jit";
    case profile::FrameKind::kUser:
    case profile::FrameKind::kOther:
      break;
  }
  return "user";
}

bool Fits(const Pattern& pattern, std::string_view text) {
  return !pattern.set() || RE2::PartialMatch(text, *pattern.regex);
}

// A caller is named by its name or its file, whatever the language has.
bool IsCaller(const Pattern& pattern, const profile::FlameFunction& f) {
  return pattern.set() && (RE2::PartialMatch(f.name, *pattern.regex) ||
                           (!f.file.empty() && RE2::PartialMatch(f.file, *pattern.regex)));
}

class Pass {
 public:
  Pass(std::span<const Rule> rules, std::span<const Wanted> wanted, const query::StackTable& table)
      : table_(table), wanted_(wanted) {
    for (std::size_t w = 0; w < wanted.size(); ++w) {
      needs_caller_[w] = wanted[w].match->under.set();
      leaf_only_[w] = rules[wanted[w].rule].measure == MeasureOf::kSelf;
    }
    functions_.reserve(table.functions().size());
    for (const profile::FlameFunction& f : table.functions()) functions_.push_back(Look(f));
  }

  void Walk(std::uint32_t stack, std::vector<std::vector<Hit>>& hits) const {
    const std::vector<std::uint32_t> path = table_.PathOf(table_.stacks()[stack]);
    Bits found;
    Bits below;      // a caller that is asked for
    Bits forbidden;  // a caller that must not be
    for (std::size_t i = 0; i < path.size(); ++i) {
      const OfFunction& f = functions_[path[i]];
      Bits now = f.frame & (~needs_caller_ | below) & ~forbidden;
      if (i + 1 < path.size()) now &= ~leaf_only_;
      found |= now;
      below |= f.under;
      forbidden |= f.not_under;
    }
    if (found.none()) return;
    for (std::size_t w = 0; w < wanted_.size(); ++w) {
      if (found[w]) hits[wanted_[w].rule].push_back(HitOf(stack, path, w));
    }
  }

 private:
  struct OfFunction {
    Bits frame;
    Bits under;
    Bits not_under;
  };
  [[nodiscard]] OfFunction Look(const profile::FlameFunction& f) const {
    OfFunction of;
    for (std::size_t w = 0; w < wanted_.size(); ++w) {
      const FrameMatch& m = *wanted_[w].match;
      of.frame[w] = Fits(m.frame, f.name) && Fits(m.file, f.file) && Fits(m.module, f.module) &&
                    Fits(m.kind, KindName(f.kind));
      of.under[w] = IsCaller(m.under, f);
      of.not_under[w] = IsCaller(m.not_under, f);
    }
    return of;
  }
  [[nodiscard]] Hit HitOf(std::uint32_t stack, const std::vector<std::uint32_t>& path,
                          std::size_t wanted) const {
    Hit hit{.stack = stack};
    std::size_t at = path.size();
    while (at > 0 && !functions_[path[at - 1]].frame[wanted]) --at;
    hit.function = path[at - 1];
    while (at > 0 && functions_[path[at - 1]].frame[wanted]) --at;
    if (at > 0) hit.caller = path[at - 1];
    return hit;
  }

  const query::StackTable& table_;
  const std::span<const Wanted> wanted_;
  Bits needs_caller_;
  Bits leaf_only_;
  std::vector<OfFunction> functions_;
};

}  // namespace

Result<std::vector<std::vector<Hit>>> FindFrames(std::span<const Rule> rules,
                                                 const query::StackTable& table,
                                                 const CancelToken& cancel) {
  std::vector<Wanted> wanted;
  for (std::size_t r = 0; r < rules.size(); ++r) {
    for (const FrameMatch& match : rules[r].match) wanted.push_back({r, &match});
  }
  std::vector<std::vector<Hit>> hits(rules.size());
  for (std::size_t from = 0; from < wanted.size(); from += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, wanted.size() - from);
    const Pass pass(rules, std::span(wanted).subspan(from, count), table);
    for (std::uint32_t s = 0; s < table.stacks().size(); ++s) {
      if (s % 1024 == 0) WHEREFORE_RETURN_IF_ERROR(cancel.Check());
      pass.Walk(s, hits);
    }
  }
  // A stack may match several alternatives of a rule.
  for (std::vector<Hit>& of_rule : hits) {
    std::ranges::stable_sort(of_rule, {}, &Hit::stack);
    const auto rest = std::ranges::unique(of_rule, {}, &Hit::stack);
    of_rule.erase(rest.begin(), rest.end());
  }
  return hits;
}

}  // namespace wherefore::insight
