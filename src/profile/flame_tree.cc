#include "profile/flame_tree.h"

#include <algorithm>

#include "profile/frame_name.h"

namespace wherefore::profile {
namespace {

std::int64_t Magnitude(std::int64_t v) {
  return v >= 0 ? v : v == INT64_MIN ? INT64_MAX : -v;
}

// Parent of every node of a preorder tree.
std::vector<std::uint32_t> Parents(const FlameTree& tree) {
  std::vector<std::uint32_t> parents(tree.size());
  std::vector<std::uint32_t> path;
  for (std::uint32_t i = 0; i < tree.size(); ++i) {
    path.resize(tree.depth[i]);
    parents[i] = path.empty() ? 0 : path.back();
    path.push_back(i);
  }
  return parents;
}

void AppendNode(FlameTree& tree, std::uint32_t function, std::uint32_t depth, std::int64_t self,
                std::int64_t self_count) {
  tree.function.push_back(function);
  tree.depth.push_back(depth);
  tree.self.push_back(self);
  tree.self_count.push_back(self_count);
  tree.hidden_nodes.push_back(0);
}

void ReserveNodes(FlameTree& tree, std::size_t nodes) {
  tree.function.reserve(nodes);
  tree.depth.reserve(nodes);
  tree.self.reserve(nodes);
  tree.total.reserve(nodes);
  tree.self_count.reserve(nodes);
  tree.total_count.reserve(nodes);
  tree.hidden_nodes.reserve(nodes);
}

// Marks the largest nodes of wanted functions and their ancestors, up to `room` nodes including the
// root. Returns how many.
std::size_t KeepWanted(const FlameTree& tree, const std::vector<std::int64_t>& sizes,
                       std::span<const char> wanted, std::size_t room, std::vector<char>& keep) {
  std::vector<std::uint32_t> matches;
  for (std::uint32_t i = 1; i < tree.size(); ++i) {
    if (wanted[tree.function[i]] != 0) matches.push_back(i);
  }
  const auto larger = [&](std::uint32_t a, std::uint32_t b) {
    return sizes[a] != sizes[b] ? sizes[a] > sizes[b] : a < b;
  };
  if (matches.size() > room) {
    std::nth_element(matches.begin(), matches.begin() + static_cast<std::ptrdiff_t>(room),
                     matches.end(), larger);
    matches.resize(room);
  }
  std::sort(matches.begin(), matches.end(), larger);
  const std::vector<std::uint32_t> parents = Parents(tree);
  std::size_t kept = 1;
  // Skips a node that is too deep for the room left; only a few, because each costs a walk.
  for (int skipped = 0; const std::uint32_t match : matches) {
    std::size_t cost = 0;
    for (std::uint32_t n = match; keep[n] == 0 && cost <= room - kept; n = parents[n]) ++cost;
    if (cost > room - kept) {
      constexpr int kMaxSkipped = 100;
      if (++skipped == kMaxSkipped) break;
      continue;
    }
    for (std::uint32_t n = match; keep[n] == 0; n = parents[n]) keep[n] = 1;
    kept += cost;
  }
  return kept;
}

}  // namespace

FlameTree WithoutNodes(const FlameTree& tree) {
  FlameTree out;
  out.type = tree.type;
  out.unit = tree.unit;
  out.scale = tree.scale;
  out.inverted = tree.inverted;
  out.functions = tree.functions;
  return out;
}

// A parent comes before its children, so one backward pass is enough.
void AddUpTotals(FlameTree& tree) {
  tree.total = tree.self;
  tree.total_count = tree.self_count;
  const std::vector<std::uint32_t> parents = Parents(tree);
  for (std::size_t i = tree.size(); i-- > 1;) {
    std::int64_t& total = tree.total[parents[i]];
    std::int64_t& count = tree.total_count[parents[i]];
    total = SaturatingAdd(total, tree.total[i]);
    count = SaturatingAdd(count, tree.total_count[i]);
  }
}

TreeBuilder::TreeBuilder() {
  nodes_.push_back({.parent = 0, .function = 0});
  functions_.push_back({.name = "total"});
}

std::uint32_t TreeBuilder::AddFunction(const FlameFunction& function) {
  std::string key = function.name;
  key += '\0';
  key += function.module;
  const auto [it, added] =
      function_ids_.try_emplace(std::move(key), static_cast<std::uint32_t>(functions_.size()));
  if (added) {
    functions_.push_back(function);
    constexpr std::size_t kEntryBytes = 64;  // per map entry
    text_bytes_ +=
        2 * (function.name.size() + function.module.size()) + function.file.size() + kEntryBytes;
  }
  return it->second;
}

void TreeBuilder::IndexChildren(std::uint32_t parent) {
  for (std::uint32_t id = nodes_[parent].newest; id != 0; id = nodes_[id].older) {
    children_.Insert(nodes_, id);
  }
  nodes_[parent].newest = 0;
}

std::uint32_t TreeBuilder::NewChild(std::uint32_t parent, std::uint32_t function) {
  const auto id = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back({.parent = parent, .function = function, .older = nodes_[parent].newest});
  nodes_[parent].newest = id;
  return id;
}

std::uint32_t TreeBuilder::Child(std::uint32_t parent, std::uint32_t function) {
  if (nodes_[parent].newest != 0) IndexChildren(parent);
  return children_.Child(nodes_, parent, function);
}

FlameTree TreeBuilder::Build() {
  // Ranks functions by name once, so that sorting siblings compares integers.
  std::vector<std::uint32_t> order(functions_.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin() + 1, order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::tie(functions_[a].name, functions_[a].module) <
           std::tie(functions_[b].name, functions_[b].module);
  });
  std::vector<std::uint32_t> rank(order.size());
  FlameTree tree;
  tree.functions.reserve(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    rank[order[i]] = i;
    tree.functions.push_back(std::move(functions_[order[i]]));
  }

  // Groups siblings by a counting sort by parent, then sorts each group by rank.
  std::vector<std::uint32_t> first(nodes_.size() + 1);
  for (std::size_t i = 1; i < nodes_.size(); ++i) ++first[nodes_[i].parent + 1];
  for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
  std::vector<std::uint32_t> sorted(nodes_.size());
  std::vector<std::uint32_t> fill(first.begin(), first.end() - 1);
  for (std::uint32_t i = 1; i < nodes_.size(); ++i) sorted[fill[nodes_[i].parent]++] = i;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    std::sort(sorted.begin() + first[i], sorted.begin() + first[i + 1],
              [&](std::uint32_t a, std::uint32_t b) {
                return rank[nodes_[a].function] < rank[nodes_[b].function];
              });
  }

  struct Open {
    std::uint32_t node;
    std::uint32_t depth;
  };
  ReserveNodes(tree, nodes_.size());
  std::vector<Open> open = {{0, 0}};
  while (!open.empty()) {
    const auto [node, depth] = open.back();
    open.pop_back();
    AppendNode(tree, rank[nodes_[node].function], depth, nodes_[node].self, nodes_[node].count);
    for (std::uint32_t k = first[node + 1]; k-- > first[node];)
      open.push_back({sorted[k], depth + 1});
  }
  AddUpTotals(tree);
  *this = TreeBuilder();
  return tree;
}

FlameTree Rescaled(const FlameTree& tree, std::int64_t scale) {
  FlameTree out = tree;
  if (scale == tree.scale) return out;
  out.scale = scale;
  for (std::int64_t& self : out.self) self = SaturatingMultiply(self, scale / tree.scale);
  AddUpTotals(out);
  return out;
}

FlameTree Unscaled(const FlameTree& tree) {
  FlameTree out = tree;
  if (tree.scale == 1) return out;
  const std::int64_t half = tree.scale / 2;
  for (std::int64_t& v : out.self) v = (v >= 0 ? v + half : v - half) / tree.scale;
  out.scale = 1;
  AddUpTotals(out);
  return out;
}

void DropUnusedFunctions(FlameTree& tree) {
  constexpr std::uint32_t kUnused = UINT32_MAX;
  if (tree.functions.empty()) return;
  std::vector<std::uint32_t> place(tree.functions.size(), kUnused);
  for (const std::uint32_t f : tree.function) place[f] = 0;
  place[0] = 0;  // the root, whatever the nodes say
  std::uint32_t next = 0;
  for (std::size_t f = 0; f < place.size(); ++f) {
    if (place[f] == kUnused) continue;
    if (next != f) tree.functions[next] = std::move(tree.functions[f]);
    place[f] = next++;
  }
  tree.functions.resize(next);
  for (std::uint32_t& f : tree.function) f = place[f];
}

std::vector<char> ChooseNodes(const FlameTree& tree, const std::vector<std::int64_t>& sizes,
                              const PruneOptions& options) {
  if (tree.size() == 0) return {};
  const auto at_least =
      static_cast<std::int64_t>(options.min_share * static_cast<double>(sizes[0]));
  const bool too_many = options.max_nodes > 0 && tree.size() > options.max_nodes;
  if (!too_many && at_least <= 0) return {};
  std::vector<char> keep(tree.size());
  keep[0] = 1;
  std::size_t kept = 1;
  if (!options.wanted.empty()) {
    const std::size_t room =
        too_many ? std::max<std::size_t>(options.max_nodes / 2, 1) : tree.size();
    kept = KeepWanted(tree, sizes, options.wanted, room, keep);
  }
  std::int64_t smallest = at_least;
  std::size_t ties = SIZE_MAX;  // nodes of exactly that size that still fit
  if (too_many) {
    std::vector<std::int64_t> rest;
    for (std::size_t i = 0; i < tree.size(); ++i) {
      if (keep[i] == 0) rest.push_back(sizes[i]);
    }
    const std::size_t room = options.max_nodes - kept;
    if (room == 0) return keep;
    const auto last = rest.begin() + static_cast<std::ptrdiff_t>(room - 1);
    std::nth_element(rest.begin(), last, rest.end(), std::greater<>());
    if (*last >= at_least) {
      smallest = *last;
      ties = room - static_cast<std::size_t>(std::count_if(
                        rest.begin(), last, [&](std::int64_t size) { return size > smallest; }));
    }
  }
  for (std::size_t i = 0; i < tree.size(); ++i) {
    if (keep[i] != 0 || sizes[i] < smallest) continue;
    if (sizes[i] == smallest && ties == 0) continue;
    if (sizes[i] == smallest) --ties;
    keep[i] = 1;
  }
  return keep;
}

FlameTree Prune(const FlameTree& tree, const PruneOptions& options) {
  std::vector<std::int64_t> sizes(tree.total.begin(), tree.total.end());
  for (std::int64_t& size : sizes) size = Magnitude(size);
  const std::vector<char> keep = ChooseNodes(tree, sizes, options);
  FlameTree out;
  if (keep.empty()) {
    out = tree;
    DropUnusedFunctions(out);
    return out;
  }
  out = WithoutNodes(tree);
  const auto other = static_cast<std::uint32_t>(out.functions.size());
  out.functions.push_back({.name = std::string(kOther), .kind = FrameKind::kOther});

  // One "other" per kept parent, written after the parent's children.
  struct Pending {
    std::int64_t total = 0;
    std::int64_t count = 0;
    std::uint32_t nodes = 0;
  };
  std::vector<Pending> path;  // by depth of the kept ancestor
  const auto close_to = [&](std::size_t depth) {
    while (path.size() > depth) {
      const Pending p = path.back();
      path.pop_back();
      if (p.nodes == 0) continue;
      AppendNode(out, other, static_cast<std::uint32_t>(path.size() + 1), p.total, p.count);
      out.hidden_nodes.back() = p.nodes;
    }
  };
  for (std::size_t i = 0; i < tree.size();) {
    close_to(tree.depth[i]);
    std::size_t next = i + 1;
    if (keep[i] != 0) {
      AppendNode(out, tree.function[i], tree.depth[i], tree.self[i], tree.self_count[i]);
      out.hidden_nodes.back() = tree.hidden_nodes[i];
      path.emplace_back();
    } else {
      while (next < tree.size() && tree.depth[next] > tree.depth[i]) ++next;
      path.back().total = SaturatingAdd(path.back().total, tree.total[i]);
      path.back().count = SaturatingAdd(path.back().count, tree.total_count[i]);
      path.back().nodes += static_cast<std::uint32_t>(next - i);
    }
    i = next;
  }
  close_to(0);
  AddUpTotals(out);
  DropUnusedFunctions(out);
  return out;
}

std::vector<TopRow> Top(const FlameTree& tree) {
  std::vector<TopRow> rows(tree.functions.size());
  std::vector<std::uint32_t> on_path(
      tree.functions.size());  // occurrences of each function above the current node
  std::vector<std::uint32_t> path;
  for (std::size_t i = 1; i < tree.size(); ++i) {
    while (path.size() >= tree.depth[i]) {
      --on_path[path.back()];
      path.pop_back();
    }
    const std::uint32_t f = tree.function[i];
    TopRow& row = rows[f];
    row.function = f;
    if (!tree.inverted) {
      row.self = SaturatingAdd(row.self, tree.self[i]);
      row.self_count = SaturatingAdd(row.self_count, tree.self_count[i]);
    } else if (tree.depth[i] == 1) {
      row.self = SaturatingAdd(row.self, tree.total[i]);
      row.self_count = SaturatingAdd(row.self_count, tree.total_count[i]);
    }
    if (on_path[f]++ == 0) {
      row.total = SaturatingAdd(row.total, tree.total[i]);
      row.total_count = SaturatingAdd(row.total_count, tree.total_count[i]);
    }
    path.push_back(f);
  }
  std::erase_if(rows, [](const TopRow& r) { return r.function == 0; });
  SortTop(tree.functions, rows);
  return rows;
}

void SortTop(std::span<const FlameFunction> functions, std::vector<TopRow>& rows) {
  std::sort(rows.begin(), rows.end(), [&](const TopRow& a, const TopRow& b) {
    if (a.self != b.self) return a.self > b.self;
    if (a.total != b.total) return a.total > b.total;
    const FlameFunction& first = functions[a.function];
    const FlameFunction& second = functions[b.function];
    return std::tie(first.name, first.module) < std::tie(second.name, second.module);
  });
}

std::size_t WrittenOutBytes(const FlameTree& tree) {
  constexpr std::size_t kSeparatorAndNumber = 24;
  std::size_t bytes = 0;
  std::vector<std::size_t> path = {0};  // bytes of the path up to each depth
  for (std::size_t i = 1; i < tree.size(); ++i) {
    path.resize(tree.depth[i] + 1);
    path[tree.depth[i]] = path[tree.depth[i] - 1] + tree.Name(i).size() + 1;
    if (tree.self[i] != 0) bytes += path[tree.depth[i]] + kSeparatorAndNumber;
  }
  return bytes;
}

}  // namespace wherefore::profile
