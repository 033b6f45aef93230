#include "profile/line_table.h"

#include <algorithm>

#include "base/arithmetic.h"

namespace wherefore::profile {

std::size_t LineTable::Function(const FrameFacts& facts) {
  FlameFunction named = NameFrame(facts);
  if (!wanted_(named)) return kNotWanted;
  const auto [it, added] =
      ids_.try_emplace({named.name, named.module, named.file}, entries_.size());
  if (added) {
    entries_.push_back({.listed = {.name = std::move(named.name),
                                   .module = std::move(named.module),
                                   .file = std::move(named.file),
                                   .start_line = named.start_line}});
  }
  return it->second;
}

void LineTable::BeginStack(std::int64_t value) {
  ++stack_;
  value_ = value;
  leaf_ = true;
}

void LineTable::Add(std::size_t function, std::int64_t line) {
  const bool leaf = std::exchange(leaf_, false);
  if (function == kNotWanted) return;
  Entry& entry = entries_[function];
  ListedLine& listed = entry.lines[line];
  listed.line = line;
  if (std::exchange(entry.last_stack, stack_) != stack_) {
    entry.listed.total = SaturatingAdd(entry.listed.total, value_);
  }
  if (std::exchange(entry.last_stack_of_line[line], stack_) != stack_) {
    listed.total = SaturatingAdd(listed.total, value_);
  }
  if (leaf) {
    entry.listed.self = SaturatingAdd(entry.listed.self, value_);
    listed.self = SaturatingAdd(listed.self, value_);
  }
}

std::vector<ListedFunction> LineTable::Take() {
  std::vector<ListedFunction> out;
  for (Entry& entry : entries_) {
    for (const auto& [number, line] : entry.lines) entry.listed.lines.push_back(line);
    out.push_back(std::move(entry.listed));
  }
  entries_.clear();
  ids_.clear();
  std::stable_sort(out.begin(), out.end(), [](const ListedFunction& a, const ListedFunction& b) {
    return a.total > b.total;
  });
  return out;
}

}  // namespace wherefore::profile
