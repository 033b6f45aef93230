#include "settings/nearest.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace wherefore::settings {
namespace {

constexpr std::size_t kLongestName = 100;

std::size_t Slips(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({row[j - 1] + 1, last[j] + 1, changed});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

std::string_view NearestName(std::string_view name, std::span<const std::string_view> known) {
  std::string_view best;
  if (name.size() > kLongestName) return best;
  // A third of a name may be wrong; of a short one, a single character.
  std::size_t fewest = std::max<std::size_t>(name.size() / 3, 1) + 1;
  for (const std::string_view candidate : known) {
    const std::size_t slips = Slips(name, candidate);
    if (slips >= fewest) continue;
    fewest = slips;
    best = candidate;
  }
  return best;
}

std::string WhatExists(std::string_view name, std::span<const std::string_view> known) {
  std::string text;
  if (const std::string_view nearest = NearestName(name, known); !nearest.empty()) {
    text = fmt::format("; did you mean `{}`?", nearest);
  }
  if (known.empty()) return text + "; there is none";
  constexpr std::size_t kMostShown = 25;
  const auto shown = known.first(std::min(known.size(), kMostShown));
  text += fmt::format("{} there is: {}{}", text.empty() ? ";" : "", fmt::join(shown, ", "),
                      shown.size() < known.size() ? ", ..." : "");
  return text;
}

}  // namespace wherefore::settings
