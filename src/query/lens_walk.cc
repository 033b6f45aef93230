#include "query/lens_walk.h"

#include <algorithm>

namespace wherefore::query {
namespace {

enum : std::uint8_t { kMatched = 1, kLastMatched = 2, kKeepsValue = 4 };

}  // namespace

LensWalk::LensWalk(const Lens& lens, std::span<const profile::FlameFunction> functions)
    : lens_(lens), given_(functions) {
  for (const Lens::Step& step : lens_.steps_) {
    std::vector<char>& hit = hit_.emplace_back(size());
    std::vector<std::uint32_t>& renamed = renamed_.emplace_back();
    const std::size_t before = size();  // names it makes reach only the steps after it
    if (step.op == Lens::Op::kTemplates) renamed.resize(before);
    for (std::uint32_t f = 0; f < before; ++f) {
      hit[f] = step.Matches(function(f));
      if (renamed.empty()) continue;
      profile::FlameFunction plain = Lens::WithoutTemplateArguments(function(f));
      renamed[f] = f;
      if (plain.name == function(f).name) continue;
      renamed[f] = static_cast<std::uint32_t>(size());
      made_.push_back(std::move(plain));
    }
  }
}

void LensWalk::Begin(std::span<std::uint8_t> state) const {
  for (std::size_t i = 0; i < width(); ++i)
    state[i] = Lens::AtRoot(lens_.steps_[i].op).value ? kKeepsValue : 0;
}

std::optional<std::uint32_t> LensWalk::Enter(std::uint32_t function,
                                             std::span<std::uint8_t> state) const {
  for (std::size_t i = 0; i < width(); ++i) {
    Lens::Above above{.matched = (state[i] & kMatched) != 0,
                      .last_matched = (state[i] & kLastMatched) != 0};
    const Lens::Kept kept = Lens::Visit(lens_.steps_[i].op, hit_[i][function] != 0, above);
    state[i] = static_cast<std::uint8_t>((above.matched ? kMatched : 0) |
                                         (above.last_matched ? kLastMatched : 0) |
                                         (kept.value ? kKeepsValue : 0));
    if (!kept.node) return std::nullopt;
    if (!renamed_[i].empty()) function = renamed_[i][function];
  }
  return function;
}

bool LensWalk::Keeps(std::span<const std::uint8_t> state) {
  return std::ranges::all_of(state, [](std::uint8_t s) { return (s & kKeepsValue) != 0; });
}

}  // namespace wherefore::query
