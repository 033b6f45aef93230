// diff: what changed between two selections, or between files, and which of it is more than chance.
#include <glob.h>

#include <memory>
#include <optional>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/difference.h"
#include "cli/render.h"
#include "cli/source.h"
#include "formats/formats.h"
#include "query/diff.h"

namespace wherefore::cli {
namespace {

// Options of `diff`.
struct DiffOptions {
  SelectionOptions selection;
  std::string base_from, base_to;
  std::string baseline, comparison;  // the sides by name
  std::string mode;
  std::size_t limit = 30;
  std::string format = "text";
  double fail_on = 0;  // 0: nothing fails
};

// Every file of a side by itself: a group of its own.
Result<std::vector<SourceTree>> LoadEach(const Context& context, const SelectionOptions& side) {
  std::vector<SourceTree> trees;
  for (const std::string& file : side.what) {
    SelectionOptions one = side;
    one.what = {file};
    WHEREFORE_ASSIGN_OR_RETURN(SourceTree tree, LoadTree(context, one));
    trees.push_back(std::move(tree));
  }
  return trees;
}

query::Compared ComparedBy(DiffMode mode) {
  if (mode == DiffMode::kShare) return query::Compared::kShares;
  return mode == DiffMode::kRequest ? query::Compared::kPerRequest : query::Compared::kPerSecond;
}

Result<std::optional<Verdicts>> TestFiles(const Context& context, const SelectionOptions& before,
                                          const SelectionOptions& after, DiffMode mode) {
  if (mode == DiffMode::kRequest && (!before.IsFiles() || !after.IsFiles()))
    return Error(Code::kInvalid, "--mode request needs two selections, or files on both sides");
  // Files here and a selection there are of different making.
  if (mode == DiffMode::kRaw || !before.IsFiles() || !after.IsFiles()) return std::nullopt;
  WHEREFORE_ASSIGN_OR_RETURN(const auto left, LoadEach(context, before));
  WHEREFORE_ASSIGN_OR_RETURN(const auto right, LoadEach(context, after));
  const auto groups = [](const std::vector<SourceTree>& trees) {
    std::vector<query::TreeGroup> out;
    for (const SourceTree& tree : trees) out.push_back({&tree.tree, tree.seconds});
    return out;
  };
  WHEREFORE_ASSIGN_OR_RETURN(const auto tested,
                             query::TestTrees(groups(left), groups(right), ComparedBy(mode), {}));
  return VerdictsOf(tested);
}

// Which changes are more than chance; none where that cannot be asked.
Result<std::optional<Verdicts>> Judge(const Context& context, const SelectionOptions& before,
                                      const SelectionOptions& after, const DiffMeasure& measure) {
  if (before.IsFiles() || after.IsFiles()) return TestFiles(context, before, after, measure.mode);
  if (measure.mode == DiffMode::kRaw) return std::nullopt;
  return AskVerdicts(context, before, after, DiffModeName(measure.mode));
}

// The files a pattern means, in order; what is no pattern, or means none, stays as it is.
std::vector<std::string> FilesLike(const std::string& text) {
  glob_t found{};
  std::vector<std::string> files;
  if (text.find_first_of("*?[") != std::string::npos && text.find('{') == std::string::npos &&
      glob(text.c_str(), 0, nullptr, &found) == 0) {
    files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  globfree(&found);
  return files.empty() ? std::vector{text} : files;
}

// Both sides as the options name them.
struct Sides {
  SelectionOptions before;
  SelectionOptions after;
  bool two_selectors = false;
};
Result<Sides> SidesOf(const DiffOptions& options) {
  std::vector<std::string> what = options.selection.what;
  if (options.baseline.empty() != options.comparison.empty() ||
      (!options.baseline.empty() && !what.empty())) {
    return Error(Code::kInvalid,
                 "--baseline and --comparison go together, instead of selectors without a name");
  }
  if (!options.baseline.empty()) what = {options.baseline, options.comparison};
  Sides sides{options.selection, options.selection};
  sides.before.observed = sides.after.observed = true;
  if (what.size() == 2) {
    sides.before.what = FilesLike(what[0]);
    sides.after.what = FilesLike(what[1]);
    sides.two_selectors = what[0] != what[1] && !sides.before.IsFiles() && !sides.after.IsFiles();
  } else if (options.base_from.empty()) {
    return Error(Code::kInvalid, "diff needs two selectors or files, or one and --base-from");
  }
  if (!options.base_from.empty()) {
    sides.before.since.clear();
    sides.before.from = options.base_from;
    sides.before.to = options.base_to;
  }
  return sides;
}

// Both trees in one picture, by the values after; what surely changed has a colour.
std::string DiffSvg(const query::DiffTree& diff, const Verdicts* verdicts) {
  formats::SvgOptions options{.title = fmt::format("{}: {} before, {} after", diff.tree.type,
                                                   TreeValue(diff.tree, diff.before[0]),
                                                   TreeValue(diff.tree, diff.tree.total[0])),
                              .subtitle = verdicts != nullptr && !verdicts->causes.empty()
                                              ? CauseSentence(verdicts->causes.front())
                                              : "no function surely explains a difference"};
  for (const profile::FlameFunction& f : diff.tree.functions) {
    const Verdicts::Row* const row =
        verdicts != nullptr ? verdicts->Find(f.name, f.module) : nullptr;
    const std::string verdict = row != nullptr ? row->total.verdict : "";
    options.marks.push_back(verdict == "more" || verdict == "less" ? verdict : "unchanged");
  }
  return formats::EncodeSvg(diff.tree, options);
}

std::string Drawn(const DiffOptions& options, bool json, const query::DiffTree& diff,
                  const DiffMeasure& measure, const Verdicts* tested) {
  if (json || options.format == "json") return DiffJson(diff, measure, tested);
  if (options.format == "markdown") return DiffMarkdown(diff, measure, tested, options.limit);
  if (options.format == "svg") return DiffSvg(diff, tested);
  return RenderDiff(diff, measure, tested, options.limit);
}

int RunDiff(const Context& context, const DiffOptions& options) {
  auto sides = SidesOf(options);
  if (!sides) return Fail(sides.error());
  SelectionOptions& before = sides->before;
  SelectionOptions& after = sides->after;
  const auto left = LoadWithLens(context, before);
  if (!left) return Fail(left.error());
  if (after.type.empty()) after.type = left->tree.type;
  if (before.type.empty()) before.type = left->tree.type;
  const auto right = LoadWithLens(context, after);
  if (!right) return Fail(right.error());
  for (const auto* side : {&*left, &*right}) {
    if (!side->hint.empty()) fmt::print(stderr, "{}\n", side->hint);
  }
  const DiffMeasure measure =
      ChooseMeasure(options.mode, {.two_selectors = sides->two_selectors,
                                   .repeated_runs = before.what.size() + after.what.size() > 2,
                                   .averaged = left->averaged || right->averaged,
                                   .before_seconds = left->seconds,
                                   .after_seconds = right->seconds});
  const auto verdicts = Judge(context, before, after, measure);
  if (!verdicts) return Fail(verdicts.error());
  const Verdicts* const tested = *verdicts ? &**verdicts : nullptr;
  const query::DiffTree diff = query::Diff(left->tree, right->tree);
  fmt::print("{}", Drawn(options, context.json, diff, measure, tested));
  if (options.fail_on <= 0) return kFine;
  if (tested == nullptr) {
    return Fail(Error(Code::kInvalid,
                      "--fail-on needs two selections, or files on both sides, with --mode share, "
                      "rate or request"));
  }
  const FailOn judged = JudgeDifference(*tested, options.fail_on);
  if (!judged.reason.empty()) fmt::print(stderr, "{}\n", judged.reason);
  return judged.failed ? kFound : kFine;
}

}  // namespace

void AddDiff(CLI::App& app, Context& context) {
  CLI::App* command =
      NewCommand(app, "diff", "What changed between two selections or two files",
                 {"wherefore diff before.pb.gz after.pb.gz",
                  "wherefore diff 'checkout{version=v1}' 'checkout{version=v2}' --since 1d",
                  "wherefore diff checkout --from -1h --base-from -25h --base-to -24h",
                  "wherefore diff --baseline 'shop{commit=abc123}' --comparison "
                  "'shop{commit=def456}' --time-range 1h",
                  "wherefore diff before.pb.gz after.pb.gz --mode share",
                  "wherefore diff --baseline 'before/*.pb.gz' --comparison 'after/*.pb.gz' "
                  "--mode request --fail-on 5%   # several runs a side"});
  auto options = std::make_shared<DiffOptions>();
  options->selection.AddTo(
      *command,
      "Before and after: two selectors or two files; one selector with --base-from/--base-to");
  command->add_option("--baseline", options->baseline,
                      "Before: a selector, a file, or a pattern of files (one for each run)");
  command->add_option("--comparison", options->comparison, "After: the same");
  command->add_option("--base-from", options->base_from, "Start of 'before'");
  command->add_option("--base-to", options->base_to, "End of 'before'");
  command
      ->add_option(
          "--mode", options->mode,
          "raw (as stored), rate (per second of each side's observed time), share (of each side's "
          "total), request (per request, by endpoint where samples are linked; of files per run, "
          "each being one). Default: share for two selectors and for several files a side; rate if "
          "the sides differ in length; else raw")
      ->check(CLI::IsMember({"raw", "rate", "share", "request"}));
  command
      ->add_option(
          "--fail-on", options->fail_on,
          "Exit with 1 when a function, or everything together, surely costs this share of "
          "the cost before more: 5%")
      ->transform(AsShare())
      ->check(CLI::Range(0.0, 100.0));
  command->add_option("--format", options->format, "text, json, markdown or svg")
      ->check(CLI::IsMember({"text", "json", "markdown", "svg"}))
      ->capture_default_str();
  command->add_option("-n,--limit", options->limit, "Rows")
      ->check(CLI::Range(1, kMaxRows))
      ->capture_default_str();
  command->callback([&context, options] {
    context.run = [&context, options] { return RunDiff(context, *options); };
  });
}

}  // namespace wherefore::cli
