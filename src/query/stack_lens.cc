#include "query/stack_lens.h"

#include <algorithm>

#include "profile/tree_path.h"

namespace wherefore::query {

StackLens::StackLens(const Lens& lens, std::span<const profile::FlameFunction> functions)
    : lens_(lens), given_(functions) {
  for (const Lens::Step& step : lens_.steps_) {
    Known& known = known_.emplace_back();
    if (step.op == Lens::Op::kTemplates) {
      MergeTemplates(known);
    } else if (step.op != Lens::Op::kInvert && !step.has_path()) {
      known.hit.resize(size());
      for (std::uint32_t f = 0; f < size(); ++f) known.hit[f] = step.Matches(function(f));
    }
  }
}

void StackLens::MergeTemplates(Known& known) {
  const auto before = static_cast<std::uint32_t>(size());
  for (std::uint32_t f = 0; f < before; ++f) {
    profile::FlameFunction plain = Lens::WithoutTemplateArguments(function(f));
    const bool changed = plain.name != function(f).name;
    known.renamed.push_back(changed ? static_cast<std::uint32_t>(size()) : f);
    if (changed) made_.push_back(std::move(plain));
  }
}

// As a tree tells functions apart.
bool StackLens::Same(std::uint32_t a, std::uint32_t b) const {
  return a == b ||
         (function(a).name == function(b).name && function(a).module == function(b).module);
}

std::vector<char> StackLens::Hits(const Lens::Step& step, const Known& known,
                                  std::span<const std::uint32_t> frames) const {
  std::vector<char> out(frames.size());
  if (step.address) {
    std::uint64_t hash = 0;
    for (std::size_t i = 0; i < frames.size(); ++i) {
      hash = profile::PathHashBelow(hash, function(frames[i]));
      out[i] = hash == *step.address;
    }
  } else if (step.has_path()) {
    const bool begins = step.path.size() <= frames.size() &&
                        std::equal(step.path.begin(), step.path.end(), frames.begin(),
                                   [this](const std::string& word, std::uint32_t f) {
                                     return IsCalled(function(f), word);
                                   });
    if (begins) out[step.path.size() - 1] = 1;
  } else {
    for (std::size_t i = 0; i < frames.size(); ++i) out[i] = known.hit[frames[i]];
  }
  return out;
}

bool StackLens::ApplyStep(std::size_t number, std::vector<std::uint32_t>& frames) const {
  const Lens::Step& step = lens_.steps_[number];
  const std::vector<char> hits = Hits(step, known_[number], frames);
  Lens::Above above;
  bool keeps = Lens::AtRoot(step.op).value;
  std::vector<std::uint32_t> left;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const bool hit = hits[i] != 0;
    if (step.op == Lens::Op::kRecursion && hit) {
      const auto again =
          std::ranges::find_if(left, [&](std::uint32_t f) { return Same(f, frames[i]); });
      if (again != left.end()) {
        left.erase(again + 1, left.end());
        continue;
      }
    }
    const Lens::Kept kept = Lens::Visit(step.op, hit, above);
    if (kept.node) left.push_back(frames[i]);
    keeps = kept.value;
  }
  frames = std::move(left);
  return keeps;
}

bool StackLens::Apply(std::vector<std::uint32_t>& frames) const {
  for (std::size_t i = 0; i < lens_.steps_.size(); ++i) {
    switch (lens_.steps_[i].op) {
      case Lens::Op::kInvert:
        std::ranges::reverse(frames);
        break;
      case Lens::Op::kTemplates:
        for (std::uint32_t& f : frames) f = known_[i].renamed[f];
        break;
      default:
        if (!ApplyStep(i, frames)) return false;
    }
  }
  return true;
}

}  // namespace wherefore::query
