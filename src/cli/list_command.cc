// `list`: the source of a function with self and total per line, like `pprof list`.

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <re2/re2.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/json.h"
#include "cli/source.h"
#include "profile/batch_tree.h"
#include "profile/line_table.h"
#include "query/selector.h"

namespace wherefore::cli {
namespace {

using profile::ListedFunction;
using profile::ListedLine;

// The file itself, or the longest suffix of its path that exists below one of the --source folders.
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

std::string RenderListed(const ListedFunction& f, std::string_view unit, std::int64_t scale,
                         std::int64_t total, const std::vector<std::string>& roots) {
  const auto value = [&](std::int64_t v) {
    return v == 0 ? std::string(".") : FormatValue(v / scale, unit);
  };
  const double share =
      total == 0 ? 0.0 : 100.0 * static_cast<double>(f.total) / static_cast<double>(total);
  std::string out =
      fmt::format("ROUTINE {} in {}\n{:>10} {:>10} (self, total) {:.1f} % of the selection\n",
                  Printable(f.name), f.file.empty() ? "(no file)" : Printable(f.file),
                  value(f.self), value(f.total), share);
  const auto row = [&](const ListedLine& line, std::string_view text) {
    out += fmt::format("{:>10} {:>10} {:>6}  {}\n", value(line.self), value(line.total), line.line,
                       text);
  };
  const std::string path = FindSource(f.file, roots);
  if (path.empty()) {
    for (const ListedLine& line : f.lines) {
      row(line, line.line == 0 ? "(line not known)"
                               : "(source not found; --source DIR adds a place to look)");
    }
    return out + "\n";
  }
  std::map<std::int64_t, ListedLine> by_number;
  for (const ListedLine& line : f.lines) by_number[line.line] = line;
  if (const auto unknown = by_number.find(0); unknown != by_number.end()) {
    row(unknown->second, "(line not known)");
    by_number.erase(unknown);
  }
  if (by_number.empty()) return out + "\n";
  const std::int64_t first = std::max<std::int64_t>(by_number.begin()->first - 5, 1);
  const std::int64_t last = by_number.rbegin()->first + 5;
  std::ifstream in(path);
  std::string text;
  for (std::int64_t n = 1; n <= last && std::getline(in, text); ++n) {
    const auto it = by_number.find(n);
    if (n >= first) row(it == by_number.end() ? ListedLine{.line = n} : it->second, text);
  }
  return out + "\n";
}

struct Listing {
  std::string unit;
  std::string hint;
  std::int64_t scale = 1;
  std::int64_t total = 0;
  std::vector<ListedFunction> functions;
};

Result<Listing> ParseAnswer(const std::string& body) {
  simdjson::dom::parser parser;
  JsonValue root;
  simdjson::dom::array functions;
  if (parser.parse(body).get(root) != simdjson::SUCCESS ||
      root["functions"].get(functions) != simdjson::SUCCESS) {
    return DamagedAnswer();
  }
  Listing out{.unit = JsonText(root["unit"]),
              .hint = JsonText(root["hint"]),
              .scale = std::max<std::int64_t>(JsonInt(root["scale"]), 1),
              .total = JsonInt(root["total"])};
  for (const JsonValue f : functions) {
    ListedFunction listed{.name = JsonText(f["name"]),
                          .file = JsonText(f["file"]),
                          .self = JsonInt(f["self"]),
                          .total = JsonInt(f["total"])};
    simdjson::dom::array lines;
    if (f["lines"].get(lines) == simdjson::SUCCESS) {
      for (const JsonValue line : lines) {
        listed.lines.push_back({JsonInt(line.at(0)), JsonInt(line.at(1)), JsonInt(line.at(2))});
      }
    }
    out.functions.push_back(std::move(listed));
  }
  return out;
}

// The same from files, without a server.
Result<Listing> ListFiles(const SelectionOptions& options, const std::string& function) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto regex, query::CompileRegex(function));
  Listing out;
  profile::LineTable table(
      [&](const profile::FlameFunction& f) { return re2::RE2::PartialMatch(f.name, *regex); });
  std::set<std::string> ids;
  for (const std::string& file : options.what) {
    WHEREFORE_ASSIGN_OR_RETURN(const profile::Batch b, LoadBatch(file, options.service));
    const std::string type = options.type.empty() ? DefaultFileType(b) : options.type;
    WHEREFORE_RETURN_IF_ERROR(RequireOneType(b, type, ids));
    std::vector<std::size_t> functions;
    functions.reserve(b.functions.size());
    for (const profile::Function& f : b.functions) {
      functions.push_back(table.Function({.name = b.Text(f.name),
                                          .system_name = b.Text(f.system_name),
                                          .file = b.Text(f.filename),
                                          .start_line = f.start_line}));
    }
    for (const profile::Profile& p : b.profiles) {
      const auto match = profile::MatchType(profile::TypeOf(b, p), type);
      if (!match) continue;
      out.unit = match->unit;
      for (std::size_t i = p.first_sample; i < p.first_sample + p.sample_count; ++i) {
        const std::int64_t value = SaturatingMultiply(b.samples.value[i], match->multiplier);
        out.total += value;
        table.BeginStack(value);
        for (const profile::Id frame : b.StackFrames(b.samples.stack[i])) {
          const auto lines = b.FrameLines(b.frames[frame]);
          for (const profile::Line& line : lines) table.Add(functions[line.function], line.line);
          if (lines.empty()) table.Add(profile::LineTable::kNotWanted, 0);
        }
      }
    }
  }
  out.functions = table.Take();
  std::erase_if(out.functions, [](const ListedFunction& f) { return f.lines.empty(); });
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
      if (const Result<> valid = options->Validate(1); !valid) return Fail(valid.error());
      Result<Listing> listing = Listing{};
      if (options->IsFiles()) {
        listing = ListFiles(*options, *function);
      } else {
        auto parameters = options->Parameters();
        parameters.emplace_back("function", *function);
        const auto body = Ask(context, "GET", "/api/v1/list", parameters);
        if (!body) return Fail(body.error());
        if (context.json) {
          fmt::print("{}\n", *body);
          return kFine;
        }
        listing = ParseAnswer(*body);
      }
      if (!listing) return Fail(listing.error());
      for (const ListedFunction& f : listing->functions) {
        fmt::print("{}", RenderListed(f, listing->unit, listing->scale, listing->total, *roots));
      }
      if (!listing->functions.empty()) return kFine;
      fmt::print(stderr, "{}\n",
                 listing->hint.empty() ? fmt::format("no function matches '{}'", *function)
                                       : listing->hint);
      return kFound;
    };
  });
}

}  // namespace wherefore::cli
