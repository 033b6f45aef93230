// `sql`: a SELECT over what is stored (docs/sql.md).
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/json.h"
#include "cli/source.h"

namespace wherefore::cli {
namespace {

struct SqlCommand {
  std::string statement, format = "table", since, from, to;
  std::int64_t limit = 10'000;
};

// Lists and maps as the server writes them, numbers and texts as they are.
std::string Cell(const JsonValue& value) {
  if (value.is_string()) return Printable(JsonText(value));
  if (value.is_null()) return "NULL";
  return Printable(simdjson::minify(value));
}

bool IsNumber(const std::string& type) {
  std::string_view inner = type;
  for (const std::string_view around : {"Nullable(", "LowCardinality("}) {
    if (inner.starts_with(around)) inner.remove_prefix(around.size());
  }
  return inner.starts_with("Int") || inner.starts_with("UInt") || inner.starts_with("Float") ||
         inner.starts_with("Decimal");
}

struct Column {
  std::string name;
  bool right = false;  // numbers stand under each other by their last digit
  std::size_t width = 0;
};

void PrintLine(const std::vector<Column>& columns, const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < columns.size() && i < cells.size(); ++i) {
    const std::string blanks(columns[i].width - std::min(columns[i].width, ScreenWidth(cells[i])),
                             ' ');
    line += columns[i].right ? blanks + cells[i] : cells[i] + blanks;
    if (i + 1 < columns.size()) line += "  ";
  }
  line.erase(line.find_last_not_of(' ') + 1);
  fmt::print("{}\n", line);
}

int PrintTable(const std::string& body, std::int64_t limit) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  simdjson::dom::array described;
  simdjson::dom::array rows;
  if (parser.parse(body).get(root) != simdjson::SUCCESS ||
      root["columns"].get(described) != simdjson::SUCCESS ||
      root["rows"].get(rows) != simdjson::SUCCESS)
    return Fail(DamagedAnswer());
  std::vector<Column> columns;
  std::vector<std::string> names;
  for (const JsonValue column : described) {
    names.push_back(Printable(JsonText(column["name"])));
    columns.push_back(
        {names.back(), IsNumber(JsonText(column["type"])), ScreenWidth(names.back())});
  }
  std::vector<std::vector<std::string>> lines;
  for (const JsonValue row : rows) {
    std::vector<std::string>& cells = lines.emplace_back();
    simdjson::dom::array values;
    if (row.get(values) != simdjson::SUCCESS) return Fail(DamagedAnswer());
    for (const JsonValue value : values) {
      cells.push_back(Cell(value));
      Column& column = columns[std::min(cells.size(), columns.size()) - 1];
      column.width = std::max(column.width, ScreenWidth(cells.back()));
    }
  }
  PrintLine(columns, names);
  for (const std::vector<std::string>& cells : lines) PrintLine(columns, cells);
  bool cut = false;
  if (root["cut"].get(cut) == simdjson::SUCCESS && cut)
    fmt::print(stderr, "there are more rows: --limit {} cut them off\n", limit);
  return kFine;
}

Result<std::string> StatementOf(const SqlCommand& command) {
  if (command.statement != kStandardInput) return command.statement;
  return std::string(std::istreambuf_iterator<char>(std::cin), {});
}

int Run(const Context& context, const SqlCommand& command) {
  if (command.format == "parquet" && isatty(STDOUT_FILENO) != 0)
    return Fail(Error(Code::kInvalid, "Parquet is not for terminals: send it to a file with >"));
  const auto statement = StatementOf(command);
  if (!statement) return Fail(statement.error());
  const bool table = command.format == "table" && !context.json;
  const std::string format = table || context.json ? "json" : command.format;
  std::vector<std::pair<std::string, std::string>> parameters = {
      {"format", format}, {"limit", fmt::format("{}", command.limit)}};
  const auto add = [&](const char* key, const std::string& value) {
    if (!value.empty()) parameters.emplace_back(key, value);
  };
  add("since", command.since);
  add("from", command.from);
  add("to", command.to);
  const auto body =
      Ask(context, "POST", "/api/v1/sql", parameters, *statement, "text/plain; charset=utf-8");
  if (!body) return Fail(body.error());
  if (table) return PrintTable(*body, command.limit);
  if (std::fwrite(body->data(), 1, body->size(), stdout) != body->size())
    return Fail(Error(Code::kIo, "the answer could not be written"));
  if (format == "json") fmt::print("\n");
  return kFine;
}

}  // namespace

void AddSql(CLI::App& app, Context& context) {
  CLI::App* command = NewCommand(
      app, "sql", "Ask what is stored in SQL (views and columns: docs/sql.md)",
      {"wherefore sql \"SELECT service, sum(value) / 1e9 AS seconds FROM samples WHERE type = "
       "'cpu' GROUP BY service ORDER BY seconds DESC\" --since 1h",
       "wherefore sql 'SELECT * FROM spans' --since 15m --format parquet > spans.parquet",
       "wherefore sql - < question.sql"});
  auto options = std::make_shared<SqlCommand>();
  command
      ->add_option("statement", options->statement,
                   "One SELECT over samples, stacks, functions, spans, links, profiles, "
                   "alert_events and regression_events; - reads standard input")
      ->required();
  command->add_option("--format", options->format, "How the answer is printed")
      ->check(CLI::IsMember({"table", "csv", "json", "parquet"}))
      ->capture_default_str();
  command
      ->add_option("--since", options->since,
                   "What the views hold: only this far back (default: everything)")
      ->excludes(command->add_option("--from", options->from, "Time range"));
  command->add_option("--to", options->to, "Time range");
  command->add_option("-n,--limit", options->limit, "Most rows of the answer")
      ->check(CLI::Range(1, kMaxRows))
      ->capture_default_str();
  command->callback([&context, options] {
    context.run = [&context, options] { return Run(context, *options); };
  });
}

}  // namespace wherefore::cli
