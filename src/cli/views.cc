// Commands that show a flame tree: top, tree, flame, diff. Each reads a server or files.
#include <functional>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/difference.h"
#include "cli/render.h"
#include "cli/source.h"
#include "query/diff.h"
#include "query/search.h"

namespace wherefore::cli {
namespace {

constexpr const char* kWhat = "Selector (service{label=value}) or profile files";
constexpr int kMaxRows = 1'000'000;

// --search of top, tree and flame.
struct SearchOption {
  std::string text;

  void AddTo(CLI::App& command, const std::string& help) {
    command.add_option("--search", text, help + " (regular expression, any case)");
  }
  [[nodiscard]] Result<query::Search> Parse() const {
    auto search = query::Search::Parse(text);
    if (!search) return std::move(search).error().Within("--search");
    return search;
  }
};

struct Searched {
  SourceTree source;
  query::Search search;
  query::Found found;

  // Null if there is no search.
  [[nodiscard]] const query::Found* matches() const { return search.empty() ? nullptr : &found; }
};

// The tree; notes if the lens removed everything.
Result<SourceTree> LoadWithLens(const Context& context, const SelectionOptions& options) {
  auto source = LoadTree(context, options);
  if (source && source->hint.empty() && !options.lens.empty() && source->tree.size() <= 1) {
    source->hint = fmt::format("the lens '{}' removes everything", options.lens);
  }
  return source;
}

// The tree and the matches in it. No match is reported like an empty answer.
Result<Searched> LoadSearched(const Context& context, const SelectionOptions& options,
                              const SearchOption& option) {
  Searched out;
  WHEREFORE_ASSIGN_OR_RETURN(out.search, option.Parse());
  WHEREFORE_ASSIGN_OR_RETURN(out.source, LoadWithLens(context, options));
  out.found = out.search.In(out.source.tree);
  if (!out.search.empty() && out.found.nodes == 0 && out.source.hint.empty()) {
    out.source.hint = fmt::format("no function or module matches '{}'", option.text);
  }
  return out;
}

// An empty answer, or a search without a match, is exit code 1 with the reason; partial answers
// show the reason too.
int Shown(const Searched& loaded, const std::string& text) {
  const SourceTree& source = loaded.source;
  if (!source.hint.empty()) fmt::print(stderr, "{}\n", source.hint);
  if (source.tree.size() <= 1 && source.tree.total[0] == 0) return kFound;
  fmt::print("{}", text);
  return loaded.search.empty() || loaded.found.nodes > 0 ? kFine : kFound;
}

// What top, tree and flame share: a selection or files, a search, and a function that renders them.
void AddRenderer(CLI::App& command, Context& context, const std::string& search_help,
                 const std::function<std::string(const Searched&)>& draw) {
  struct Drawing {
    SelectionOptions options;
    SearchOption search;
    std::function<std::string(const Searched&)> draw;
  };
  const auto drawing = std::make_shared<Drawing>();
  drawing->draw = draw;
  drawing->options.AddTo(command, kWhat);
  drawing->search.AddTo(command, search_help);
  command.callback([&context, drawing] {
    context.run = [&context, drawing]() -> int {
      const auto loaded = LoadSearched(context, drawing->options, drawing->search);
      return loaded ? Shown(*loaded, drawing->draw(*loaded)) : Fail(loaded.error());
    };
  });
}

std::string TopJson(const profile::FlameTree& tree, std::size_t limit, const query::Found* found) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Field("type", tree.type).Field("unit", tree.unit).Field("scale", tree.scale);
  json.Field("total", tree.total[0]);
  const bool counts = CountsKnown(tree);
  if (counts) json.Field("count", tree.total_count[0]);
  auto rows = RowsWithValue(tree);
  if (found != nullptr) {
    found->AppendTo(json);
    std::erase_if(rows,
                  [&](const profile::TopRow& r) { return found->functions[r.function] == 0; });
  }
  json.Key("rows").BeginArray();
  for (std::size_t i = 0; i < rows.size() && i < limit; ++i) {
    const profile::FlameFunction& f = tree.functions[rows[i].function];
    json.BeginObject().Field("name", f.name).Field("module", f.module).Field("self", rows[i].self);
    json.Field("total", rows[i].total);
    if (counts) json.Field("self_count", rows[i].self_count);
    json.EndObject();
  }
  json.EndArray().EndObject();
  return out + "\n";
}

std::string TreeJson(const profile::FlameTree& tree, const query::Found* found) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Field("type", tree.type).Field("unit", tree.unit).Field("scale", tree.scale);
  json.Field("total", tree.total[0]);
  if (found != nullptr) found->AppendTo(json);
  json.Key("nodes").BeginArray();
  for (std::size_t i = 0; i < tree.size(); ++i) {
    json.BeginObject().Field("depth", tree.depth[i]).Field("name", tree.Name(i));
    json.Field("self", tree.self[i]).Field("total", tree.total[i]).EndObject();
  }
  json.EndArray().EndObject();
  return out + "\n";
}

// Options of `diff`.
struct DiffOptions {
  SelectionOptions selection;
  std::string base_from, base_to;
  std::string baseline, comparison;  // the sides by name
  std::string mode;
  std::size_t limit = 30;
};

// Which changes are more than chance; none where that cannot be asked.
Result<std::optional<Verdicts>> VerdictsOf(const Context& context, const SelectionOptions& before,
                                           const SelectionOptions& after,
                                           const DiffMeasure& measure) {
  if (measure.mode == DiffMode::kRaw || before.IsFiles() || after.IsFiles()) return std::nullopt;
  return AskVerdicts(context, before, after, DiffModeName(measure.mode));
}

int RunDiff(const Context& context, const DiffOptions& options) {
  SelectionOptions before = options.selection;
  before.observed = true;
  SelectionOptions after = before;
  std::vector<std::string> what = options.selection.what;
  if (options.baseline.empty() != options.comparison.empty() ||
      (!options.baseline.empty() && !what.empty())) {
    return Fail(Error(Code::kInvalid,
                      "--baseline and --comparison go together, instead of "
                      "selectors without a name"));
  }
  if (!options.baseline.empty()) what = {options.baseline, options.comparison};
  if (what.size() == 2) {
    before.what = {what[0]};
    after.what = {what[1]};
  } else if (options.base_from.empty()) {
    return Fail(Error(Code::kInvalid, "diff needs two selectors or files, or one and --base-from"));
  }
  if (!options.base_from.empty()) {
    before.since.clear();
    before.from = options.base_from;
    before.to = options.base_to;
  }
  const auto left = LoadWithLens(context, before);
  if (!left) return Fail(left.error());
  if (after.type.empty()) after.type = left->tree.type;
  const auto right = LoadWithLens(context, after);
  if (!right) return Fail(right.error());
  for (const auto* side : {&*left, &*right}) {
    if (!side->hint.empty()) fmt::print(stderr, "{}\n", side->hint);
  }
  const DiffMeasure measure =
      ChooseMeasure(options.mode, {.two_selectors = what.size() == 2 && what[0] != what[1] &&
                                                    !before.IsFiles() && !after.IsFiles(),
                                   .averaged = left->averaged || right->averaged,
                                   .before_seconds = left->seconds,
                                   .after_seconds = right->seconds});
  const auto verdicts = VerdictsOf(context, before, after, measure);
  if (!verdicts) return Fail(verdicts.error());
  const Verdicts* const tested = *verdicts ? &**verdicts : nullptr;
  const query::DiffTree diff = query::Diff(left->tree, right->tree);
  fmt::print("{}", context.json ? DiffJson(diff, measure, tested)
                                : RenderDiff(diff, measure, tested, options.limit));
  return kFine;
}

// A share as people write it: 2% or 0.02.
CLI::Validator AsShare() {
  return {[](std::string& text) -> std::string {
            if (!text.ends_with('%')) return "";
            try {
              std::size_t end = 0;
              const double percent = std::stod(text, &end);
              if (end + 1 != text.size()) return "expected a share, as 2% or 0.02";
              text = fmt::format("{}", percent / 100);
            } catch (const std::exception&) {
              return "expected a share, as 2% or 0.02";
            }
            return "";
          },
          "SHARE"};
}

}  // namespace

void AddTop(CLI::App& app, Context& context) {
  CLI::App* command =
      NewCommand(app, "top", "Functions by self value, with totals and sampling error",
                 {"wherefore top checkout --since 6h",
                  "wherefore top 'checkout{version=v2}' --type alloc_space --limit 50",
                  "wherefore top checkout --search 'json::|malloc'",
                  "wherefore top profile.pb.gz --lens 'my-code'"});
  auto limit = std::make_shared<std::size_t>(30);
  AddRenderer(*command, context, "Only functions whose name or module matches",
              [&context, limit](const Searched& s) {
                const profile::FlameTree& tree = s.source.tree;
                return context.json ? TopJson(tree, *limit, s.matches())
                                    : RenderTop(tree, *limit, TerminalWidth(), s.matches());
              });
  command->add_option("-n,--limit", *limit, "Rows")
      ->check(CLI::Range(1, kMaxRows))
      ->capture_default_str();
}

void AddTree(CLI::App& app, Context& context) {
  CLI::App* command = NewCommand(
      app, "tree", "The call tree, indented, root first",
      {"wherefore tree checkout --min-share 2%", "wherefore tree profile.pb.gz --depth 8"});
  auto min_share = std::make_shared<double>(0.005);
  auto depth = std::make_shared<int>(0);
  AddRenderer(*command, context, "Mark functions whose name or module matches, however small",
              [&context, min_share, depth](const Searched& s) {
                const profile::FlameTree& tree = s.source.tree;
                return context.json
                           ? TreeJson(tree, s.matches())
                           : RenderIndented(tree, *min_share, *depth, TerminalWidth(), s.search);
              });
  command->add_option("--min-share", *min_share, "Smaller nodes are added up as 'other'")
      ->transform(AsShare())
      ->check(CLI::Range(0.0, 1.0))
      ->default_str("0.5%");
  command->add_option("--depth", *depth, "At most this deep (0: no limit)");
}

void AddFlame(CLI::App& app, Context& context) {
  CLI::App* command =
      NewCommand(app, "flame", "A flame graph in the terminal (root on top)",
                 {"wherefore flame checkout --since 1h", "wherefore flame stacks.folded --rows 0"});
  auto rows = std::make_shared<int>(40);
  AddRenderer(*command, context, "Mark functions whose name or module matches",
              [&context, rows](const Searched& s) {
                const profile::FlameTree& tree = s.source.tree;
                return context.json
                           ? TreeJson(tree, s.matches())
                           : RenderFlame(tree, TerminalWidth(), *rows <= 0 ? INT_MAX : *rows,
                                         context.color, s.matches());
              });
  command->add_option("--rows", *rows, "At most this many rows (0: all)")
      ->check(CLI::Range(0, kMaxRows))
      ->capture_default_str();
}

void AddDiff(CLI::App& app, Context& context) {
  CLI::App* command =
      NewCommand(app, "diff", "What changed between two selections or two files",
                 {"wherefore diff before.pb.gz after.pb.gz",
                  "wherefore diff 'checkout{version=v1}' 'checkout{version=v2}' --since 1d",
                  "wherefore diff checkout --from -1h --base-from -25h --base-to -24h",
                  "wherefore diff --baseline 'shop{commit=abc123}' --comparison "
                  "'shop{commit=def456}' --time-range 1h",
                  "wherefore diff before.pb.gz after.pb.gz --mode share"});
  auto options = std::make_shared<DiffOptions>();
  options->selection.AddTo(
      *command,
      "Before and after: two selectors or two files; one selector with --base-from/--base-to");
  command->add_option("--baseline", options->baseline, "Before: a selector or a file");
  command->add_option("--comparison", options->comparison, "After: a selector or a file");
  command->add_option("--base-from", options->base_from, "Start of 'before'");
  command->add_option("--base-to", options->base_to, "End of 'before'");
  command
      ->add_option(
          "--mode", options->mode,
          "raw (as stored), rate (per second of each side's observed time), share (of each side's "
          "total). Default: share for two selectors; rate if the sides differ in length; else raw")
      ->check(CLI::IsMember({"raw", "rate", "share"}));
  command->add_option("-n,--limit", options->limit, "Rows")
      ->check(CLI::Range(1, kMaxRows))
      ->capture_default_str();
  command->callback([&context, options] {
    context.run = [&context, options] { return RunDiff(context, *options); };
  });
}

}  // namespace wherefore::cli
