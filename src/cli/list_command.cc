// `list`: one function's source with self and total per line, as `pprof list` shows it.

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>

#include <fmt/format.h>
#include <re2/re2.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/json.h"
#include "cli/source.h"
#include "profile/batch_tree.h"
#include "profile/frame_name.h"
#include "query/selector.h"

namespace wherefore::cli {
namespace {

struct Line {
  std::int64_t self = 0;
  std::int64_t total = 0;
};
struct Listed {
  std::string name;
  std::string file;
  std::int64_t self = 0;
  std::int64_t total = 0;
  std::map<std::int64_t, Line> lines;
};

// The file itself, or below one of the --source folders: the longest suffix of its path that exists
// there.
std::string FindSource(const std::string& file, const std::vector<std::string>& roots) {
  std::error_code error;
  if (std::filesystem::is_regular_file(file, error)) return file;
  for (const std::string& root : roots) {
    std::filesystem::path tail = std::filesystem::path(file).relative_path();
    while (!tail.empty()) {
      if (std::filesystem::is_regular_file(root / tail, error)) return (root / tail).string();
      std::filesystem::path shorter;
      for (auto it = std::next(tail.begin()); it != tail.end(); ++it) shorter /= *it;
      tail = shorter;
    }
  }
  return {};
}

std::string RenderListed(const Listed& f, std::string_view unit, std::int64_t total,
                         const std::vector<std::string>& roots) {
  const auto value = [&](std::int64_t v) {
    return v == 0 ? std::string(".") : FormatValue(v, unit);
  };
  std::string out = fmt::format(
      "ROUTINE {} in {}\n{:>10} {:>10} (self, total) {:.1f} % of the selection\n", f.name,
      f.file.empty() ? "(no file)" : f.file, value(f.self), value(f.total),
      total == 0 ? 0.0 : 100.0 * static_cast<double>(f.total) / static_cast<double>(total));
  const std::string path = FindSource(f.file, roots);
  if (path.empty() || f.lines.empty()) {
    for (const auto& [line, v] : f.lines) {
      out += fmt::format(
          "{:>10} {:>10} {:>6}  {}\n", value(v.self), value(v.total), line,
          line == 0 ? "(line not known)" : "(source not found; --source DIR adds a place to look)");
    }
    return out + "\n";
  }
  const std::int64_t first = std::max<std::int64_t>(f.lines.begin()->first - 5, 1);
  const std::int64_t last = f.lines.rbegin()->first + 5;
  std::ifstream in(path);
  std::string text;
  for (std::int64_t n = 1; n <= last && std::getline(in, text); ++n) {
    if (n < first) continue;
    const auto it = f.lines.find(n);
    const Line v = it == f.lines.end() ? Line{} : it->second;
    out += fmt::format("{:>10} {:>10} {:>6}  {}\n", value(v.self), value(v.total), n, text);
  }
  return out + "\n";
}

Result<std::vector<Listed>> ParseAnswer(const std::string& body, std::string& unit,
                                        std::int64_t& total, std::string& hint) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  simdjson::dom::array functions;
  if (parser.parse(body).get(root) != simdjson::SUCCESS ||
      root["functions"].get(functions) != simdjson::SUCCESS) {
    return Error(Code::kCorrupt, "the server's answer is damaged");
  }
  unit = JsonText(root["unit"]);
  hint = JsonText(root["hint"]);
  total = JsonInt(root["total"]);
  std::vector<Listed> out;
  for (const simdjson::dom::element f : functions) {
    Listed listed{.name = JsonText(f["name"]),
                  .file = JsonText(f["file"]),
                  .self = JsonInt(f["self"]),
                  .total = JsonInt(f["total"])};
    simdjson::dom::array lines;
    if (f["lines"].get(lines) == simdjson::SUCCESS) {
      for (const simdjson::dom::element line : lines) {
        listed.lines[JsonInt(line.at(0))] = {JsonInt(line.at(1)), JsonInt(line.at(2))};
      }
    }
    out.push_back(std::move(listed));
  }
  return out;
}

// The same question answered from files, without a server.
Result<std::vector<Listed>> ListFiles(const SelectionOptions& options, const std::string& function,
                                      std::string& unit, std::int64_t& total) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto regex, query::CompileRegex(function));
  std::map<std::pair<std::string, std::string>, Listed> found;
  for (const std::string& file : options.what) {
    WHEREFORE_ASSIGN_OR_RETURN(const profile::Batch b, LoadBatch(file, options.service));
    const std::string type = options.type.empty() ? "cpu" : options.type;
    for (const profile::Profile& p : b.profiles) {
      const auto match = profile::MatchType(profile::TypeOf(b, p), type);
      if (!match) continue;
      unit = match->unit;
      for (std::size_t i = p.first_sample; i < p.first_sample + p.sample_count; ++i) {
        const std::int64_t value = b.samples.value[i] * match->multiplier;
        total += value;
        std::map<const Listed*, std::map<std::int64_t, bool>> seen;
        bool leaf = true;
        for (const profile::Id frame : b.StackFrames(b.samples.stack[i])) {
          for (const profile::Line& line : b.FrameLines(b.frames[frame])) {
            const profile::Function& fn = b.functions[line.function];
            const profile::FlameFunction named =
                profile::NameFrame({.name = b.Text(fn.name),
                                    .system_name = b.Text(fn.system_name),
                                    .file = b.Text(fn.filename)});
            if (re2::RE2::PartialMatch(named.name, *regex)) {
              Listed& l = found[{named.name, named.file}];
              l.name = named.name;
              l.file = named.file;
              auto& lines_seen = seen[&l];
              if (lines_seen.empty()) l.total += value;
              if (lines_seen.try_emplace(line.line, true).second) l.lines[line.line].total += value;
              if (leaf) l.self += value, l.lines[line.line].self += value;
            }
            leaf = false;
          }
          leaf = false;
        }
      }
    }
  }
  std::vector<Listed> out;
  for (auto& [key, listed] : found) out.push_back(std::move(listed));
  std::sort(out.begin(), out.end(),
            [](const Listed& a, const Listed& b) { return a.total > b.total; });
  return out;
}

}  // namespace

void AddList(CLI::App& app, Context& context) {
  CLI::App* command = NewCommand(app, "list", "Annotated source of functions whose name matches",
                                 {"wherefore list 'parse.*' checkout --since 1h",
                                  "wherefore list '^main$' profile.pb.gz --source ~/src/app"});
  auto options = std::make_shared<SelectionOptions>();
  auto function = std::make_shared<std::string>();
  auto roots = std::make_shared<std::vector<std::string>>();
  command->add_option("function", *function, "Regular expression over function names")->required();
  options->AddTo(*command, "Selector (service{label=value}) or profile files");
  command->add_option("--source", *roots, "Folder to look for source files in (repeatable)");
  command->callback([&context, options, function, roots] {
    context.run = [&context, options, function, roots]() -> int {
      std::string unit;
      std::string hint;
      std::int64_t total = 0;
      Result<std::vector<Listed>> listed = std::vector<Listed>{};
      if (options->IsFiles()) {
        listed = ListFiles(*options, *function, unit, total);
      } else {
        auto parameters = options->Parameters();
        parameters.emplace_back("function", *function);
        const auto body = Ask(context, "GET", "/api/v1/list", parameters);
        if (!body) return Fail(body.error());
        if (context.json) {
          fmt::print("{}\n", *body);
          return kFine;
        }
        listed = ParseAnswer(*body, unit, total, hint);
      }
      if (!listed) return Fail(listed.error());
      if (!hint.empty()) fmt::print(stderr, "{}\n", hint);
      for (const Listed& f : *listed) fmt::print("{}", RenderListed(f, unit, total, *roots));
      if (listed->empty() && hint.empty())
        fmt::print(stderr, "no function matches '{}'\n", *function);
      return listed->empty() ? kFound : kFine;
    };
  });
}

}  // namespace wherefore::cli
