#include "cli/verdicts.h"

#include <simdjson.h>

#include <fmt/format.h>

#include "cli/json.h"

namespace wherefore::cli {
namespace {

double Number(const JsonLookup& found) {
  double number = 0;
  return found.get(number) == simdjson::SUCCESS ? number : 0;
}

TestedValue ReadValue(const JsonLookup& value) {
  return {.low = Number(value["low"]),
          .high = Number(value["high"]),
          .verdict = JsonText(value["verdict"])};
}

}  // namespace

Result<Verdicts> AskVerdicts(const Context& context, const SelectionOptions& before,
                             const SelectionOptions& after, std::string_view mode) {
  auto parameters = after.Parameters();
  const bool another_time = before.from != after.from || before.to != after.to;
  for (const auto& [name, value] : before.Parameters()) {
    if (name == "query") parameters.emplace_back("base_query", value);
    // Without them the server takes the time of the other side.
    if (another_time && (name == "from" || name == "to"))
      parameters.emplace_back("base_" + name, value);
  }
  parameters.emplace_back("mode", mode);
  parameters.emplace_back("max_nodes", "1");
  WHEREFORE_ASSIGN_OR_RETURN(const std::string body,
                             Ask(context, "GET", "/api/v1/diff", parameters));
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  simdjson::dom::array changes;
  if (parser.parse(body).get(root) != simdjson::SUCCESS ||
      root["changes"].get(changes) != simdjson::SUCCESS) {
    return DamagedAnswer();
  }
  const JsonLookup statistics = root["statistics"];
  Verdicts verdicts{.note = JsonText(statistics["note"])};
  if (const std::string groups = JsonText(statistics["groups"]); groups != "none") {
    verdicts.groups = fmt::format("{} ({} and {})", groups, JsonInt(statistics["groups_before"]),
                                  JsonInt(statistics["groups_after"]));
  }
  for (const simdjson::dom::element change : changes) {
    verdicts.rows[{JsonText(change["name"]), JsonText(change["module"])}] = {
        .self = ReadValue(change["self"]), .total = ReadValue(change["total"])};
  }
  return verdicts;
}

}  // namespace wherefore::cli
