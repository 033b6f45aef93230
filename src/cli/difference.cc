#include "cli/difference.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/render.h"
#include "query/diff.h"

namespace wherefore::cli {
namespace {

// Lengths this close count as equal: two recordings of 30 s never end at the same nanosecond.
constexpr double kSameLength = 0.02;
constexpr std::size_t kNameWidth = 120;  // as the page's tables have them

std::string Seconds(double seconds) {
  return FormatDuration(static_cast<std::int64_t>(seconds * static_cast<double>(kNsPerSecond)));
}

// Values of both sides in the unit of the chosen mode, and as text.
class Shown {
 public:
  Shown(const query::DiffTree& diff, const DiffMeasure& measure)
      : tree_(diff.tree), mode_(measure.mode) {
    const auto part = [](double of) { return of == 0 ? 0.0 : 1 / of; };
    if (mode_ == DiffMode::kRate) {
      before_ = part(measure.sides.before_seconds);
      after_ = part(measure.sides.after_seconds);
    } else if (mode_ == DiffMode::kShare) {
      before_ = 100 * part(static_cast<double>(diff.before[0]));
      after_ = 100 * part(static_cast<double>(diff.tree.total[0]));
    }
  }

  [[nodiscard]] double Before(std::int64_t v) const { return static_cast<double>(v) * before_; }
  [[nodiscard]] double After(std::int64_t v) const { return static_cast<double>(v) * after_; }
  [[nodiscard]] double SelfChange(const query::DiffRow& r) const {
    return Change(r.self_before, r.self_after);
  }
  [[nodiscard]] double TotalChange(const query::DiffRow& r) const {
    return Change(r.total_before, r.total_after);
  }

  [[nodiscard]] std::string Text(double v) const {
    if (mode_ == DiffMode::kShare) return fmt::format("{:.1f} %", v);
    // Small rates are fractions; whole numbers would show them as 0.
    if (mode_ == DiffMode::kRate && tree_.unit == "count") return fmt::format("{:.3f}", v);
    return TreeValue(tree_, std::llround(v));
  }
  // Shares differ by percentage points.
  [[nodiscard]] std::string ChangeText(double v) const {
    if (mode_ == DiffMode::kShare) return fmt::format("{:+.1f}", v);
    return (v > 0 ? "+" : "") + Text(v);
  }
  // Whether a change is visible: sides converted to one scale differ by rounding.
  [[nodiscard]] bool Seen(double change) const {
    if (mode_ == DiffMode::kRaw) return change != 0;
    return std::fabs(change) >= (mode_ == DiffMode::kShare                           ? 0.05
                                 : mode_ == DiffMode::kRate && tree_.unit == "count" ? 0.0005
                                                                                     : 0.5);
  }

 private:
  // Raw values are exact: a double would round large ones.
  [[nodiscard]] double Change(std::int64_t before, std::int64_t after) const {
    return mode_ == DiffMode::kRaw ? static_cast<double>(after - before)
                                   : After(after) - Before(before);
  }

  const profile::FlameTree& tree_;
  DiffMode mode_;
  double before_ = 1;
  double after_ = 1;
};

std::vector<query::DiffRow> RowsBy(const Shown& shown, const query::DiffTree& diff) {
  auto rows = query::DiffTop(diff);
  std::ranges::stable_sort(rows, [&](const query::DiffRow& a, const query::DiffRow& b) {
    const double change_a = std::fabs(shown.SelfChange(a));
    const double change_b = std::fabs(shown.SelfChange(b));
    if (change_a != change_b) return change_a > change_b;
    return std::fabs(shown.TotalChange(a)) > std::fabs(shown.TotalChange(b));
  });
  return rows;
}

std::string Header(const query::DiffTree& diff, const DiffMeasure& measure, const Shown& shown) {
  const profile::FlameTree& tree = diff.tree;
  const std::int64_t change = tree.total[0] - diff.before[0];
  std::string out = fmt::format("{}: before {}, after {}, change {}{}", tree.type,
                                TreeValue(tree, diff.before[0]), TreeValue(tree, tree.total[0]),
                                change > 0 ? "+" : "", TreeValue(tree, change));
  const DiffSides& sides = measure.sides;
  if (measure.mode == DiffMode::kRate) {
    const double before = shown.Before(diff.before[0]);
    const double after = shown.After(tree.total[0]);
    out += fmt::format("\nper second of observed time ({} and {}): before {}, after {}, change {}",
                       Seconds(sides.before_seconds), Seconds(sides.after_seconds),
                       shown.Text(before), shown.Text(after), shown.ChangeText(after - before));
  } else {
    out += measure.mode == DiffMode::kShare
               ? "\nshares of each side's total, changes in percentage points"
               : "\nas they are";
  }
  if (!measure.why.empty()) out += ": " + measure.why;
  return out + "\n";
}

// "more", or what keeps one from saying so.
std::string VerdictText(const TestedValue& value) {
  if (value.verdict == "undecided") return "?";
  return value.verdict == "unknown" ? "few" : value.verdict;
}

std::string VerdictNote(const Verdicts& verdicts) {
  std::string out;
  if (!verdicts.groups.empty()) {
    out = fmt::format("more, less: surely (compared by {}); ?: not sure; few: under 10 samples. ",
                      verdicts.groups);
  }
  return out + verdicts.note + "\n";
}

// "parse, called by main"
std::string Whose(const ToldCause& cause) {
  const auto shown = [](const std::string& name) { return FitName(name, kNameWidth); };
  const std::string name = shown(cause.function);
  if (!cause.partner.empty()) return fmt::format("{}, from {}", name, shown(cause.partner));
  if (!cause.caller.empty()) return fmt::format("{}, called by {}", name, shown(cause.caller));
  return name;
}

std::string CauseLine(const ToldCause& cause) {
  return fmt::format("  {:<10} {:>+7.1f} % ({:+.1f} to {:+.1f})  {}\n", cause.kind,
                     100 * cause.share, 100 * cause.low, 100 * cause.high, Whose(cause));
}

// What explains the difference, before the table of everything that differs.
std::string CauseLines(const Verdicts& verdicts) {
  if (verdicts.groups.empty()) return "";
  if (verdicts.causes.empty()) return "causes: no function surely explains a difference\n";
  std::string out =
      fmt::format("causes, of the cost before, {} (95 %):\n",
                  verdicts.basis == "endpoints"  ? "per request of each endpoint"
                  : verdicts.basis == "requests" ? (verdicts.OfFiles() ? "per run" : "per request")
                                                 : "measured against what did not change");
  for (const ToldCause& cause : verdicts.causes) out += CauseLine(cause);
  return out;
}

void AppendVerdict(JsonWriter& json, std::string_view key, const TestedValue& value) {
  json.Key(key).BeginObject().Field("before", value.before).Field("after", value.after);
  json.Field("change", value.change).Field("low", value.low).Field("high", value.high);
  json.Field("verdict", value.verdict).EndObject();
}

}  // namespace

FailOn JudgeDifference(const Verdicts& verdicts, double limit) {
  for (const ToldCause& cause : verdicts.causes) {
    if ((cause.kind == "more" || cause.kind == "new" || cause.kind == "everywhere") &&
        cause.low >= limit) {
      return {true,
              fmt::format(
                  "{} surely costs {:.1f} % more of the cost before (limit {:.1f} %{})",
                  Printable(cause.function), 100 * cause.low, 100 * limit,
                  cause.caller.empty() ? std::string() : "; called by " + Printable(cause.caller))};
    }
  }
  if (verdicts.whole_low >= limit) {
    return {true, fmt::format("everything together surely costs {:.1f} % more (limit {:.1f} %)",
                              100 * verdicts.whole_low, 100 * limit)};
  }
  if (!verdicts.detectable || *verdicts.detectable > limit) {
    return {false,
            fmt::format("no change of {:.1f} % could have been seen{}", 100 * limit,
                        verdicts.detectable ? fmt::format(": only those of {:.1f} % and more",
                                                          100 * *verdicts.detectable)
                                            : std::string(": nothing was tested"))};
  }
  return {};
}

std::string_view DiffModeName(DiffMode mode) {
  switch (mode) {
    case DiffMode::kRaw:
      return "raw";
    case DiffMode::kRate:
      return "rate";
    case DiffMode::kShare:
      return "share";
    case DiffMode::kRequest:
      return "request";
  }
  return "";
}

DiffMeasure ChooseMeasure(std::string_view wanted, const DiffSides& sides) {
  const bool known = sides.before_seconds > 0 && sides.after_seconds > 0;
  if (wanted == "share") return {DiffMode::kShare, "", sides};
  if (wanted == "raw") return {DiffMode::kRaw, "", sides};
  if (wanted == "request") return {DiffMode::kRequest, "", sides};
  if (wanted.empty() && sides.two_selectors) {
    return {DiffMode::kShare,
            "two selections seldom carry the same load for the same time (--mode raw, rate)",
            sides};
  }
  if (wanted.empty() && sides.repeated_runs)
    return {DiffMode::kShare, "runs seldom take the same time (--mode raw, rate)", sides};
  if (sides.averaged) return {DiffMode::kRaw, "snapshots have no rate", sides};
  if (!known) return {DiffMode::kRaw, "the observed time of the sides is not known", sides};
  if (wanted == "rate") return {DiffMode::kRate, "", sides};
  const double ratio = sides.after_seconds / sides.before_seconds;
  if (ratio > 1 - kSameLength && ratio < 1 + kSameLength)
    return {DiffMode::kRaw, "both sides have the same observed time", sides};
  return {DiffMode::kRate, "the sides differ in observed time (--mode raw, share)", sides};
}

namespace {

// A function of the table, as text.
struct Line {
  std::string self_change;
  std::string before;
  std::string after;
  std::string total_change;
  std::string interval;  // of the change of self
  std::string self;      // verdicts; empty: not tested
  std::string total;
  std::string name;
  std::string mark;
};

std::vector<Line> LinesOfSums(const query::DiffTree& diff, const DiffMeasure& measure,
                              const Verdicts* verdicts, std::size_t limit) {
  const Shown shown(diff, measure);
  std::vector<Line> lines;
  for (const query::DiffRow& row : RowsBy(shown, diff)) {
    if (lines.size() == limit) break;
    if (!shown.Seen(shown.SelfChange(row)) && !shown.Seen(shown.TotalChange(row))) continue;
    const profile::FlameFunction& function = diff.tree.functions[row.function];
    Line& line = lines.emplace_back();
    line.self_change = shown.ChangeText(shown.SelfChange(row));
    line.before = shown.Text(shown.Before(row.self_before));
    line.after = shown.Text(shown.After(row.self_after));
    line.total_change = shown.ChangeText(shown.TotalChange(row));
    line.name = function.name;
    line.mark = row.total_before == 0 ? "  (new)" : row.total_after == 0 ? "  (gone)" : "";
    const Verdicts::Row* const tested =
        verdicts != nullptr ? verdicts->Find(function.name, function.module) : nullptr;
    if (tested == nullptr) continue;
    line.self = VerdictText(tested->self);
    line.total = VerdictText(tested->total);
    // A rate's interval is per instance, which is not what the table shows.
    if (measure.mode == DiffMode::kShare)
      line.interval =
          fmt::format("{:+.1f} to {:+.1f}", 100 * tested->self.low, 100 * tested->self.high);
  }
  return lines;
}

std::string RequestText(const profile::FlameTree& tree, double value) {
  if (tree.unit == "count") return fmt::format("{:.3f}", value / static_cast<double>(tree.scale));
  return TreeValue(tree, std::llround(value));
}
std::string RequestChange(const profile::FlameTree& tree, double value) {
  return (value > 0 ? "+" : "") + RequestText(tree, value);
}

// Per request values are an average over endpoints, not a quotient of sums: those that were tested.
std::vector<Line> LinesPerRequest(const profile::FlameTree& tree, const Verdicts& verdicts,
                                  std::size_t limit) {
  using Row = std::pair<const std::pair<std::string, std::string>, Verdicts::Row>;
  std::vector<const Row*> rows;
  for (const Row& row : verdicts.rows) rows.push_back(&row);
  std::ranges::stable_sort(rows, std::greater(),
                           [](const Row* r) { return std::fabs(r->second.self.change); });
  if (rows.size() > limit) rows.resize(limit);
  std::vector<Line> lines;
  for (const Row* const row : rows) {
    const auto& [self, total] = row->second;
    lines.push_back({.self_change = RequestChange(tree, self.change),
                     .before = RequestText(tree, self.before),
                     .after = RequestText(tree, self.after),
                     .total_change = RequestChange(tree, total.change),
                     .interval = fmt::format("{} to {}", RequestChange(tree, self.low),
                                             RequestChange(tree, self.high)),
                     .self = VerdictText(self),
                     .total = VerdictText(total),
                     .name = row->first.first,
                     .mark = {}});
  }
  return lines;
}

bool IsPerRequest(const DiffMeasure& measure, const Verdicts* verdicts) {
  return measure.mode == DiffMode::kRequest && verdicts != nullptr;
}

std::vector<Line> LinesOf(const query::DiffTree& diff, const DiffMeasure& measure,
                          const Verdicts* verdicts, std::size_t limit) {
  return IsPerRequest(measure, verdicts) ? LinesPerRequest(diff.tree, *verdicts, limit)
                                         : LinesOfSums(diff, measure, verdicts, limit);
}

std::string Headline(const query::DiffTree& diff, const DiffMeasure& measure,
                     const Verdicts* verdicts) {
  if (!IsPerRequest(measure, verdicts)) return Header(diff, measure, Shown(diff, measure));
  const TestedValue& whole = verdicts->whole;
  const std::string_view what = verdicts->OfFiles() ? "run" : "request";
  return fmt::format("{}, per {} ({} and {} {}s): before {}, after {}, change {} ({} to {})\n",
                     diff.tree.type, what, verdicts->requests_before, verdicts->requests_after,
                     what, RequestText(diff.tree, whole.before),
                     RequestText(diff.tree, whole.after), RequestChange(diff.tree, whole.change),
                     RequestChange(diff.tree, whole.low), RequestChange(diff.tree, whole.high));
}

}  // namespace

std::string RenderDiff(const query::DiffTree& diff, const DiffMeasure& measure,
                       const Verdicts* verdicts, std::size_t limit) {
  std::string out = Headline(diff, measure, verdicts);
  if (IsPerRequest(measure, verdicts) && verdicts->groups.empty())
    return out + verdicts->note + "\n";
  if (verdicts != nullptr) out += CauseLines(*verdicts);
  const std::vector<Line> lines = LinesOf(diff, measure, verdicts, limit);
  // Columns that nothing is known for are left out.
  const bool intervals =
      std::ranges::any_of(lines, [](const Line& l) { return !l.interval.empty(); });
  const std::size_t wide = IsPerRequest(measure, verdicts) ? 23 : 17;
  const std::string_view per = measure.mode == DiffMode::kRate ? "/s" : "";
  const auto add = [&](const Line& line) {
    out += fmt::format("{:>11} {:>10} {:>10} {:>12}", line.self_change, line.before, line.after,
                       line.total_change);
    if (intervals) out += fmt::format(" {:>{}}", line.interval, wide);
    if (verdicts != nullptr) out += fmt::format(" {:>5} {:>5}", line.self, line.total);
    out += fmt::format("  {}{}\n", line.name, line.mark);
  };
  add({"self change", fmt::format("before{}", per), fmt::format("after{}", per), "total change",
       "95 % of self", "self", "total", "function", ""});
  for (Line line : lines) {
    line.name = FitName(line.name, kNameWidth);
    add(line);
  }
  if (verdicts != nullptr) out += VerdictNote(*verdicts);
  return out;
}

std::string CauseSentence(const ToldCause& cause) {
  return fmt::format("{} {:+.1f} % ({:+.1f} to {:+.1f}) {}", cause.kind, 100 * cause.share,
                     100 * cause.low, 100 * cause.high, Whose(cause));
}

namespace {

// Names may hold what Markdown takes for a table or for markup.
std::string InTable(std::string_view name) {
  std::string out = "`";
  for (const char c : Printable(name)) out += c == '|' ? "\\|" : c == '`' ? "'" : std::string(1, c);
  return out + "`";
}

}  // namespace

std::string DiffMarkdown(const query::DiffTree& diff, const DiffMeasure& measure,
                         const Verdicts* verdicts, std::size_t limit) {
  std::string out;
  for (const char c : Headline(diff, measure, verdicts))
    out += c == '\n' ? "  \n" : std::string(1, c);
  if (verdicts != nullptr && !verdicts->groups.empty()) {
    out += "\n**Causes**, of the cost before (95 %):\n\n";
    if (verdicts->causes.empty()) out += "- no function surely explains a difference\n";
    for (const ToldCause& cause : verdicts->causes) {
      out +=
          fmt::format("- **{}** {:+.1f} % ({:+.1f} to {:+.1f}) {}{}\n", cause.kind,
                      100 * cause.share, 100 * cause.low, 100 * cause.high, InTable(cause.function),
                      cause.caller.empty() ? "" : ", called by " + InTable(cause.caller));
    }
  }
  out += "\n| self change | before | after | total change | sure? | function |\n";
  out += "|---:|---:|---:|---:|---|---|\n";
  for (const Line& line : LinesOf(diff, measure, verdicts, limit))
    out += fmt::format("| {} | {} | {} | {} | {} | {} |\n", line.self_change, line.before,
                       line.after, line.total_change, line.self, InTable(line.name));
  if (verdicts != nullptr) out += "\n" + verdicts->note + "\n";
  return out;
}

std::string DiffJson(const query::DiffTree& diff, const DiffMeasure& measure,
                     const Verdicts* verdicts) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Field("type", diff.tree.type).Field("unit", diff.tree.unit);
  json.Field("scale", diff.tree.scale).Field("mode", DiffModeName(measure.mode));
  json.Field("seconds_before", measure.sides.before_seconds);
  json.Field("seconds_after", measure.sides.after_seconds);
  json.Field("total_before", diff.before[0]).Field("total_after", diff.tree.total[0]);
  json.Key("rows").BeginArray();
  for (const query::DiffRow& row : RowsBy(Shown(diff, measure), diff)) {
    const profile::FlameFunction& function = diff.tree.functions[row.function];
    json.BeginObject().Field("name", function.name);
    json.Field("self_before", row.self_before).Field("self_after", row.self_after);
    json.Field("total_before", row.total_before).Field("total_after", row.total_after);
    const auto* tested =
        verdicts != nullptr ? verdicts->Find(function.name, function.module) : nullptr;
    if (tested != nullptr) {
      AppendVerdict(json, "self", tested->self);
      AppendVerdict(json, "total", tested->total);
    }
    json.EndObject();
  }
  json.EndArray();
  if (verdicts != nullptr) {
    json.Field("groups", verdicts->groups).Field("note", verdicts->note);
    json.Field("cause_basis", verdicts->basis);
    json.Field("requests_before", verdicts->requests_before);
    json.Field("requests_after", verdicts->requests_after);
    json.Key("causes").BeginArray();
    for (const ToldCause& cause : verdicts->causes) {
      json.BeginObject().Field("function", cause.function).Field("kind", cause.kind);
      json.Field("share_of_before", cause.share).Field("low", cause.low);
      json.Field("high", cause.high).EndObject();
    }
    json.EndArray();
  }
  json.EndObject();
  return out + "\n";
}

}  // namespace wherefore::cli
