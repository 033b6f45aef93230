// Commands that show a flame tree: top, tree, flame. Each reads a server or files.
#include <functional>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/render.h"
#include "cli/source.h"
#include "query/search.h"

namespace wherefore::cli {
namespace {

constexpr const char* kWhat = "Selector (service{label=value}) or profile files";

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

}  // namespace wherefore::cli
