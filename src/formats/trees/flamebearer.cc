#include "formats/trees/flamebearer.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <protozero/varint.hpp>

#include "base/arithmetic.h"
#include "base/json_writer.h"
#include "profile/frame_name.h"

namespace wherefore::formats {
namespace {

using profile::FlameTree;

// Where the previous box of each level ended.
class Column {
 public:
  // The offset of a box at `start`.
  std::int64_t Place(std::size_t level, std::int64_t start, std::int64_t total) {
    if (ends_.size() <= level) ends_.resize(level + 1);
    const std::int64_t offset = SaturatingAdd(start, SaturatingMultiply(ends_[level], -1));
    ends_[level] = SaturatingAdd(start, total);
    return offset;
  }

 private:
  std::vector<std::int64_t> ends_;
};

// One side's boxes of a preorder tree: the absolute start of every node.
class Starts {
 public:
  std::int64_t Next(std::size_t depth, std::int64_t self, std::int64_t total) {
    next_.resize(depth + 1);
    const std::int64_t start = next_[depth];
    next_[depth] = SaturatingAdd(start, total);
    next_.push_back(SaturatingAdd(start, self));
    return start;
  }

 private:
  std::vector<std::int64_t> next_;  // by depth: start of the next sibling
};

class Names {
 public:
  std::int64_t Of(std::string_view name) {
    const auto [it, added] =
        ids_.try_emplace(std::string(name), static_cast<std::int64_t>(list.size()));
    if (added) list.emplace_back(name);
    return it->second;
  }
  std::vector<std::string> list;

 private:
  std::unordered_map<std::string, std::int64_t> ids_;
};

std::int64_t Magnitude(std::int64_t v) {
  return v >= 0 ? v : v == INT64_MIN ? INT64_MAX : -v;
}

// A node of two trees with the same shape.
struct Pair {
  std::uint32_t depth = 0;
  std::string_view name;
  std::int64_t left_self = 0, left_total = 0, right_self = 0, right_total = 0;

  [[nodiscard]] std::int64_t Size() const {
    return SaturatingAdd(Magnitude(left_total), Magnitude(right_total));
  }
};

std::int64_t Threshold(const std::vector<Pair>& nodes, std::size_t max_nodes) {
  if (max_nodes == 0 || nodes.size() <= max_nodes) return 0;
  std::vector<std::int64_t> sizes;
  sizes.reserve(nodes.size());
  for (const Pair& n : nodes) sizes.push_back(n.Size());
  const auto nth = sizes.begin() + static_cast<std::ptrdiff_t>(max_nodes - 1);
  std::nth_element(sizes.begin(), nth, sizes.end(), std::greater<>());
  return *nth;
}

// Children smaller than the threshold become one "other" child of their parent.
std::vector<Pair> Pruned(const std::vector<Pair>& nodes, std::int64_t threshold) {
  std::vector<Pair> out;
  std::vector<Pair> pending;  // by depth of the kept ancestor: its "other" so far
  const auto close_to = [&](std::size_t depth) {
    while (pending.size() > depth) {
      if (!pending.back().name.empty()) out.push_back(pending.back());
      pending.pop_back();
    }
  };
  for (std::size_t i = 0; i < nodes.size();) {
    const Pair& n = nodes[i];
    close_to(n.depth);
    if (i == 0 || n.Size() >= threshold) {
      out.push_back(n);
      pending.push_back({.depth = n.depth + 1});
      ++i;
      continue;
    }
    Pair& other = pending.back();
    other.name = profile::kOther;
    other.left_self = other.left_total = SaturatingAdd(other.left_total, n.left_total);
    other.right_self = other.right_total = SaturatingAdd(other.right_total, n.right_total);
    for (++i; i < nodes.size() && nodes[i].depth > n.depth;) ++i;
  }
  close_to(0);
  return out;
}

void AppendTimeline(JsonWriter& json, const Timeline& t) {
  json.BeginObject().Field("startTime", t.start_seconds).Key("samples").BeginArray();
  for (const std::int64_t v : t.samples) json.Int(v);
  json.EndArray().Field("durationDelta", t.step_seconds).Key("watermarks").Null().EndObject();
}

}  // namespace

FlameTree MergedByName(const FlameTree& tree) {
  std::unordered_set<std::string_view> names;
  const bool unique =
      std::all_of(tree.functions.begin(), tree.functions.end(),
                  [&](const profile::FlameFunction& f) { return names.insert(f.name).second; });
  if (unique) return tree;
  profile::TreeBuilder builder;
  std::vector<std::uint32_t> path;
  for (std::size_t i = 0; i < tree.size(); ++i) {
    path.resize(tree.depth[i]);
    profile::FlameFunction f = tree.functions[tree.function[i]];
    f.module.clear();
    path.push_back(i == 0 ? 0 : builder.Child(path.back(), builder.AddFunction(f)));
    builder.AddValue(path.back(), tree.self[i], tree.self_count[i]);
  }
  FlameTree out = builder.Build();
  out.type = tree.type;
  out.unit = tree.unit;
  out.scale = tree.scale;
  return out;
}

FlameGraph ToFlameGraph(const FlameTree& tree) {
  FlameGraph graph;
  Names names;
  names.Of("total");
  Starts starts;
  Column column;
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const std::size_t level = tree.depth[i];
    if (graph.levels.size() <= level) graph.levels.resize(level + 1);
    const std::int64_t start = starts.Next(level, tree.self[i], tree.total[i]);
    const std::int64_t offset = column.Place(level, start, tree.total[i]);
    const std::int64_t name = i == 0 ? 0 : names.Of(tree.Name(i));
    graph.levels[level].insert(graph.levels[level].end(),
                               {offset, tree.total[i], tree.self[i], name});
    graph.max_self = std::max(graph.max_self, tree.self[i]);
  }
  if (graph.levels.empty()) graph.levels.push_back({0, 0, 0, 0});
  graph.names = std::move(names.list);
  graph.total = tree.size() > 0 ? tree.total[0] : 0;
  return graph;
}

FlameGraph ToFlameGraphDiff(const TwoSidedTree& trees, std::size_t max_nodes) {
  const FlameTree& right = *trees.tree;
  std::vector<Pair> nodes(right.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i] = {.depth = right.depth[i],
                .name = right.Name(i),
                .left_self = trees.left_self[i],
                .left_total = trees.left_total[i],
                .right_self = right.self[i],
                .right_total = right.total[i]};
  }
  FlameGraph graph{.is_diff = true};
  Names names;
  names.Of("total");
  Starts left_starts, right_starts;
  Column left_column, right_column;
  for (const Pair& n : Pruned(nodes, Threshold(nodes, max_nodes))) {
    if (graph.levels.size() <= n.depth) graph.levels.resize(n.depth + 1);
    const std::int64_t left = left_starts.Next(n.depth, n.left_self, n.left_total);
    const std::int64_t other = right_starts.Next(n.depth, n.right_self, n.right_total);
    auto& level = graph.levels[n.depth];
    level.insert(level.end(), {left_column.Place(n.depth, left, n.left_total), n.left_total,
                               n.left_self, right_column.Place(n.depth, other, n.right_total),
                               n.right_total, n.right_self, n.depth == 0 ? 0 : names.Of(n.name)});
    graph.max_self = std::max({graph.max_self, n.left_self, n.right_self});
  }
  if (graph.levels.empty()) graph.levels.push_back({0, 0, 0, 0, 0, 0, 0});
  graph.names = std::move(names.list);
  graph.left_ticks = nodes.empty() ? 0 : nodes[0].left_total;
  graph.right_ticks = nodes.empty() ? 0 : nodes[0].right_total;
  graph.total = SaturatingAdd(graph.left_ticks, graph.right_ticks);
  return graph;
}

std::string EncodePyroscopeTree(const FlameTree& tree) {
  std::vector<std::vector<std::uint32_t>> children(tree.size());
  std::vector<std::uint32_t> path;
  for (std::uint32_t i = 0; i < tree.size(); ++i) {
    path.resize(tree.depth[i]);
    if (i > 0) children[path.back()].push_back(i);
    path.push_back(i);
  }
  std::string out;
  const auto number = [&](std::uint64_t n) { protozero::write_varint(std::back_inserter(out), n); };
  std::vector<std::uint32_t> open;
  if (tree.size() > 0) open.push_back(0);
  while (!open.empty()) {
    const std::uint32_t node = open.back();
    open.pop_back();
    const std::string_view name = node == 0 ? std::string_view() : tree.Name(node);
    number(name.size());
    out += name;
    number(static_cast<std::uint64_t>(tree.self[node]));
    number(children[node].size());
    open.insert(open.end(), children[node].begin(), children[node].end());
  }
  return out;
}

void DescribeUnits(std::string_view sample_type, std::string_view sample_unit, Flamebearer& file) {
  file.name = sample_type;
  file.sample_rate = 100;
  if (sample_type == "inuse_objects" || sample_type == "alloc_objects" ||
      sample_type == "goroutine" || sample_type == "samples") {
    file.units = "objects";
  } else if (sample_type == "cpu") {
    file.units = "samples";
    file.sample_rate = 1'000'000'000;
  } else {
    file.units = sample_unit;
  }
}

std::string EncodeFlamebearer(const Flamebearer& file) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Field("version", 1).Key("flamebearer").BeginObject();
  json.Key("names").BeginArray();
  for (const std::string& name : file.graph.names) json.String(name);
  json.EndArray().Key("levels").BeginArray();
  for (const auto& level : file.graph.levels) {
    json.BeginArray();
    for (const std::int64_t v : level)
      json.Raw(std::to_string(v));  // always plain numbers, whatever their size
    json.EndArray();
  }
  json.EndArray().Key("numTicks").Raw(std::to_string(file.graph.total));
  json.Key("maxSelf").Raw(std::to_string(file.graph.max_self)).EndObject();
  json.Key("metadata").BeginObject().Field("format", file.graph.is_diff ? "double" : "single");
  json.Field("spyName", "").Field("sampleRate", file.sample_rate).Field("units", file.units);
  json.Field("name", file.name).EndObject().Key("timeline");
  if (file.timeline != nullptr) {
    AppendTimeline(json, *file.timeline);
  } else {
    json.Null();
  }
  json.Key("groups");
  if (file.groups.empty()) json.Null();
  if (!file.groups.empty()) {
    json.BeginObject();
    for (const auto& [name, timeline] : file.groups) {
      json.Key(name);
      AppendTimeline(json, timeline);
    }
    json.EndObject();
  }
  json.Key("heatmap").Null();
  if (file.graph.is_diff) {
    json.Key("leftTicks").Raw(std::to_string(file.graph.left_ticks));
    json.Key("rightTicks").Raw(std::to_string(file.graph.right_ticks));
  }
  json.EndObject();
  return out;
}

}  // namespace wherefore::formats
