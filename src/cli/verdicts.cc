#include "cli/verdicts.h"

#include <simdjson.h>

#include <fmt/format.h>

#include "cli/json.h"

namespace wherefore::cli {
namespace {

TestedValue ReadValue(const JsonLookup& value) {
  return {.before = JsonNumber(value["before"]),
          .after = JsonNumber(value["after"]),
          .change = JsonNumber(value["change"]),
          .low = JsonNumber(value["low"]),
          .high = JsonNumber(value["high"]),
          .verdict = JsonText(value["verdict"])};
}

ToldCause ReadCause(const simdjson::dom::element& cause) {
  ToldCause told{.function = JsonText(cause["function"]),
                 .kind = JsonText(cause["kind"]),
                 .caller = JsonText(cause["callers"].at(0)["name"]),
                 .partner = JsonText(cause["partner"]["name"]),
                 .share = JsonNumber(cause["share_of_before"])};
  const double change = JsonNumber(cause["change"]);
  const double scale = change != 0 ? told.share / change : 0;
  told.low = JsonNumber(cause["low"]) * scale;
  told.high = JsonNumber(cause["high"]) * scale;
  return told;
}

TestedValue ValueOf(const query::Comparison& c, query::Verdict verdict) {
  return {.before = c.before,
          .after = c.after,
          .change = c.change,
          .low = c.low,
          .high = c.high,
          .verdict = std::string(query::VerdictName(verdict))};
}

ToldCause CauseOf(const query::Cause& cause) {
  const double scale = cause.change != 0 ? cause.share_of_before / cause.change : 0;
  return {.function = cause.function.name,
          .kind = std::string(query::CauseKindName(cause.kind)),
          .caller = cause.callers.empty() ? std::string() : cause.callers.front().name,
          .partner = cause.partners.empty() ? std::string() : cause.partners.front().name,
          .share = cause.share_of_before,
          .low = cause.low * scale,
          .high = cause.high * scale};
}

// What is known of the whole, and how small a change would have been seen.
void ReadWhole(const JsonLookup& whole, const simdjson::dom::array& changes, Verdicts& verdicts) {
  const double before = JsonNumber(whole["before"]);
  if (before <= 0) return;
  verdicts.whole_low = JsonNumber(whole["low"]) / before;
  for (const simdjson::dom::element change : changes) {
    const JsonLookup total = change["total"];
    if (const std::string verdict = JsonText(total["verdict"]);
        verdict.empty() || verdict == "unknown")
      continue;
    const double seen = JsonNumber(total["detectable"]) / before;
    if (!verdicts.detectable || seen < *verdicts.detectable) verdicts.detectable = seen;
  }
}

}  // namespace

Verdicts VerdictsOf(const query::TestedDifference& tested) {
  Verdicts out{.note = tested.note,
               .basis = std::string(query::CauseBasisName(tested.cause_basis)),
               .requests_before = tested.requests_before,
               .requests_after = tested.requests_after};
  if (tested.grouping != query::Grouping::kNone) {
    out.groups = fmt::format("{} ({} and {})", query::GroupingName(tested.grouping),
                             tested.groups_before, tested.groups_after);
  }
  out.whole = ValueOf(tested.whole, query::Verdict::kUnknown);
  const double before = tested.whole.before;
  if (before > 0) out.whole_low = tested.whole.low / before;
  for (const query::Cause& cause : tested.causes) out.causes.push_back(CauseOf(cause));
  for (const query::TestedFunction& f : tested.functions) {
    out.rows[{f.function.name, f.function.module}] = {
        .self = ValueOf(f.self.comparison, f.self.verdict),
        .total = ValueOf(f.total.comparison, f.total.verdict)};
    if (before <= 0 || f.total.verdict == query::Verdict::kUnknown) continue;
    const double seen = f.total.comparison.detectable / before;
    if (!out.detectable || seen < *out.detectable) out.detectable = seen;
  }
  return out;
}

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
  Verdicts verdicts{.note = JsonText(statistics["note"]),
                    .basis = JsonText(statistics["cause_basis"]),
                    .requests_before = JsonInt(statistics["requests_before"]),
                    .requests_after = JsonInt(statistics["requests_after"]),
                    .whole = ReadValue(statistics["whole"])};
  if (const std::string groups = JsonText(statistics["groups"]); groups != "none") {
    verdicts.groups = fmt::format("{} ({} and {})", groups, JsonInt(statistics["groups_before"]),
                                  JsonInt(statistics["groups_after"]));
  }
  ReadWhole(statistics["whole"], changes, verdicts);
  simdjson::dom::array causes;
  if (root["causes"].get(causes) == simdjson::SUCCESS) {
    for (const simdjson::dom::element cause : causes) verdicts.causes.push_back(ReadCause(cause));
  }
  for (const simdjson::dom::element change : changes) {
    verdicts.rows[{JsonText(change["name"]), JsonText(change["module"])}] = {
        .self = ReadValue(change["self"]), .total = ReadValue(change["total"])};
  }
  return verdicts;
}

}  // namespace wherefore::cli
