// Search: which functions people look for, and what they cost, found before anything is pruned.
//
// A regular expression (RE2) that matches anywhere in a function's name or in its module's, without
// regard to case: the page's own matcher (ui/src/core/pattern.ts) has the same rules, so that what
// it marks at once is what the server counts. The same word works in the CLI, the URL and the API.
// Immutable after parsing; any thread may evaluate.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "profile/flame_tree.h"

namespace re2 {
class RE2;
}

namespace wherefore {
class JsonWriter;
}

namespace wherefore::query {

// What a search found in a tree.
struct Found {
  std::vector<char> functions;  // by function: not 0 = a node has it, and it matches
  std::int64_t value = 0;       // of everything at and below a match, nested ones counted once
  std::int64_t count = 0;       // the same in observations
  std::int64_t before = 0;      // the same of the other side of a difference
  std::size_t function_count = 0;
  std::size_t nodes = 0;  // that match themselves

  // As the field "search" of an answer.
  void AppendTo(JsonWriter& json, bool difference = false) const;
};

class Search {
 public:
  static constexpr std::size_t kMostBytes = 1000;

  // The error says where in the text. Empty text looks for nothing.
  static Result<Search> Parse(std::string_view text);
  [[nodiscard]] bool empty() const { return regex_ == nullptr; }
  [[nodiscard]] bool Matches(const profile::FlameFunction& function) const;
  // Not to be used on a pruned tree. The root stands for everything and never matches. `before`:
  // totals of the other side of a difference, by node.
  [[nodiscard]] Found In(const profile::FlameTree& tree,
                         std::span<const std::int64_t> before = {}) const;

 private:
  std::shared_ptr<const re2::RE2> regex_;
};

}  // namespace wherefore::query
