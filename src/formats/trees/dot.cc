// A flame tree as a call graph for Graphviz.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "base/arithmetic.h"
#include "base/text.h"
#include "formats/trees/flamebearer.h"

namespace wherefore::formats {
namespace {

using profile::FlameTree;

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + '"';
}

double Percent(std::int64_t value, std::int64_t total) {
  return total == 0 ? 0 : 100.0 * static_cast<double>(value) / static_cast<double>(total);
}

struct Edge {
  std::int64_t value = 0;
  bool gap = false;  // functions between the two were left out
};
using Edges = std::map<std::pair<std::uint32_t, std::uint32_t>, Edge>;

// Values from each shown function to the next shown one below it; once per stack and pair.
Edges CollectEdges(const FlameTree& tree, const std::vector<bool>& shown) {
  struct Above {
    std::uint32_t function = 0;  // nearest shown one, 0: none
    bool gap = false;
  };
  Edges edges;
  std::vector<Above> above;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> path;  // edges by depth
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const std::size_t depth = tree.depth[i];
    const Above from = depth == 0 ? Above{} : above[depth - 1];
    above.resize(depth);
    path.resize(depth);
    const std::uint32_t function = tree.function[i];
    std::pair<std::uint32_t, std::uint32_t> edge{0, 0};
    if (shown[function]) {
      edge = {from.function, function};
      const bool again = std::find(path.begin(), path.end(), edge) != path.end();
      if (from.function != 0 && !again) {
        Edge& e = edges[edge];
        e.value = SaturatingAdd(e.value, tree.total[i]);
        e.gap |= from.gap;
      }
      above.push_back({function, false});
    } else {
      above.push_back({from.function, depth > 0});
    }
    path.push_back(edge);
  }
  return edges;
}

}  // namespace

std::string EncodeDot(const FlameTree& tree, std::string_view title, std::size_t max_nodes) {
  const FlameTree merged = MergedByName(tree);
  const std::int64_t total = merged.size() > 0 ? merged.total[0] : 0;
  auto rows = profile::Top(merged);
  const std::size_t all = rows.size();
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return std::max(a.self, a.total) > std::max(b.self, b.total);
  });
  if (max_nodes > 0 && rows.size() > max_nodes) rows.resize(max_nodes);
  std::vector<bool> shown(merged.functions.size());
  for (const profile::TopRow& r : rows) shown[r.function] = true;

  std::string out = fmt::format("digraph {} {{\nnode [style=filled fillcolor=\"#f8f8f8\"]\n",
                                Quoted(title.empty() ? "unnamed" : title));
  out += fmt::format("graph [label={} labelloc=t]\n",
                     Quoted(fmt::format("{}: {}, {} of {} functions", title,
                                        FormatValue(total, merged.unit), rows.size(), all)));
  for (const profile::TopRow& r : rows) {
    const std::string& name = merged.functions[r.function].name;
    const std::string label = fmt::format(
        "{}\\n{} ({:.2f}%)\\nof {} ({:.2f}%)", Quoted(name).substr(1, Quoted(name).size() - 2),
        FormatValue(r.self, merged.unit), Percent(r.self, total), FormatValue(r.total, merged.unit),
        Percent(r.total, total));
    out += fmt::format("N{} [label=\"{}\" shape=box fontsize={:.0f}]\n", r.function, label,
                       8 + std::sqrt(std::max(Percent(r.self, total), 0.0)) * 1.6);
  }
  for (const auto& [pair, edge] : CollectEdges(merged, shown)) {
    out += fmt::format("N{} -> N{} [label=\" {}\" weight={:.0f}{}]\n", pair.first, pair.second,
                       FormatValue(edge.value, merged.unit),
                       1 + std::max(Percent(edge.value, total), 0.0),
                       edge.gap ? " style=\"dotted\"" : "");
  }
  return out + "}\n";
}

}  // namespace wherefore::formats
