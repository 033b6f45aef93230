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

// The columns of what is known of a row. A rate's interval is per instance, which is not what the
// table shows, so only shares have theirs.
std::string VerdictColumns(DiffMode mode, std::string_view interval, std::string_view self,
                           std::string_view total) {
  return (mode == DiffMode::kShare ? fmt::format(" {:>17}", interval) : std::string()) +
         fmt::format(" {:>5} {:>5}", self, total);
}

std::string VerdictHeader(DiffMode mode) {
  return VerdictColumns(mode, "95 % of self", "self", "total");
}

std::string VerdictCells(const Verdicts& verdicts, const profile::FlameFunction& function,
                         DiffMode mode) {
  const Verdicts::Row* const row = verdicts.Find(function.name, function.module);
  if (row == nullptr) return VerdictColumns(mode, "", "", "");
  return VerdictColumns(
      mode, fmt::format("{:+.1f} to {:+.1f}", 100 * row->self.low, 100 * row->self.high),
      VerdictText(row->self), VerdictText(row->total));
}

std::string VerdictNote(const Verdicts& verdicts) {
  std::string out;
  if (!verdicts.groups.empty()) {
    out = fmt::format("more, less: surely (compared by {}); ?: not sure; few: under 10 samples. ",
                      verdicts.groups);
  }
  return out + verdicts.note + "\n";
}

void AppendVerdict(JsonWriter& json, std::string_view key, const TestedValue& value) {
  json.Key(key).BeginObject().Field("low", value.low).Field("high", value.high);
  json.Field("verdict", value.verdict).EndObject();
}

}  // namespace

std::string_view DiffModeName(DiffMode mode) {
  return mode == DiffMode::kRaw ? "raw" : mode == DiffMode::kRate ? "rate" : "share";
}

DiffMeasure ChooseMeasure(std::string_view wanted, const DiffSides& sides) {
  const bool known = sides.before_seconds > 0 && sides.after_seconds > 0;
  if (wanted == "share") return {DiffMode::kShare, "", sides};
  if (wanted == "raw") return {DiffMode::kRaw, "", sides};
  if (wanted.empty() && sides.two_selectors) {
    return {DiffMode::kShare,
            "two selections seldom carry the same load for the same time (--mode raw, rate)",
            sides};
  }
  if (sides.averaged) return {DiffMode::kRaw, "snapshots have no rate", sides};
  if (!known) return {DiffMode::kRaw, "the observed time of the sides is not known", sides};
  if (wanted == "rate") return {DiffMode::kRate, "", sides};
  const double ratio = sides.after_seconds / sides.before_seconds;
  if (ratio > 1 - kSameLength && ratio < 1 + kSameLength)
    return {DiffMode::kRaw, "both sides have the same observed time", sides};
  return {DiffMode::kRate, "the sides differ in observed time (--mode raw, share)", sides};
}

std::string RenderDiff(const query::DiffTree& diff, const DiffMeasure& measure,
                       const Verdicts* verdicts, std::size_t limit) {
  const Shown shown(diff, measure);
  std::string out = Header(diff, measure, shown);
  const std::string_view per = measure.mode == DiffMode::kRate ? "/s" : "";
  out += fmt::format("{:>11} {:>10} {:>10} {:>11}{}  {}\n", "self change",
                     fmt::format("before{}", per), fmt::format("after{}", per), "total change",
                     verdicts != nullptr ? VerdictHeader(measure.mode) : "", "function");
  std::size_t listed = 0;
  for (const query::DiffRow& row : RowsBy(shown, diff)) {
    if (listed == limit) break;
    if (!shown.Seen(shown.SelfChange(row)) && !shown.Seen(shown.TotalChange(row))) continue;
    ++listed;
    const char* mark = row.total_before == 0 ? "  (new)" : row.total_after == 0 ? "  (gone)" : "";
    const profile::FlameFunction& function = diff.tree.functions[row.function];
    out += fmt::format(
        "{:>11} {:>10} {:>10} {:>12}{}  {}{}\n", shown.ChangeText(shown.SelfChange(row)),
        shown.Text(shown.Before(row.self_before)), shown.Text(shown.After(row.self_after)),
        shown.ChangeText(shown.TotalChange(row)),
        verdicts != nullptr ? VerdictCells(*verdicts, function, measure.mode) : "",
        Printable(function.name), mark);
  }
  if (verdicts != nullptr) out += VerdictNote(*verdicts);
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
  if (verdicts != nullptr) json.Field("groups", verdicts->groups).Field("note", verdicts->note);
  json.EndObject();
  return out + "\n";
}

}  // namespace wherefore::cli
