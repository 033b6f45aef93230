#include "settings/node.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace wherefore::settings {

std::string Place::Text() const {
  const std::string_view name = file ? std::string_view(*file) : "configuration";
  return line == 0 ? std::string(name) : fmt::format("{}:{}:{}", name, line, column);
}

const Node* Node::Find(std::string_view key) const {
  const auto found = std::ranges::find(entries, key, &Entry::key);
  return found == entries.end() ? nullptr : &found->value;
}

Node* Node::Find(std::string_view key) {
  return const_cast<Node*>(std::as_const(*this).Find(key));
}

std::string Node::Description() const {
  constexpr std::size_t kLongest = 60;
  switch (kind) {
    case Kind::kNull:
      return written.empty() ? "nothing" : fmt::format("`{}`, which is empty", written);
    case Kind::kScalar:
      if (written.size() > kLongest) return fmt::format("`{}...`", written.substr(0, kLongest));
      return quoted ? fmt::format("the text \"{}\"", written) : fmt::format("`{}`", written);
    case Kind::kList:
      return "a list";
    case Kind::kMap:
      return "a map";
  }
  return {};
}

void Merge(Node& base, Node over) {
  if (!base.is_map() || !over.is_map()) {
    base = std::move(over);
    return;
  }
  for (Entry& entry : over.entries) {
    const auto there = std::ranges::find(base.entries, entry.key, &Entry::key);
    if (there == base.entries.end()) {
      base.entries.push_back(std::move(entry));
    } else {
      there->place = std::move(entry.place);
      Merge(there->value, std::move(entry.value));
    }
  }
}

}  // namespace wherefore::settings
