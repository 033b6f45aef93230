// `insights`: known patterns and what they cost.
#include <cmath>
#include <fstream>
#include <iterator>
#include <memory>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/json.h"
#include "cli/source.h"
#include "insight/rules.h"

namespace wherefore::cli {
namespace {

struct InsightsCommand {
  std::string query, service, rule, since, from, to, limit;
};

std::string Function(const JsonValue& f) {
  std::string text = JsonText(f["name"]);
  const std::string file = JsonText(f["file"]);
  const std::int64_t line = JsonInt(f["line"]);
  if (!file.empty())
    text += " (" + file.substr(file.rfind('/') + 1) + (line > 0 ? fmt::format(":{})", line) : ")");
  return Printable(text);
}

std::string Cost(const JsonValue& finding) {
  std::string out =
      fmt::format("{:.1f} % of {} ({:.1f} to {:.1f})", 100 * JsonNumber(finding["share"]),
                  Printable(JsonText(finding["type"])), 100 * JsonNumber(finding["low"]),
                  100 * JsonNumber(finding["high"]));
  if (const double saved = JsonNumber(finding["cores_saved"]); saved > 0)
    out += fmt::format(", would save {:.2g} cores or more", saved);
  return out;
}

std::string Joined(const JsonLookup& list, bool functions) {
  simdjson::dom::array items;
  std::string out;
  if (list.get(items) != simdjson::SUCCESS) return out;
  for (const JsonValue& item : items) {
    if (!out.empty()) out += ", ";
    out += functions ? Function(item) : Printable(JsonText(item));
  }
  return out;
}

std::string Text(const JsonValue& finding) {
  std::string out = fmt::format("{}  {}  [{}]\n", Printable(JsonText(finding["service"])),
                                Printable(JsonText(finding["title"])), JsonText(finding["rule"]));
  const auto line = [&](const char* label, const std::string& text) {
    if (!text.empty()) out += fmt::format("  {:<10} {}\n", label, text);
  };
  line("cost", Cost(finding));
  if (JsonValue function; finding["function"].get(function) == simdjson::SUCCESS)
    line("in", Function(function));
  line("called by", Joined(finding["callers"], true));
  line("spans", Joined(finding["endpoints"], false));
  line("since", Printable(JsonText(finding["since"])));
  line("fix", Printable(JsonText(finding["fix"])));
  return out;
}

int Print(const JsonValue& root) {
  simdjson::dom::array findings;
  if (root["findings"].get(findings) != simdjson::SUCCESS) return Fail(DamagedAnswer());
  bool first = true;
  for (const JsonValue& finding : findings) {
    fmt::print("{}{}", first ? "" : "\n", Text(finding));
    first = false;
  }
  const std::int64_t services = JsonInt(root["services"]);
  const std::int64_t looked_at = JsonInt(root["looked_at"]);
  if (const std::string hint = JsonText(root["hint"]); !hint.empty()) {
    fmt::print(stderr, "{}\n", Printable(hint));
    return kFine;
  }
  fmt::print(stderr, "{}{} of {} services looked at, {} rules{}\n", first ? "nothing found: " : "",
             looked_at, services, JsonInt(root["rules"]),
             looked_at < services ? "; name one to look at it: wherefore insights SERVICE" : "");
  return first ? kFine : kFound;
}

int Ask(const Context& context, const InsightsCommand& command) {
  std::vector<std::pair<std::string, std::string>> parameters;
  const auto add = [&](const char* key, const std::string& value) {
    if (!value.empty()) parameters.emplace_back(key, value);
  };
  add("query", command.query.empty() ? command.service : command.query);
  add("rule", command.rule);
  add("since", command.since);
  add("from", command.from);
  add("to", command.to);
  add("limit", command.limit);
  const auto body = Ask(context, "GET", "/api/v1/insights", parameters);
  if (!body) return Fail(body.error());
  if (context.json) {
    fmt::print("{}\n", *body);
    return kFine;
  }
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (parser.parse(*body).get(root) != simdjson::SUCCESS) return Fail(DamagedAnswer());
  return Print(root);
}

// Every mistake of every file, with its place.
int Check(const std::vector<std::string>& files) {
  settings::Problems problems;
  std::size_t rules = 0;
  for (const std::string& path : files) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return Fail(Error(Code::kNotFound, path + " cannot be read"));
    rules +=
        insight::ReadRules(std::string(std::istreambuf_iterator<char>(file), {}), path, problems)
            .size();
  }
  for (const settings::Problem& problem : problems.list())
    fmt::print("{}: {}: {}\n", problem.place.Text(), problem.warning ? "warning" : "error",
               problem.what);
  if (problems.failed()) return kFound;
  fmt::print("{} rules, no mistakes\n", rules);
  return kFine;
}

}  // namespace

void AddInsights(CLI::App& app, Context& context) {
  CLI::App* command = NewCommand(
      app, "insights", "Known patterns that cost more than they must, and what to do about them",
      {"wherefore insights", "wherefore insights checkout --since 24h",
       "wherefore insights 'checkout{region=eu}' --rule go-regexp --json",
       "wherefore insights check rules/mine.yaml"});
  auto options = std::make_shared<InsightsCommand>();
  command->add_option("selector", options->query,
                      "Service, or a selector; all services without it");
  command->add_option("--service", options->service, "Service");
  command->add_option("--rule", options->rule, "Only this rule");
  command->add_option("--since", options->since, "How far back (default 1h)");
  command->add_option("--from", options->from, "Time range");
  command->add_option("--to", options->to, "Time range");
  command->add_option("--limit", options->limit, "Most findings (default 100)");
  auto files = std::make_shared<std::vector<std::string>>();
  CLI::App* check = command->add_subcommand("check", "Are these rules well written?");
  check->add_option("files", *files, "YAML files of rules")->required();
  command->callback([&context, options, files, check] {
    context.run = [&context, options, files, parsed = check->parsed()]() -> int {
      return parsed ? Check(*files) : Ask(context, *options);
    };
  });
}

}  // namespace wherefore::cli
