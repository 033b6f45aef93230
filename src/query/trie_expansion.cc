// TrieSums: the largest paths, best first. Only what may be shown is ever merged and named.
#include <algorithm>
#include <queue>

#include "profile/frame_name.h"
#include "query/trie_sums.h"

namespace wherefore::query {
namespace {

using profile::FlameFunction;

constexpr std::uint32_t kNone = UINT32_MAX;

}  // namespace

// Grows a tree from the root: a node of it is one or more nodes of tries with equal paths.
class Expansion {
 public:
  using Values = std::array<TrieSums::Sum, 2>;  // by side
  struct Row {
    std::uint32_t function = 0;  // number of all tries; kNone: other
    std::uint32_t depth = 0;
    Values self;
    std::uint32_t hidden = 0;  // of other: how many nodes it stands for
  };

  Expansion(TrieSums& sums, Identity identity)
      : sums_(sums),
        cancel_(sums.memory_->token),
        identity_(identity),
        numbers_(sums.NumberFunctions(identity)),
        slots_(numbers_.functions.size()) {}

  // Rows in preorder, children by name, "other" last.
  Result<std::vector<Row>> Choose(const profile::PruneOptions& options);
  [[nodiscard]] std::size_t full_nodes() const { return full_nodes_; }
  // The functions of rows, [0] the root's, others by name; "other" last, if there is one. Rows then
  // have indices into it.
  [[nodiscard]] std::vector<FlameFunction> NameRows(std::vector<Row>& rows) const;

 private:
  // One of the nodes of tries that a node is made of; a list.
  struct Source {
    std::uint32_t trie = 0;
    std::uint32_t node = 0;
    std::uint32_t next = kNone;
  };
  struct Node {
    std::uint32_t function = 0;
    std::uint32_t source = kNone;
    std::uint32_t first_child = kNone;  // into nodes_, a run; kNone: not expanded
    std::uint32_t children = 0;
    Values total;
    Values self;  // once it is expanded
  };
  // A path that is being written.
  struct Open {
    std::uint32_t node = 0;
    std::uint32_t begin = 0;  // its children that may be shown: a run of order_
    std::uint32_t next = 0;
    std::uint32_t end = 0;
    Row other;
  };
  // Nodes of at least this size are shown; of that size itself only so many, the first in preorder.
  struct Cut {
    std::int64_t size = 0;
    std::size_t ties = SIZE_MAX;
  };
  struct Slot {
    std::uint32_t expansion = 0;
    std::uint32_t node = 0;
  };

  [[nodiscard]] static std::int64_t Size(const Node& node) {
    return std::max(node.total[0].total, node.total[1].total);
  }
  void AddRoot();
  // Calls visit(trie, node, number of its function) for every node with samples right below a list
  // of sources.
  template <typename Visit>
  void VisitBelow(std::uint32_t source, const Visit& visit) const;
  std::uint32_t AddSource(std::uint32_t trie, std::uint32_t node, std::uint32_t next);
  Result<> ClaimNodes();
  Result<> Expand(std::uint32_t index);
  // Whether nodes below may have to become one.
  [[nodiscard]] bool Merges(const Node& node) const;
  Result<Cut> FindCut(const profile::PruneOptions& options);
  Result<std::vector<Row>> Write(Cut cut);
  void OpenNode(std::uint32_t index, std::int64_t at_least, std::vector<Open>& path,
                std::vector<Row>& rows);
  void Fold(std::uint32_t index, Row& other);
  // How many nodes of the whole tree there are at and below this one.
  std::uint32_t CountAll(std::uint32_t source);
  [[nodiscard]] auto NameOf(std::uint32_t function) const {
    const FlameFunction& f = *numbers_.functions[function];
    return std::tie(f.name, f.module);
  }

  TrieSums& sums_;
  const CancelToken& cancel_;
  const Identity identity_;
  const TrieSums::FunctionNumbers numbers_;
  std::vector<Node> nodes_;
  std::vector<Source> sources_;
  std::vector<Slot> slots_;  // by function: the child of the node that is being expanded
  std::uint32_t expansions_ = 0;
  std::vector<std::uint32_t> order_;
  std::size_t full_nodes_ = 0;
  std::size_t claimed_nodes_ = 0;
};

void Expansion::AddRoot() {
  Node root;
  for (std::uint32_t t = 0; t < sums_.tries_.size(); ++t) {
    const TrieSums::Summed& summed = sums_.tries_[t];
    for (std::size_t side = 0; side < sums_.sides_; ++side) {
      root.total[side].total += summed.sums[side][0].total;
      root.total[side].count += summed.sums[side][0].count;
    }
    root.source = AddSource(t, 0, root.source);
  }
  nodes_.push_back(root);
}

bool Expansion::Merges(const Node& node) const {
  if (node.source == kNone) return false;
  const Source& first = sources_[node.source];
  return first.next != kNone ||
         (identity_ == Identity::kName && !sums_.tries_[first.trie].names_are_unique());
}

template <typename Visit>
void Expansion::VisitBelow(std::uint32_t source, const Visit& visit) const {
  for (std::uint32_t s = source; s != kNone;) {
    const Source at = sources_[s];  // visit() may add to them
    const TrieSums::Summed& summed = sums_.tries_[at.trie];
    const std::vector<StackTrie::Node>& nodes = summed.trie();
    for (std::uint32_t n = nodes[at.node].first_child; n != 0; n = nodes[n].next_sibling) {
      if (summed.nodes[n] != 0) visit(at.trie, n, numbers_.Of(at.trie, nodes[n].function));
    }
    s = at.next;
  }
}

std::uint32_t Expansion::AddSource(std::uint32_t trie, std::uint32_t node, std::uint32_t next) {
  sources_.push_back({.trie = trie, .node = node, .next = next});
  return static_cast<std::uint32_t>(sources_.size() - 1);
}

Result<> Expansion::ClaimNodes() {
  constexpr std::size_t kClaimEvery = 4096;
  if (nodes_.size() - claimed_nodes_ <= kClaimEvery) return {};
  WHEREFORE_RETURN_IF_ERROR(cancel_.Check());
  WHEREFORE_RETURN_IF_ERROR(
      sums_.Claim((nodes_.size() - claimed_nodes_) * (sizeof(Node) + sizeof(Source))));
  claimed_nodes_ = nodes_.size();
  return {};
}

Result<> Expansion::Expand(std::uint32_t index) {
  if (nodes_[index].first_child != kNone) return {};
  WHEREFORE_RETURN_IF_ERROR(ClaimNodes());
  const bool merges = Merges(nodes_[index]);
  const auto first = static_cast<std::uint32_t>(nodes_.size());
  Values self = nodes_[index].total;
  ++expansions_;
  VisitBelow(nodes_[index].source,
             [&](std::uint32_t trie, std::uint32_t n, std::uint32_t function) {
               auto child = static_cast<std::uint32_t>(nodes_.size());
               Slot& slot = slots_[function];
               if (merges && slot.expansion == expansions_) {
                 child = slot.node;
               } else {
                 nodes_.push_back({.function = function});
                 slot = {.expansion = expansions_, .node = child};
               }
               nodes_[child].source = AddSource(trie, n, nodes_[child].source);
               for (std::size_t side = 0; side < sums_.sides_; ++side) {
                 const TrieSums::Sum& sum = sums_.tries_[trie].sums[side][n];
                 nodes_[child].total[side].total += sum.total;
                 nodes_[child].total[side].count += sum.count;
                 self[side].total -= sum.total;
                 self[side].count -= sum.count;
               }
             });
  Node& node = nodes_[index];
  node.first_child = first;
  node.children = static_cast<std::uint32_t>(nodes_.size()) - first;
  node.self = self;
  return {};
}

// Equal paths of several tries count once, so those are walked; what a single trie has below a
// node is known.
std::uint32_t Expansion::CountAll(std::uint32_t source) {
  if (identity_ == Identity::kName && sources_[source].next != kNone) return 1;  // nobody asks
  const std::size_t mark = sources_.size();
  std::vector<std::uint32_t> todo = {source};
  std::vector<std::uint32_t> children;
  std::uint32_t count = 0;
  while (!todo.empty()) {
    const std::uint32_t at = todo.back();
    todo.pop_back();
    if (sources_[at].next == kNone) {
      count += sums_.tries_[sources_[at].trie].nodes[sources_[at].node];
      continue;
    }
    ++count;
    ++expansions_;
    children.clear();
    VisitBelow(at, [&](std::uint32_t trie, std::uint32_t n, std::uint32_t function) {
      Slot& slot = slots_[function];
      if (slot.expansion != expansions_) {
        slot = {.expansion = expansions_, .node = static_cast<std::uint32_t>(children.size())};
        children.push_back(kNone);
      }
      children[slot.node] = AddSource(trie, n, children[slot.node]);
    });
    todo.insert(todo.end(), children.begin(), children.end());
  }
  sources_.resize(mark);
  return count;
}

Result<Expansion::Cut> Expansion::FindCut(const profile::PruneOptions& options) {
  const auto at_least = std::max<std::int64_t>(
      static_cast<std::int64_t>(options.min_share * static_cast<double>(Size(nodes_[0]))), 0);
  if (options.max_nodes == 0 ||
      (identity_ == Identity::kFunction && full_nodes_ <= options.max_nodes)) {
    return Cut{.size = at_least};
  }
  const std::size_t room = options.max_nodes - 1;
  if (room == 0) return Cut{.size = INT64_MAX, .ties = 0};
  struct Larger {
    std::int64_t size;
    std::uint32_t node;
    bool operator<(const Larger& other) const { return size < other.size; }
  };
  std::priority_queue<Larger> queue;
  const auto expand = [&](std::uint32_t index) -> Result<> {
    WHEREFORE_RETURN_IF_ERROR(Expand(index));
    for (std::uint32_t c = 0; c < nodes_[index].children; ++c) {
      const std::uint32_t child = nodes_[index].first_child + c;
      if (Size(nodes_[child]) >= at_least) queue.push({Size(nodes_[child]), child});
    }
    return {};
  };
  WHEREFORE_RETURN_IF_ERROR(expand(0));
  Cut cut;
  std::size_t same = 0;  // as large as the smallest so far
  for (std::size_t taken = 0; taken < room; ++taken) {
    if (queue.empty()) return Cut{.size = at_least};
    const Larger largest = queue.top();
    queue.pop();
    same = taken > 0 && largest.size == cut.size ? same + 1 : 1;
    cut.size = largest.size;
    if (taken + 1 < room) WHEREFORE_RETURN_IF_ERROR(expand(largest.node));
  }
  cut.ties = same;
  return cut;
}

void Expansion::Fold(std::uint32_t index, Row& other) {
  for (std::size_t side = 0; side < sums_.sides_; ++side) {
    other.self[side].total += nodes_[index].total[side].total;
    other.self[side].count += nodes_[index].total[side].count;
  }
  other.hidden += CountAll(nodes_[index].source);
}

void Expansion::OpenNode(std::uint32_t index, std::int64_t at_least, std::vector<Open>& path,
                         std::vector<Row>& rows) {
  const Node& node = nodes_[index];
  const auto depth = static_cast<std::uint32_t>(path.size());
  rows.push_back({.function = node.function, .depth = depth, .self = node.self});
  Open open{.node = index,
            .begin = static_cast<std::uint32_t>(order_.size()),
            .other = {.function = kNone, .depth = depth + 1}};
  for (std::uint32_t child = node.first_child; child < node.first_child + node.children; ++child) {
    if (Size(nodes_[child]) >= at_least) {
      order_.push_back(child);
    } else {
      Fold(child, open.other);
    }
  }
  open.next = open.begin;
  open.end = static_cast<std::uint32_t>(order_.size());
  std::sort(order_.begin() + open.begin, order_.end(), [this](std::uint32_t a, std::uint32_t b) {
    return NameOf(nodes_[a].function) < NameOf(nodes_[b].function);
  });
  path.push_back(open);
}

Result<std::vector<Expansion::Row>> Expansion::Write(Cut cut) {
  std::vector<Row> rows;
  std::vector<Open> path;
  WHEREFORE_RETURN_IF_ERROR(Expand(0));
  OpenNode(0, cut.size, path, rows);
  while (!path.empty()) {
    Open& open = path.back();
    if (open.next == open.end) {
      if (open.other.hidden > 0) rows.push_back(open.other);
      order_.resize(open.begin);
      path.pop_back();
      continue;
    }
    const std::uint32_t child = order_[open.next++];
    if (Size(nodes_[child]) == cut.size) {
      if (cut.ties == 0) {
        Fold(child, open.other);
        continue;
      }
      --cut.ties;
    }
    WHEREFORE_RETURN_IF_ERROR(Expand(child));
    OpenNode(child, cut.size, path, rows);
  }
  return rows;
}

Result<std::vector<Expansion::Row>> Expansion::Choose(const profile::PruneOptions& options) {
  sums_.AddUp();
  AddRoot();
  const bool empty = nodes_[0].source == kNone;  // there is no trie
  if (identity_ == Identity::kFunction) full_nodes_ = empty ? 1 : CountAll(nodes_[0].source);
  WHEREFORE_ASSIGN_OR_RETURN(const Cut cut, FindCut(options));
  return Write(cut);
}

std::vector<FlameFunction> Expansion::NameRows(std::vector<Row>& rows) const {
  std::vector<std::uint32_t> used;
  std::vector<std::uint32_t> place(numbers_.functions.size(), kNone);
  bool any_other = false;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    any_other = any_other || rows[i].function == kNone;
    if (rows[i].function == kNone || place[rows[i].function] != kNone) continue;
    place[rows[i].function] = 0;
    used.push_back(rows[i].function);
  }
  std::ranges::sort(used, {}, [this](std::uint32_t f) { return NameOf(f); });
  std::vector<FlameFunction> functions = {{.name = "total"}};
  for (const std::uint32_t f : used) {
    place[f] = static_cast<std::uint32_t>(functions.size());
    functions.push_back(*numbers_.functions[f]);
  }
  const auto other = static_cast<std::uint32_t>(functions.size());
  if (any_other)
    functions.push_back({.name = std::string(profile::kOther), .kind = profile::FrameKind::kOther});
  rows[0].function = 0;
  for (std::size_t i = 1; i < rows.size(); ++i)
    rows[i].function = rows[i].function == kNone ? other : place[rows[i].function];
  return functions;
}

namespace {

void AppendRow(profile::FlameTree& tree, const Expansion::Row& row) {
  tree.function.push_back(row.function);
  tree.depth.push_back(row.depth);
  tree.self.push_back(row.self[0].total);
  tree.self_count.push_back(row.self[0].count);
  tree.hidden_nodes.push_back(row.hidden);
}

}  // namespace

Result<TrieSums::Shown> TrieSums::Largest(Identity identity, const profile::PruneOptions& options) {
  Expansion expansion(*this, identity);
  WHEREFORE_ASSIGN_OR_RETURN(auto rows, expansion.Choose(options));
  Shown shown{.full_nodes = expansion.full_nodes()};
  shown.tree.functions = expansion.NameRows(rows);
  for (const Expansion::Row& row : rows) AppendRow(shown.tree, row);
  profile::AddUpTotals(shown.tree);
  return shown;
}

Result<TrieSums::ShownDiff> TrieSums::LargestDiff(const profile::PruneOptions& options) {
  Expansion expansion(*this, Identity::kFunction);
  WHEREFORE_ASSIGN_OR_RETURN(auto rows, expansion.Choose(options));
  ShownDiff shown{.full_nodes = expansion.full_nodes()};
  DiffTree& diff = shown.diff;
  diff.tree.functions = expansion.NameRows(rows);
  for (const Expansion::Row& row : rows) {
    AppendRow(diff.tree, row);
    diff.before_self.push_back(row.self[1].total);
    diff.before_count.push_back(row.self[1].count);
  }
  profile::FlameTree before = diff.tree;
  before.self = diff.before_self;
  profile::AddUpTotals(before);
  diff.before = std::move(before.total);
  profile::AddUpTotals(diff.tree);
  return shown;
}

}  // namespace wherefore::query
