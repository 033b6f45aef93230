// `slow`: what slow requests of an endpoint do that typical ones do not.
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/account_bar.h"
#include "cli/command.h"
#include "cli/json.h"
#include "cli/source.h"

namespace wherefore::cli {
namespace {

struct SlowCommand {
  std::string what, service, name, slow, typical, since, from, to;
  std::vector<std::string> attributes;
};

using Parameters = std::vector<std::pair<std::string, std::string>>;

std::string Time(double ns) {
  const std::string text = FormatDuration(std::llround(std::abs(ns)));
  return ns < 0 ? "-" + text : text;
}

// "lock, in Inventory::Reserve", "db SELECT cart", "sleep".
std::string Subject(const JsonValue& row) {
  const std::string part = JsonText(row["part"]);
  std::string label = part;
  for (std::size_t p = 0; p < query::kParts; ++p) {
    if (query::PartName(static_cast<query::Part>(p)) == part)
      label = PartLabel(static_cast<query::Part>(p));
  }
  if (const std::string name = JsonText(row["name"]); !name.empty())
    return Printable(JsonText(row["service"]) + " " + name);
  if (const std::string function = JsonText(row["function"]); !function.empty())
    return Printable(label + ", in " + function);
  return label;
}

std::string RowText(const JsonValue& row) {
  const double change = JsonNumber(row["change"]);
  return fmt::format("  {:>10}  {} to {}, q {:.3f}  {}\n", (change >= 0 ? "+" : "") + Time(change),
                     Time(JsonNumber(row["low"])), Time(JsonNumber(row["high"])),
                     JsonNumber(row["q"]), Subject(row));
}

std::string Rows(const JsonValue& root, const char* key, const char* title) {
  simdjson::dom::array rows;
  if (root[key].get(rows) != simdjson::SUCCESS || rows.size() == 0) return "";
  std::string out = fmt::format("{}\n", title);
  for (const JsonValue& row : rows) {
    bool significant = false;
    if (row["significant"].get(significant) == simdjson::SUCCESS && significant)
      out += RowText(row);
  }
  return out;
}

std::string Attributes(const JsonValue& root) {
  simdjson::dom::array rows;
  if (root["attributes"].get(rows) != simdjson::SUCCESS) return "";
  std::string out;
  for (const JsonValue& row : rows) {
    out += fmt::format("  {:.0f} % of slow, {:.0f} % of typical: {}={}\n",
                       100 * JsonNumber(row["slow"]), 100 * JsonNumber(row["typical"]),
                       Printable(JsonText(row["name"])), Printable(JsonText(row["value"])));
  }
  return out.empty() ? out : "Attributes that go with it\n" + out;
}

std::string Traces(const JsonValue& root, const char* key, const char* title) {
  simdjson::dom::array ids;
  std::string out;
  if (root[key].get(ids) != simdjson::SUCCESS) return out;
  for (const JsonValue& id : ids) out += " " + JsonText(id);
  return out.empty() ? out : fmt::format("{}:{}\n", title, out);
}

std::string Text(const JsonValue& root) {
  std::string out = fmt::format(
      "{} {}: {} slow requests (from {}, on average {}) against {} typical ones ({} to {}, on "
      "average {}) of {}\n",
      Printable(JsonText(root["service"])), Printable(JsonText(root["name"])),
      JsonInt(root["slow"]), Time(JsonNumber(root["slow_from_ns"])),
      Time(JsonNumber(root["mean_slow_ns"])), JsonInt(root["typical"]),
      Time(JsonNumber(root["typical_from_ns"])), Time(JsonNumber(root["typical_to_ns"])),
      Time(JsonNumber(root["mean_typical_ns"])), JsonInt(root["requests"]));
  out += fmt::format("The gap of {} per request:\n", Time(JsonNumber(root["gap_ns"])));
  simdjson::dom::array causes;
  if (root["causes"].get(causes) == simdjson::SUCCESS) {
    for (const JsonValue& row : causes) out += RowText(row);
  }
  out += Rows(root, "parts", "Parts that surely differ");
  out += Rows(root, "children", "Children that surely differ");
  out += Attributes(root);
  out += Traces(root, "slow_traces", "slow, for example");
  return out + Traces(root, "typical_traces", "typical, for example");
}

int Run(const Context& context, const SlowCommand& command) {
  Parameters parameters = {{"service", command.service}, {"name", command.name}};
  const auto add = [&](const char* key, const std::string& value) {
    if (!value.empty()) parameters.emplace_back(key, value);
  };
  add("slow", command.slow);
  add("typical", command.typical);
  add("since", command.since);
  add("from", command.from);
  add("to", command.to);
  for (const std::string& attribute : command.attributes) add("attribute", attribute);
  const auto body = Ask(context, "GET", "/api/v1/slow", parameters);
  if (!body) return Fail(body.error());
  if (context.json) {
    fmt::print("{}\n", *body);
    return kFine;
  }
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (parser.parse(*body).get(root) != simdjson::SUCCESS) return Fail(DamagedAnswer());
  if (const std::string note = JsonText(root["note"]); !note.empty()) {
    fmt::print(stderr, "{}\n", Printable(note));
    return kFound;
  }
  fmt::print("{}", Text(root));
  return kFine;
}

}  // namespace

void AddSlow(CLI::App& app, Context& context) {
  CLI::App* command = NewCommand(
      app, "slow", "What slow requests do that typical ones do not",
      {"wherefore slow 'checkout POST /pay'", "wherefore slow 'checkout POST /pay' --since 24h",
       "wherefore slow 'checkout POST /pay' --slow p99 --typical p30-p70",
       "wherefore slow 'checkout POST /pay' --attribute region=eu --json"});
  auto options = std::make_shared<SlowCommand>();
  command->add_option("endpoint", options->what, "Service and name of its spans")->required();
  command->add_option("--slow", options->slow, "From which percentile on (default p95)");
  command->add_option("--typical", options->typical, "Between which (default p40-p60)");
  command->add_option("--attribute", options->attributes, "Only spans with name=value");
  command->add_option("--since", options->since, "How far back (default 1h)");
  command->add_option("--from", options->from, "Time range");
  command->add_option("--to", options->to, "Time range");
  command->callback([&context, options] {
    context.run = [&context, options]() -> int {
      const std::size_t blank = options->what.find(' ');
      if (blank == std::string::npos)
        return Fail(Error(Code::kInvalid, "expected a service and the name of its spans"));
      options->service = options->what.substr(0, blank);
      options->name = options->what.substr(blank + 1);
      return Run(context, *options);
    };
  });
}

}  // namespace wherefore::cli
