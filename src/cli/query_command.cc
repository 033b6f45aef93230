// `query`: what is stored, values over time, label values, and exports in every format.

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/json.h"
#include "cli/source.h"

namespace wherefore::cli {
namespace {

struct QueryOptions {
  SelectionOptions selection;
  std::vector<std::string> by;
  std::string step;
  std::string format;
  std::string output;
  std::string label;
  std::string search;
  std::string limit;
};

// Eight heights, so that a line of text shows the shape of a timeline. "_" is a measured 0, a blank
// means that nothing was stored.
std::string Sparkline(const std::vector<std::int64_t>& values, const std::vector<bool>& stored,
                      std::size_t width) {
  static constexpr std::array<std::string_view, 8> kBars = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::size_t per = std::max<std::size_t>((values.size() + width - 1) / width, 1);
  struct Sum {
    std::int64_t value = 0;
    bool stored = false;
  };
  std::vector<Sum> sums((values.size() + per - 1) / per);
  std::int64_t top = 1;
  for (std::size_t i = 0; i < values.size(); ++i) {
    Sum& sum = sums[i / per];
    sum.value += values[i];
    sum.stored = sum.stored || stored[i];
    top = std::max(top, sum.value);
  }
  std::string out;
  for (const Sum& sum : sums) {
    const double share = static_cast<double>(sum.value) / static_cast<double>(top);
    out += !sum.stored ? " "
           : sum.value <= 0
               ? "_"
               : kBars[std::min<std::size_t>(static_cast<std::size_t>(share * 7.999), 7)];
  }
  return out;
}

// Per step, whether anything was stored. Older servers do not say; then a value of 0 counts as
// nothing stored.
std::vector<bool> StoredSteps(JsonValue group, const std::vector<std::int64_t>& values) {
  std::vector<bool> stored(values.size(), true);
  simdjson::dom::array gaps;
  if (group["gaps"].get(gaps) != simdjson::SUCCESS) {
    for (std::size_t i = 0; i < values.size(); ++i) stored[i] = values[i] != 0;
    return stored;
  }
  for (const JsonValue gap : gaps) {
    const auto first = static_cast<std::size_t>(JsonInt(gap.at(0)));
    const auto count = static_cast<std::size_t>(JsonInt(gap.at(1)));
    for (std::size_t i = first; i < std::min(first + count, stored.size()); ++i) stored[i] = false;
  }
  return stored;
}

// The average of averages, each weighted by the observed time of its step.
std::int64_t AverageOf(const std::vector<std::int64_t>& values, const JsonLookup& observed_ms) {
  double sum = 0;
  double time = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto ms = static_cast<double>(JsonInt(observed_ms.at(i)));
    sum += static_cast<double>(values[i]) * ms;
    time += ms;
  }
  return time == 0 ? 0 : std::llround(sum / time);
}

std::size_t PrintServices(JsonValue root) {
  simdjson::dom::array services;
  if (root["services"].get(services) != simdjson::SUCCESS) return 0;
  for (const JsonValue s : services) {
    std::vector<std::string> types;
    simdjson::dom::array list;
    if (s["types"].get(list) == simdjson::SUCCESS) {
      for (const JsonValue t : list) types.push_back(JsonText(t["name"]));
    }
    fmt::print("{:<30} {:>10} profiles  {}  newest {}\n", Printable(JsonText(s["name"])),
               FormatCount(JsonInt(s["profiles"])), fmt::join(types, ", "), JsonText(s["last"]));
  }
  return services.size();
}

// Notes on stderr that a list is incomplete.
void PrintHowManyMore(JsonValue root, std::size_t listed) {
  const auto total = static_cast<std::size_t>(JsonInt(root["total"]));
  if (total <= listed) return;
  fmt::print(stderr, "{} more: --search TEXT lists those with it in their name, --limit N more\n",
             FormatCount(static_cast<std::int64_t>(total - listed)));
}

int PrintSeries(JsonValue root) {
  const std::string unit = JsonText(root["unit"]);
  const std::int64_t scale = std::max<std::int64_t>(JsonInt(root["scale"]), 1);
  if (const std::string hint = JsonText(root["hint"]); !hint.empty()) {
    fmt::print(stderr, "{}\n", hint);
    return kFound;
  }
  bool averaged = false;
  [[maybe_unused]] const auto missing = root["averaged"].get(averaged);
  simdjson::dom::array groups;
  if (root["groups"].get(groups) != simdjson::SUCCESS) return kFailed;
  fmt::print("{} per {}\n", JsonText(root["type"]),
             FormatDuration(JsonInt(root["step_ms"]) * 1'000'000));
  for (const JsonValue group : groups) {
    std::vector<std::int64_t> values;
    std::int64_t total = 0;
    for (const JsonValue v : group["values"]) {
      values.push_back(JsonInt(v));
      total += values.back();
    }
    const std::vector<bool> stored = StoredSteps(group, values);
    // Snapshots are averages; their sum over time is meaningless.
    if (averaged) total = AverageOf(values, root["observed_ms"]);
    std::string name;
    simdjson::dom::object labels;
    if (group["labels"].get(labels) == simdjson::SUCCESS) {
      for (const auto& [key, value] : labels)
        name += fmt::format("{}{}={}", name.empty() ? "" : " ", Printable(key),
                            Printable(JsonText(value)));
    }
    fmt::print(
        "{:<30} {:>12}  {}\n", name, FormatValue(total / scale, unit),
        Sparkline(values, stored, static_cast<std::size_t>(std::max(TerminalWidth() - 48, 20))));
  }
  return kFine;
}

int WriteExport(const Context& context, const QueryOptions& options) {
  auto parameters = options.selection.Parameters();
  parameters.emplace_back("format", options.format);
  if (!options.selection.lens.empty()) parameters.emplace_back("lens", options.selection.lens);
  const auto body = Ask(context, "GET", "/api/v1/export", parameters);
  if (!body)
    return body.error().code() == Code::kNotFound ? (Fail(body.error()), kFound)
                                                  : Fail(body.error());
  if (options.output.empty() || options.output == "-") {
    std::cout.write(body->data(), static_cast<std::streamsize>(body->size()));
    return std::cout.good() ? kFine : kFailed;
  }
  std::ofstream out(options.output, std::ios::binary);
  out.write(body->data(), static_cast<std::streamsize>(body->size()));
  out.close();
  if (!out) return Fail(Error(Code::kIo, options.output + ": cannot be written"));
  fmt::print(stderr, "{}: {}\n", options.output,
             FormatBytes(static_cast<std::int64_t>(body->size())));
  return kFine;
}

int RunQuery(const Context& context, const QueryOptions& options) {
  if (const Result<> valid = options.selection.Validate(1); !valid) return Fail(valid.error());
  if (!options.format.empty()) return WriteExport(context, options);
  auto parameters = options.selection.Parameters();
  std::string path = "/api/v1/services";
  const bool series = !options.selection.SelectorText().empty() || !options.by.empty();
  if (!options.label.empty()) {
    std::erase_if(parameters, [](const auto& p) { return p.first == "type"; });
    path = options.label == "?" ? "/api/v1/labels" : "/api/v1/labels/" + options.label + "/values";
  } else if (series) {
    path = "/api/v1/series";
    for (const std::string& label : options.by) parameters.emplace_back("by", label);
    if (!options.step.empty()) parameters.emplace_back("step", options.step);
  } else {
    std::erase_if(parameters,
                  [](const auto& p) { return p.first == "type" || p.first == "query"; });
  }
  const bool lists = !options.label.empty() || !series;
  if (!lists && (!options.search.empty() || !options.limit.empty()))
    return Fail(
        Error(Code::kInvalid, "--search and --limit apply only to lists of services and labels"));
  if (!options.search.empty()) parameters.emplace_back("search", options.search);
  if (!options.limit.empty()) parameters.emplace_back("limit", options.limit);
  const auto body = Ask(context, "GET", path, parameters);
  if (!body) return Fail(body.error());
  if (context.json) {
    fmt::print("{}\n", *body);
    return kFine;
  }
  simdjson::dom::parser parser;
  JsonValue root;
  if (parser.parse(*body).get(root) != simdjson::SUCCESS) return Fail(DamagedAnswer());
  if (!lists) return PrintSeries(root);
  std::size_t listed = 0;
  if (options.label.empty()) {
    listed = PrintServices(root);
    if (listed == 0)
      fmt::print("no {}profiles in this range\n", options.search.empty() ? "" : "such ");
  } else {
    for (const JsonValue v : root[options.label == "?" ? "labels" : "values"]) {
      fmt::print("{}\n", Printable(JsonText(v)));
      ++listed;
    }
  }
  PrintHowManyMore(root, listed);
  return kFine;
}

}  // namespace

void AddQuery(CLI::App& app, Context& context) {
  CLI::App* command =
      NewCommand(app, "query", "Services, values over time, labels; exports in every format",
                 {"wherefore query --since 1d                      # which services there are",
                  "wherefore query checkout --by version --since 6h # CPU over time, per version",
                  "wherefore query checkout --label '?'             # label names",
                  "wherefore query checkout --label version         # the values of one",
                  "wherefore query checkout --format pprof -o cpu.pb.gz",
                  "wherefore query checkout --format svg -o flame.svg"});
  auto options = std::make_shared<QueryOptions>();
  options->selection.AddTo(*command, "Selector (service{label=value}); none lists services");
  command->add_option("--by", options->by, "Group by this label (repeatable)");
  command->add_option("--step", options->step, "Width of a step: 10s, 1m");
  command->add_option("--label", options->label, "Values of this label; '?' for the names");
  command->add_option("--search", options->search,
                      "List only services, labels or values with this in their name, in any case");
  command->add_option("-n,--limit", options->limit, "List at most this many (default 1000)");
  command
      ->add_option("--format", options->format,
                   "Export: pprof, otlp, otlp-json, folded, speedscope, svg, csv")
      ->check(CLI::IsMember({"pprof", "otlp", "otlp-json", "folded", "speedscope", "svg", "csv"}));
  command->add_option("-o,--output", options->output, "File to write (default: standard output)");
  command->callback([&context, options] {
    context.run = [&context, options] { return RunQuery(context, *options); };
  });
}

}  // namespace wherefore::cli
