#include "sdk/config/variables.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include <fmt/format.h>

namespace wherefore::sdk {
namespace {

constexpr std::string_view kPrefix = "WHEREFORE_";
constexpr std::size_t kMost = 10;
constexpr std::size_t kLongest = 64;  // longer names are no misspelling of ours

// How many letters must be changed, added or taken away to make one out of the other.
std::size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

// Empty when none is near.
std::string_view Nearest(std::string_view name, std::span<const std::string> known) {
  const std::size_t own = name.size() - kPrefix.size();
  std::size_t best = std::min<std::size_t>(own / 2, 3) + 1;
  std::string_view nearest;
  if (name.size() > kLongest) return nearest;
  for (const std::string& candidate : known) {
    const std::size_t distance = Distance(name, candidate);
    if (distance >= best) continue;
    best = distance;
    nearest = candidate;
  }
  return nearest;
}

}  // namespace

std::vector<std::string> UnknownVariables(const char* const* environment,
                                          std::span<const std::string> known) {
  std::vector<std::string> sentences;
  for (; environment != nullptr && *environment != nullptr && sentences.size() < kMost;
       ++environment) {
    const std::string_view entry = *environment;
    const std::string_view name = entry.substr(0, entry.find('='));
    if (!name.starts_with(kPrefix) || std::ranges::find(known, name) != known.end()) continue;
    const std::string_view nearest = Nearest(name, known);
    sentences.push_back(
        nearest.empty()
            ? fmt::format("{} is no setting of ours; ignored", name)
            : fmt::format("{} is no setting of ours; ignored; is {} meant?", name, nearest));
  }
  return sentences;
}

}  // namespace wherefore::sdk
