#include "gateway/config/sources.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <ranges>

#include <fmt/format.h>

#include "base/ascii.h"
#include "settings/yaml.h"

namespace wherefore::gateway {

using namespace settings;  // trees with places
namespace {

// "a.b.c", or "a::b::c" where a name has a dot in it.
std::vector<std::string> PathOf(std::string_view text) {
  const std::string_view separator = text.contains("::") ? "::" : ".";
  std::vector<std::string> path;
  for (const auto part : std::views::split(text, separator)) {
    path.emplace_back(part.begin(), part.end());
  }
  return path;
}

std::optional<Node> ReadSet(const std::string& set, Problems& problems) {
  const std::size_t equals = set.find('=');
  const std::string path = set.substr(0, equals);
  const Place place{std::make_shared<const std::string>("--set " + path), 1, 1};
  if (equals == std::string::npos) {
    problems.Fail(place, "expected a.b.c=value");
    return std::nullopt;
  }
  auto node = ParseYaml(std::string_view(set).substr(equals + 1), *place.file, problems);
  if (!node) return std::nullopt;
  for (const std::string& key : PathOf(path) | std::views::reverse) {
    if (key.empty()) {
      problems.Fail(place, "a name in the path is empty");
      return std::nullopt;
    }
    Node map;
    map.kind = Node::Kind::kMap;
    map.place = place;
    map.entries.push_back({key, place, *std::move(node)});
    node = std::move(map);
  }
  return node;
}

// Trims spaces and quotes.
std::string_view Bare(std::string_view key) {
  key = Trim(key);
  return key.size() > 2 && (key[0] == '"' || key[0] == '\'') ? key.substr(1, key.size() - 2) : key;
}

}  // namespace

Result<std::string> ReadConfigFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text(kMaxConfigBytes + 1, '\0');
  if (!in.read(text.data(), static_cast<std::streamsize>(text.size())) && !in.eof()) {
    return Error(Code::kIo, fmt::format("{}: cannot be read", path));
  }
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

Node ReadSources(const ConfigSources& sources, const Lookup& lookup, Problems& problems) {
  Node root;
  const auto add = [&](std::optional<Node> read) {
    if (!read || read->is_null()) return;
    if (!read->is_map()) {
      return problems.Fail(read->place,
                           fmt::format("expected a map with keys such as receivers and service, "
                                       "not {}",
                                       read->Description()));
    }
    ReplaceReferences(*read, lookup, problems);
    Merge(root, *std::move(read));
  };
  for (const std::string& file : sources.files) {
    const Result<std::string> text = ReadConfigFile(file);
    if (text) {
      add(ParseYaml(*text, file, problems));
    } else {
      problems.Fail({std::make_shared<const std::string>(file), 0, 0}, "cannot be read");
    }
  }
  for (const std::string& set : sources.sets) add(ReadSet(set, problems));
  return root;
}

bool IsPipelineConfig(std::string_view text) {
  if (Trim(text).starts_with('{')) return true;
  // By its lines: a configuration with a mistake in it must be told from a file of another kind.
  for (const auto line : std::views::split(text, '\n')) {
    const std::string_view one(line.begin(), line.end());
    const std::size_t colon = one.find(':');
    if (colon == std::string_view::npos || one[0] == ' ') continue;
    if (std::ranges::find(kRootKeys, Bare(one.substr(0, colon))) != kRootKeys.end()) return true;
  }
  return false;
}

}  // namespace wherefore::gateway
