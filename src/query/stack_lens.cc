#include "query/stack_lens.h"

#include <algorithm>
#include <set>

#include "profile/tree_path.h"

namespace wherefore::query {

StackLens::StackLens(const Lens& lens, std::span<const profile::FlameFunction> functions)
    : lens_(lens), given_(functions) {
  for (const Lens::Step& step : lens_.steps_) {
    Known& known = known_.emplace_back();
    if (step.op == Lens::Op::kTemplates) {
      MergeTemplates(known);
    } else if (step.op == Lens::Op::kOwn) {
      NameChains(step.own, known);
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

// Names of chains are made ahead, so that stacks can be looked at by any thread.
void StackLens::NameChains(const OwnCode& own, Known& known) {
  for (std::uint32_t f = 0; f < size(); ++f) known.kinds.push_back(own.KindOf(function(f)));
  const auto make = [&](std::string name) {
    known.chains.emplace(name, static_cast<std::uint32_t>(size()));
    made_.push_back({.name = std::move(name)});
  };
  make(std::string(kNoOwnCode));
  std::set<std::string_view> kinds(known.kinds.begin(), known.kinds.end());
  kinds.insert("library");
  kinds.erase("");
  for (const std::string_view kind : kinds) {
    for (std::size_t frames = 1; frames <= OwnChain::kMostNamed + 1; ++frames)
      make(OwnChain{frames, kind}.Name());
  }
}

bool StackLens::ApplyOwn(const Known& known, std::vector<std::uint32_t>& frames) const {
  std::vector<std::uint32_t> left;
  OwnChain chain;
  for (const std::uint32_t f : frames) {
    const std::string_view kind = f < known.kinds.size() ? known.kinds[f] : "";
    if (!kind.empty()) {
      chain.Add(kind);
      continue;
    }
    if (!left.empty() && chain.frames > 0) left.push_back(known.chains.at(chain.Name()));
    left.push_back(f);
    chain = {};
  }
  if (left.empty() && !frames.empty()) left.push_back(known.chains.at(std::string(kNoOwnCode)));
  frames = std::move(left);
  return true;
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
      case Lens::Op::kOwn:
        ApplyOwn(known_[i], frames);
        break;
      default:
        if (!ApplyStep(i, frames)) return false;
    }
  }
  return true;
}

}  // namespace wherefore::query
