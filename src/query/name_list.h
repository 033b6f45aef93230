// Lists of names that may be long: what somebody looks for in them, and how many of them are
// listed. NameFilter: immutable after parsing, any thread. NameSet: one thread.
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"

namespace re2 {
class RE2;
}

namespace wherefore::query {

// Part of a name, in any case. Empty: every name.
class NameFilter {
 public:
  static constexpr std::size_t kMostBytes = 1000;

  static Result<NameFilter> Parse(std::string_view text);
  [[nodiscard]] bool empty() const { return regex_ == nullptr; }
  [[nodiscard]] bool Matches(std::string_view name) const;

 private:
  std::shared_ptr<const re2::RE2> regex_;
};

struct ListOf {
  NameFilter search;
  std::size_t limit = 0;
  std::size_t offset = 0;  // how many of the list come before; of the overview
};
struct NameList {
  std::vector<std::string> names;  // in order, at most as many as were asked for
  std::size_t total = 0;           // that match
};

// Names as they come, each once; counted as memory of the query.
class NameSet {
 public:
  NameSet(const ListOf& wanted, const CancelToken& cancel) : wanted_(wanted), held_(cancel) {}

  Result<> Add(std::string_view name);
  [[nodiscard]] NameList Take();

 private:
  const ListOf& wanted_;
  MemoryClaim held_;
  std::size_t bytes_ = 0;
  std::set<std::string, std::less<>> names_;
};

}  // namespace wherefore::query
