// `worse`: what got worse since the last version of each service, or against the hour before.
#include <unistd.h>

#include <chrono>
#include <memory>
#include <thread>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/json.h"
#include "cli/source.h"

namespace wherefore::cli {
namespace {

struct WorseCommand {
  std::string search;
  std::size_t limit = 20;
  int wait = 60;
  int max_age = 60;
  bool all = false;
};

using Clock = std::chrono::steady_clock;

double Number(const JsonLookup& found) {
  double number = 0;
  return found.get(number) == simdjson::SUCCESS ? number : 0;
}

// Asks until every service was looked at, or it took too long.
Result<std::string> AskUntilDone(const Context& context, const WorseCommand& command) {
  const auto end = Clock::now() + std::chrono::seconds(command.wait);
  std::vector<std::pair<std::string, std::string>> parameters = {
      {"limit", std::to_string(command.limit)}};
  if (!command.search.empty()) parameters.emplace_back("search", command.search);
  auto first = parameters;
  first.emplace_back("max_age", std::to_string(command.max_age));
  auto body = Ask(context, "GET", "/api/v1/worse", first);
  while (body) {
    simdjson::dom::parser parser;
    simdjson::dom::element root;
    bool looking = false;
    if (parser.parse(*body).get(root) != simdjson::SUCCESS ||
        root["looking"].get(looking) != simdjson::SUCCESS)
      return DamagedAnswer();
    if (isatty(STDERR_FILENO) != 0)
      fmt::print(stderr, "\rlooked at {} of {}{}", JsonInt(root["looked_at"]),
                 JsonInt(root["services"]), looking ? "" : "\r\033[K");
    if (!looking || Clock::now() >= end) return body;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    body = Ask(context, "GET", "/api/v1/worse", parameters);
  }
  return body;
}

void PrintWorse(const JsonValue& entry) {
  fmt::print("▲ {}  {}\n", Printable(JsonText(entry["service"])),
             Printable(JsonText(entry["sentence"])));
  const JsonLookup latency = entry["latency"];
  std::string facts =
      fmt::format("{:+.2f} cores ({:+.2f} to {:+.2f})", Number(entry["cost"]["cores"]),
                  Number(entry["cost"]["low"]), Number(entry["cost"]["high"]));
  if (latency.error() == simdjson::SUCCESS) {
    facts += fmt::format("   p50 {} → {}   p99 {} → {}",
                         FormatDuration(JsonInt(latency["p50_ns_before"])),
                         FormatDuration(JsonInt(latency["p50_ns_after"])),
                         FormatDuration(JsonInt(latency["p99_ns_before"])),
                         FormatDuration(JsonInt(latency["p99_ns_after"])));
  }
  fmt::print("  {}\n", facts);
  simdjson::dom::array endpoints;
  std::string in;
  if (entry["endpoints"].get(endpoints) == simdjson::SUCCESS) {
    for (const simdjson::dom::element endpoint : endpoints)
      in += (in.empty() ? "  in " : ", ") + Printable(JsonText(endpoint));
  }
  if (!in.empty()) fmt::print("{}\n", in);
  if (const std::string trace = JsonText(entry["causes"].at(0)["traces"].at(0)); !trace.empty())
    fmt::print("  wherefore explain {}\n", Printable(trace));
  fmt::print("  {}\n", Printable(JsonText(entry["command"])));
}

int Run(const Context& context, const WorseCommand& command) {
  const auto body = AskUntilDone(context, command);
  if (!body) return Fail(body.error());
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  simdjson::dom::array worse;
  simdjson::dom::array others;
  if (parser.parse(*body).get(root) != simdjson::SUCCESS ||
      root["worse"].get(worse) != simdjson::SUCCESS ||
      root["others"].get(others) != simdjson::SUCCESS)
    return Fail(DamagedAnswer());
  if (context.json) {
    fmt::print("{}\n", *body);
    return worse.size() > 0 ? kFound : kFine;
  }
  const std::int64_t services = JsonInt(root["services"]);
  if (services == 0) {
    fmt::print("no service sent profiles in the last 24 h\n");
    return kFine;
  }
  fmt::print("{} of {} services got worse (looked at {}, {} ago)\n", JsonInt(root["worse_in_all"]),
             services, JsonInt(root["looked_at"]),
             FormatDuration(JsonInt(root["age_ms"]) * 1'000'000));
  for (const simdjson::dom::element entry : worse) PrintWorse(entry);
  for (const simdjson::dom::element entry : others) {
    if (!command.all && worse.size() > 0) break;
    fmt::print("  {}  {}\n", Printable(JsonText(entry["service"])),
               Printable(JsonText(entry["sentence"])));
  }
  return worse.size() > 0 ? kFound : kFine;
}

}  // namespace

void AddWorse(CLI::App& app, Context& context) {
  CLI::App* command = NewCommand(
      app, "worse", "What got worse since the last version of each service, or in the last hour",
      {"wherefore worse", "wherefore worse --all", "wherefore worse --search check --json"});
  auto options = std::make_shared<WorseCommand>();
  command->add_option("--search", options->search, "Only services whose name contains this");
  command->add_option("-n,--limit", options->limit, "Services listed")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  command
      ->add_option("--wait", options->wait,
                   "Seconds to wait until every service was looked at, costliest first")
      ->check(CLI::Range(0, 3600))
      ->capture_default_str();
  command
      ->add_option("--max-age", options->max_age,
                   "Look again if the last look is older than this many seconds")
      ->check(CLI::Range(0, 86'400))
      ->capture_default_str();
  command->add_flag("--all", options->all, "Also those that did not get worse");
  command->callback([&context, options] {
    context.run = [&context, options] { return Run(context, *options); };
  });
}

}  // namespace wherefore::cli
