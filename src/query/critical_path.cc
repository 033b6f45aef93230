#include "query/critical_path.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string_view>

#include "base/hash.h"
#include "query/sample_groups.h"

namespace wherefore::query {
namespace {

constexpr std::uint8_t kServer = 2;
constexpr std::uint8_t kClient = 3;
constexpr std::int64_t kMostSlackNs = 1'000'000;
// A span may not lie further out: sums of times must fit into 64 bits.
constexpr std::int64_t kFarthestNs = std::numeric_limits<std::int64_t>::max() / 4;

// Clocks of one machine are read one after the other, and rounded.
std::int64_t SlackOf(std::int64_t duration_ns) {
  return std::min(kMostSlackNs, duration_ns / 20);
}

struct Node {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t moved_ns = 0;
  std::uint64_t place = 0;  // service and instance
  std::uint32_t parent = kNoSpan;
  std::vector<std::uint32_t> children;
  bool server_of_client = false;
  bool reached = false;

  [[nodiscard]] std::int64_t duration_ns() const { return end_ns - start_ns; }
};

class Finder {
 public:
  explicit Finder(std::span<const store::SpanRow> trace) : trace_(trace), nodes_(trace.size()) {}

  CriticalPath Find() {
    CriticalPath path;
    if (trace_.empty()) return path;
    ReadSpans();
    ConnectSpans();
    path.root = ChooseRoots();
    CorrectClocks();
    const std::uint32_t top = path.root == kNoSpan ? AddRoot() : path.root;
    path.duration_ns = nodes_[top].duration_ns();
    Walk(top);
    std::ranges::reverse(segments_);
    for (PathSegment& segment : segments_) {
      if (segment.span >= trace_.size()) segment.span = kNoSpan;
    }
    path.segments = std::move(segments_);
    for (std::size_t i = 0; i < trace_.size(); ++i) path.moved_ns.push_back(nodes_[i].moved_ns);
    return path;
  }

 private:
  void ReadSpans() {
    for (std::size_t i = 0; i < trace_.size(); ++i) {
      const store::SpanRow& span = trace_[i];
      Node& node = nodes_[i];
      node.start_ns = std::clamp(span.start_ns, -kFarthestNs, kFarthestNs);
      node.end_ns = node.start_ns + std::clamp<std::int64_t>(span.duration_ns, 0, kFarthestNs);
      node.place = Hash64(span.service_name) ^ Hash64(InstanceOf(span.resource)) * 31;
    }
  }

  void ConnectSpans() {
    std::map<profile::SpanId, std::uint32_t> by_id;
    for (std::uint32_t i = 0; i < trace_.size(); ++i) by_id.emplace(trace_[i].id, i);
    for (std::uint32_t i = 0; i < trace_.size(); ++i) {
      const auto parent = by_id.find(trace_[i].parent);
      if (parent == by_id.end() || parent->second == i) continue;
      Node& node = nodes_[i];
      node.parent = parent->second;
      node.server_of_client = trace_[i].kind == kServer && trace_[node.parent].kind == kClient;
      nodes_[node.parent].children.push_back(i);
    }
  }

  // The one span without a parent, or none: then everything without a known parent lies below a
  // root that has not arrived.
  std::uint32_t ChooseRoots() {
    std::uint32_t root = kNoSpan;
    std::size_t roots = 0;
    for (std::uint32_t i = 0; i < trace_.size(); ++i) {
      if (nodes_[i].parent != kNoSpan) continue;
      tops_.push_back(i);
      if (trace_[i].parent == profile::SpanId{}) {
        root = i;
        ++roots;
      }
    }
    for (const std::uint32_t top : tops_) Reach(top);
    // What is left are circles, and what hangs on them: cut open at their first span.
    std::vector<std::uint32_t> left;
    for (std::uint32_t i = 0; i < trace_.size(); ++i) {
      if (!nodes_[i].reached) left.push_back(i);
    }
    std::ranges::sort(left, {}, [this](std::uint32_t i) { return nodes_[i].start_ns; });
    for (const std::uint32_t i : left) {
      if (nodes_[i].reached) continue;
      std::erase(nodes_[nodes_[i].parent].children, i);
      nodes_[i].parent = kNoSpan;
      tops_.push_back(i);
      Reach(i);
    }
    return roots == 1 ? root : kNoSpan;
  }

  // Appends a span and all below it to the order: parents first.
  void Reach(std::uint32_t top) {
    std::size_t next = order_.size();
    nodes_[top].reached = true;
    order_.push_back(top);
    for (; next < order_.size(); ++next) {
      for (const std::uint32_t child : nodes_[order_[next]].children) {
        if (nodes_[child].reached) continue;
        nodes_[child].reached = true;
        order_.push_back(child);
      }
    }
  }

  // A server's span lies within its client's. Where it does not, its clock is another one: it moves
  // to the middle, and with it what its place did below it.
  void CorrectClocks() {
    for (const std::uint32_t i : order_) {
      Node& node = nodes_[i];
      if (node.parent == kNoSpan) continue;
      const Node& parent = nodes_[node.parent];
      if (node.place == parent.place) {
        node.moved_ns = parent.moved_ns;
      } else if (node.server_of_client && node.duration_ns() <= parent.duration_ns()) {
        const std::int64_t slack = SlackOf(parent.duration_ns());
        if (node.start_ns < parent.start_ns - slack || node.end_ns > parent.end_ns + slack) {
          node.moved_ns =
              parent.start_ns + (parent.duration_ns() - node.duration_ns()) / 2 - node.start_ns;
        }
      }
      node.start_ns += node.moved_ns;
      node.end_ns += node.moved_ns;
    }
  }

  std::uint32_t AddRoot() {
    Node root{.start_ns = kFarthestNs, .end_ns = -kFarthestNs, .children = tops_};
    for (const std::uint32_t i : order_) {
      root.start_ns = std::min(root.start_ns, nodes_[i].start_ns);
      root.end_ns = std::max(root.end_ns, nodes_[i].end_ns);
    }
    nodes_.push_back(std::move(root));
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }

  // A span on the path: its time from `floor` to `position` is still to be told.
  struct Open {
    std::uint32_t span;
    std::int64_t floor;
    std::int64_t position;
    std::size_t next = 0;  // child to look at
  };

  void Walk(std::uint32_t root) {
    std::vector<Open> open;
    Enter(open, root, nodes_[root].start_ns, nodes_[root].end_ns);
    while (!open.empty()) {
      Open& top = open.back();
      const std::vector<std::uint32_t>& children = nodes_[top.span].children;
      if (top.next == children.size()) {
        AddSegment(top.span, top.floor, top.position);
        open.pop_back();
        continue;
      }
      const std::uint32_t child = children[top.next++];
      if (!WasWaitedFor(top, child)) continue;
      const std::int64_t end = std::min(nodes_[child].end_ns, top.position);
      const std::int64_t start = std::max(nodes_[child].start_ns, top.floor);
      if (end <= start) continue;
      AddSegment(top.span, end, top.position);
      top.position = start;
      Enter(open, child, start, end);  // `top` is no longer valid
    }
  }

  void Enter(std::vector<Open>& open, std::uint32_t span, std::int64_t floor,
             std::int64_t position) {
    std::ranges::stable_sort(nodes_[span].children, std::ranges::greater(),
                             [this](std::uint32_t i) { return nodes_[i].end_ns; });
    open.push_back({.span = span, .floor = floor, .position = position});
  }

  [[nodiscard]] bool WasWaitedFor(const Open& parent, std::uint32_t child) const {
    const Node& node = nodes_[child];
    if (node.server_of_client) return true;
    const std::int64_t slack = SlackOf(node.duration_ns());
    return node.end_ns <= nodes_[parent.span].end_ns + slack &&
           node.end_ns <= parent.position + slack;
  }

  void AddSegment(std::uint32_t span, std::int64_t start, std::int64_t end) {
    if (end > start) segments_.push_back({.span = span, .start_ns = start, .end_ns = end});
  }

  const std::span<const store::SpanRow> trace_;
  std::vector<Node> nodes_;  // by span; a root that has not arrived is the last
  std::vector<std::uint32_t> tops_;
  std::vector<std::uint32_t> order_;
  std::vector<PathSegment> segments_;  // the last first
};

}  // namespace

CriticalPath FindCriticalPath(std::span<const store::SpanRow> trace) {
  return Finder(trace).Find();
}

}  // namespace wherefore::query
