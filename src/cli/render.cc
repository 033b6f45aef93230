#include "cli/render.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/text.h"
#include "cli/command.h"
#include "profile/share_error.h"
#include "query/search.h"

namespace wherefore::cli {
namespace {

using profile::FlameTree;

std::string CountText(const FlameTree& tree, std::int64_t count) {
  return CountsKnown(tree) ? FormatCount(count) + " observations" : "observations unknown";
}

std::string Summary(const FlameTree& tree) {
  return fmt::format("{}: total {}, {}{}\n", tree.type, TreeValue(tree, tree.total[0]),
                     CountText(tree, tree.total_count[0]),
                     tree.scale != 1 ? " (average over the range)" : "");
}

// Ten warm, readable background colours of the 256-colour palette, chosen by module and name.
int ColorOf(const profile::FlameFunction& f) {
  static constexpr std::array kColors = {216, 222, 180, 186, 150, 217, 223, 187, 151, 152};
  if (f.kind == profile::FrameKind::kOther) return 250;
  return kColors[Hash64(f.module.empty() ? f.name.substr(0, f.name.find_first_of(".:(<"))
                                         : f.module) %
                 kColors.size()];
}

std::string Summary(const FlameTree& tree, const query::Found* found) {
  if (found == nullptr) return Summary(tree);
  return Summary(tree) + fmt::format("search: {} {}, {}, {}, in {} functions\n",
                                     ShareText(tree, found->value), ErrorText(tree, found->count),
                                     TreeValue(tree, found->value), CountText(tree, found->count),
                                     found->function_count);
}

// Whether a frame matches the search.
bool IsMatch(const query::Found* found, std::uint32_t function) {
  return found != nullptr && found->functions[function] != 0;
}

// "parse  [libjson.so]": where space is short the name gets shorter first.
std::string NameAndModule(const profile::FlameFunction& f, std::size_t width) {
  constexpr std::size_t kFewest = 20;  // of the name
  if (f.module.empty()) return FitName(f.name, width);
  const std::string module = fmt::format("  [{}]", f.module);
  const std::size_t taken = ScreenWidth(module);
  const std::size_t left = width > taken + kFewest ? width - taken : kFewest;
  return Fit(FitName(f.name, left) + module, width);
}

}  // namespace

bool CountsKnown(const FlameTree& tree) {
  return tree.total_count[0] > 0 || tree.total[0] == 0;
}

std::vector<profile::TopRow> RowsWithValue(const FlameTree& tree) {
  auto rows = profile::Top(tree);
  std::erase_if(rows, [](const profile::TopRow& r) { return r.self == 0 && r.total == 0; });
  return rows;
}

std::string TreeValue(const FlameTree& tree, std::int64_t value) {
  if (tree.scale == 1) return FormatValue(value, tree.unit);
  if (tree.unit == "count")
    return fmt::format("{:.3f}", static_cast<double>(value) / static_cast<double>(tree.scale));
  return FormatValue(value / tree.scale, tree.unit);
}

std::string ShareText(const FlameTree& tree, std::int64_t value) {
  const std::int64_t root = tree.total[0];
  return fmt::format(
      "{:.1f} %", root == 0 ? 0.0 : 100.0 * static_cast<double>(value) / static_cast<double>(root));
}

std::string ErrorText(const FlameTree& tree, std::int64_t count) {
  if (tree.total_count[0] < 1) return "";
  return "±" + profile::ShareErrorText(count, tree.total_count[0]);
}

std::string RenderTop(const FlameTree& tree, std::size_t limit, int width,
                      const query::Found* found) {
  auto rows = RowsWithValue(tree);
  const std::size_t functions = rows.size();
  if (found != nullptr)
    std::erase_if(rows, [&](const profile::TopRow& r) { return !IsMatch(found, r.function); });
  std::string out = Summary(tree, found);
  out += fmt::format("{:>10} {:>8} {:>6} {:>10} {:>8}  {}\n", "self", "self %", "±", "total",
                     "total %", "function");
  std::int64_t rest = tree.total[0];
  for (std::size_t i = 0; i < rows.size() && i < limit; ++i) {
    const profile::FlameFunction& f = tree.functions[rows[i].function];
    rest -= rows[i].self;
    out += fmt::format("{:>10} {:>8} {:>6} {:>10} {:>8}  {}\n", TreeValue(tree, rows[i].self),
                       ShareText(tree, rows[i].self), ErrorText(tree, rows[i].self_count),
                       TreeValue(tree, rows[i].total), ShareText(tree, rows[i].total),
                       NameAndModule(f, static_cast<std::size_t>(std::max(width - 49, 20))));
  }
  if (const std::size_t listed = std::min(rows.size(), limit); functions > listed) {
    out +=
        fmt::format("{:>10} {:>8} {:>6} {:>10} {:>8}  other ({} functions)\n",
                    TreeValue(tree, rest), ShareText(tree, rest), "", "", "", functions - listed);
  }
  return out;
}

std::string RenderTopLine(const FlameTree& tree, std::size_t limit, std::size_t width) {
  static constexpr std::string_view kBetween = " · ";
  auto rows = profile::Top(tree);
  std::erase_if(rows, [](const profile::TopRow& r) { return r.self == 0; });
  const std::size_t shown = std::min(rows.size(), limit);
  if (shown == 0) return "";
  const bool more = rows.size() > shown;
  // Every name gets an equal part of the line, plus what shorter ones leave.
  std::size_t left = width - std::min(width, more ? kBetween.size() : 0);
  std::string out;
  for (std::size_t i = 0; i < shown; ++i) {
    const std::string share = " " + ShareText(tree, rows[i].self);
    const std::string_view between = i == 0 ? "" : kBetween;
    const std::size_t part = left / (shown - i);
    const std::size_t taken = ScreenWidth(between) + share.size();
    const std::string name =
        FitName(tree.functions[rows[i].function].name, part - std::min(part, taken));
    out += fmt::format("{}{}{}", between, name, share);
    left -= std::min(left, taken + ScreenWidth(name));
  }
  return Fit(more ? out + std::string(kBetween) + "…" : out, width);
}

std::string RenderIndented(const FlameTree& tree, double min_share, int max_depth, int width,
                           const query::Search& search) {
  const query::Found whole = search.In(tree);
  profile::PruneOptions options{.min_share = min_share};
  if (!search.empty()) options.wanted = whole.functions;
  const FlameTree shown = profile::Prune(tree, options);
  const query::Found found = search.In(shown);
  std::string out = Summary(tree, search.empty() ? nullptr : &whole);
  for (std::size_t i = 0; i < shown.size(); ++i) {
    if (max_depth > 0 && static_cast<int>(shown.depth[i]) > max_depth) continue;
    const profile::FlameFunction& f = shown.functions[shown.function[i]];
    // For deep stacks the depth is written as a number, to keep to the width.
    const std::size_t most = static_cast<std::size_t>(std::max(width / 2, 10));
    const std::size_t indented = std::size_t{shown.depth[i]} * 2;
    const bool deep = indented > most;
    const std::string indent =
        deep ? fmt::format("{:<{}}", fmt::format("[{}]", shown.depth[i]), most)
             : std::string(indented, ' ');
    const std::string mark = IsMatch(&found, shown.function[i]) && i > 0 ? "* " : "";
    const std::string hidden = shown.hidden_nodes[i] > 0
                                   ? fmt::format(" ({} smaller)", shown.hidden_nodes[i])
                                   : std::string();
    const auto room =
        static_cast<std::size_t>(std::max(width - 21 - static_cast<int>(indent.size()), 12));
    const std::size_t taken = std::min(room, mark.size() + hidden.size());
    out += fmt::format("{:>10} {:>8}  {}{}\n", TreeValue(shown, shown.total[i]),
                       ShareText(shown, shown.total[i]), indent,
                       Fit(mark + FitName(f.name, room - taken) + hidden, room));
  }
  return out;
}

std::string RenderFlame(const FlameTree& tree, int width, int max_rows, bool color,
                        const query::Found* found) {
  std::string out = Summary(tree, found);
  const double root = static_cast<double>(std::max<std::int64_t>(tree.total[0], 1));
  struct Cell {
    std::size_t node;
    int begin;
    int end;
  };
  std::vector<std::vector<Cell>> rows;
  std::vector<double> next;  // by depth: where the next child starts
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const std::size_t d = tree.depth[i];
    next.resize(d + 2);
    const double start = d == 0 ? 0 : next[d];
    const double end = start + static_cast<double>(tree.total[i]) / root * width;
    next[d] = end;
    next[d + 1] = start;
    const int from = static_cast<int>(std::lround(start));
    const int to = static_cast<int>(std::lround(end));
    if (to <= from) continue;
    if (rows.size() <= d) rows.resize(d + 1);
    rows[d].push_back({i, from, to});
  }
  for (std::size_t d = 0; d < rows.size() && static_cast<int>(d) < max_rows; ++d) {
    int at = 0;
    for (const Cell& cell : rows[d]) {
      if (cell.begin < at) continue;
      out += std::string(static_cast<std::size_t>(cell.begin - at), ' ');
      const auto cells = static_cast<std::size_t>(cell.end - cell.begin);
      const profile::FlameFunction& f = tree.functions[tree.function[cell.node]];
      const std::size_t room = cells - 1;  // one cell separates neighbours
      const std::string share = " " + ShareText(tree, tree.total[cell.node]);
      // A name is worth more than its share, where there is no room for both.
      std::string label = FitName(f.name, room - std::min(room, share.size()));
      if (label.ends_with("…") || ScreenWidth(label) + share.size() > room) {
        label = FitName(f.name, room);
      } else {
        label += share;
      }
      label += std::string(room - ScreenWidth(label), color ? ' ' : '_');
      const bool match = IsMatch(found, tree.function[cell.node]);
      out += !color  ? (match ? "*" : "|") + label
             : match ? fmt::format("\x1b[1;97;48;5;90m{}\x1b[0m ", label)
                     : fmt::format("\x1b[30;48;5;{}m{}\x1b[0m ", ColorOf(f), label);
      at = cell.end;
    }
    out += '\n';
  }
  if (static_cast<int>(rows.size()) > max_rows) {
    out += fmt::format("... {} rows deeper; --rows 0 shows all\n",
                       static_cast<int>(rows.size()) - max_rows);
  }
  return out;
}

}  // namespace wherefore::cli
