// A saved flame graph (flamebearer JSON) back into a tree.
#include <simdjson.h>

#include <fmt/format.h>

#include "formats/trees/flamebearer.h"

namespace wherefore::formats {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;

constexpr std::size_t kBox = 4;

Error Bad(std::string_view what) {
  return {Code::kCorrupt, fmt::format("flamebearer: {}", what)};
}

struct Box {
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::uint32_t node = 0;
};

Result<std::vector<std::int64_t>> ReadLevel(const element& json) {
  array numbers;
  if (json.get_array().get(numbers) != simdjson::SUCCESS) return Bad("a level must be an array");
  std::vector<std::int64_t> out;
  for (const element number : numbers) {
    std::int64_t value = 0;
    if (number.get_int64().get(value) != simdjson::SUCCESS) return Bad("numbers must be whole");
    out.push_back(value);
  }
  if (out.size() % kBox != 0) return Bad("a level must have four numbers for each box");
  return out;
}

Result<std::vector<std::string>> ReadNames(const element& json) {
  array list;
  if (json["names"].get_array().get(list) != simdjson::SUCCESS) return Bad("names are missing");
  std::vector<std::string> names;
  for (const element name : list) {
    std::string_view text;
    if (name.get_string().get(text) != simdjson::SUCCESS) return Bad("names must be text");
    names.emplace_back(text);
  }
  return names;
}

// Adds the boxes of one level below those of the previous level.
Result<std::vector<Box>> AddLevel(profile::TreeBuilder& builder,
                                  const std::vector<std::int64_t>& level,
                                  const std::vector<std::string>& names,
                                  const std::vector<Box>& above, bool root) {
  std::vector<Box> boxes;
  std::int64_t end = 0;
  std::size_t parent = 0;
  for (std::size_t i = 0; i < level.size(); i += kBox) {
    const std::int64_t total = level[i + 1];
    const std::int64_t self = level[i + 2];
    if (level[i] < 0 || total < 0 || self < 0) return Bad("a value is negative");
    std::int64_t start = 0;
    if (__builtin_add_overflow(end, level[i], &start) ||
        __builtin_add_overflow(start, total, &end)) {
      return Bad("values do not fit 64 bits");
    }
    if (level[i + 3] < 0 || level[i + 3] >= static_cast<std::int64_t>(names.size())) {
      return Bad("a box has no name");
    }
    if (total == 0) continue;
    while (parent < above.size() && above[parent].end <= start) ++parent;
    if (!root &&
        (parent == above.size() || above[parent].start > start || end > above[parent].end)) {
      return Bad("a box lies outside the one above it");
    }
    const std::uint32_t node =
        root ? 0
             : builder.Child(
                   above[parent].node,
                   builder.AddFunction({.name = names[static_cast<std::size_t>(level[i + 3])]}));
    builder.AddValue(node, self, 0);
    boxes.push_back({start, end, node});
  }
  return boxes;
}

}  // namespace

Result<profile::FlameTree> DecodeFlamebearer(std::string_view json) {
  simdjson::dom::parser parser;
  element root, flame;
  if (parser.parse(json.data(), json.size()).get(root) != simdjson::SUCCESS ||
      root["flamebearer"].get(flame) != simdjson::SUCCESS) {
    return Bad("not such a file");
  }
  std::string_view text;
  if (root["metadata"]["format"].get_string().get(text) == simdjson::SUCCESS && text != "single") {
    return Bad("a difference cannot be read, only a single graph");
  }
  WHEREFORE_ASSIGN_OR_RETURN(const auto names, ReadNames(flame));
  array levels;
  if (flame["levels"].get_array().get(levels) != simdjson::SUCCESS)
    return Bad("levels are missing");
  profile::TreeBuilder builder;
  std::vector<Box> above;
  bool first = true;
  for (const element level : levels) {
    WHEREFORE_ASSIGN_OR_RETURN(const auto numbers, ReadLevel(level));
    WHEREFORE_ASSIGN_OR_RETURN(above, AddLevel(builder, numbers, names, above, first));
    first = false;
  }
  profile::FlameTree tree = builder.Build();
  if (root["metadata"]["name"].get_string().get(text) == simdjson::SUCCESS) tree.type = text;
  if (root["metadata"]["units"].get_string().get(text) == simdjson::SUCCESS) tree.unit = text;
  return tree;
}

}  // namespace wherefore::formats
