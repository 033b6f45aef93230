// `regressions`: what surely got dearer with a new version, and what people say to it.
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/json.h"
#include "cli/source.h"
#include "net/url.h"

namespace wherefore::cli {
namespace {

constexpr const char* kPath = "/api/v1/regressions";

struct RegressionsCommand {
  std::string service, since = "7d", state;
  int limit = 100;
  int wait = 0;
  bool all = false;
};

struct SaidCommand {
  std::string id, why, by, until;
};

std::string Shown(const JsonLookup& value) {
  return Printable(JsonText(value));
}

std::vector<JsonValue> Items(const JsonLookup& list) {
  simdjson::dom::array items;
  std::vector<JsonValue> out;
  if (list.get(items) == simdjson::SUCCESS) out.assign(items.begin(), items.end());
  return out;
}

std::string Listed(const JsonLookup& list, const char* field) {
  std::string out;
  for (const JsonValue& item : Items(list)) {
    if (!out.empty()) out += ", ";
    out += field == nullptr ? Printable(JsonText(item)) : Shown(item[field]);
  }
  return out;
}

void Line(const char* label, const std::string& text) {
  if (!text.empty()) fmt::print("  {:<9} {}\n", label, text);
}

void PrintRecord(const JsonValue& record) {
  const std::string state = Shown(record["state"]);
  fmt::print("{} {}  {}\n", state == "open" ? "▲" : " ", Shown(record["service"]),
             Shown(record["sentence"]));
  const JsonLookup cores = record["cores"];
  Line("cost", fmt::format("{:+.2f} cores ({:+.2f} to {:+.2f})", JsonNumber(cores["change"]),
                           JsonNumber(cores["low"]), JsonNumber(cores["high"])));
  Line("called by", Listed(record["callers"], "name"));
  Line("in", Listed(record["endpoints"], nullptr));
  std::string said =
      fmt::format("{}, since {}", state, FormatTime(JsonInt(record["changed_ms"]) * 1'000'000));
  if (const std::int64_t until = JsonInt(record["until_ms"]); until != 0)
    said += ", until " + FormatTime(until * 1'000'000);
  if (const std::string by = Shown(record["by"]); !by.empty()) said += " by " + by;
  if (const std::string why = Shown(record["why"]); !why.empty()) said += ": " + why;
  if (state != "open") Line("is", said);
  Line("id", fmt::format("{}, seen by {} {}, first {}", Shown(record["id"]),
                         JsonInt(record["looks"]), JsonInt(record["looks"]) == 1 ? "look" : "looks",
                         FormatTime(JsonInt(record["first_seen_ms"]) * 1'000'000)));
  for (const char* side : {"before", "after"}) {
    const auto traces = Items(record["traces"][side]);
    if (!traces.empty()) Line(side, "wherefore explain " + Printable(JsonText(traces.front())));
  }
  Line("see", Shown(record["command"]));
}

using Parameters = std::vector<std::pair<std::string, std::string>>;

// Asks; with --wait until nothing is due any more.
Result<std::string> AskUntilDone(const Context& context, const RegressionsCommand& command,
                                 const Parameters& parameters) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::seconds(command.wait);
  Parameters first = parameters;
  if (command.wait > 0) first.emplace_back("max_age", "0");
  auto body = Ask(context, "GET", kPath, first);
  while (body && Clock::now() < end) {
    simdjson::dom::parser parser;
    simdjson::dom::element root;
    bool looking = false;
    if (parser.parse(*body).get(root) != simdjson::SUCCESS ||
        root["looking"].get(looking) != simdjson::SUCCESS)
      return DamagedAnswer();
    if (!looking) return body;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    body = Ask(context, "GET", kPath, parameters);
  }
  return body;
}

int List(const Context& context, const RegressionsCommand& command) {
  Parameters parameters = {{"limit", std::to_string(command.limit)}, {"since", command.since}};
  if (!command.service.empty()) parameters.emplace_back("service", command.service);
  if (!command.state.empty()) parameters.emplace_back("state", command.state);
  const auto body = AskUntilDone(context, command, parameters);
  if (!body) return Fail(body.error());
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (parser.parse(*body).get(root) != simdjson::SUCCESS) return Fail(DamagedAnswer());
  std::size_t open = 0;
  std::size_t others = 0;
  for (const JsonValue& record : Items(root["regressions"])) {
    const bool is_open = JsonText(record["state"]) == "open";
    ++(is_open ? open : others);
    if (!context.json && (is_open || command.all || !command.state.empty())) PrintRecord(record);
  }
  if (context.json) {
    fmt::print("{}\n", *body);
    return open > 0 ? kFound : kFine;
  }
  for (const JsonValue& version : Items(root["versions"])) {
    if (const std::string note = Shown(version["note"]); command.all && !note.empty())
      fmt::print("  {} {}: {}\n", Shown(version["service"]), Shown(version["after"]), note);
  }
  if (!command.service.empty() && open + others == 0 && Items(root["versions"]).size() == 0)
    fmt::print(stderr, "nothing is known of new versions of {}\n", Printable(command.service));
  fmt::print(stderr, "{} open, {} acknowledged, muted or gone{}; {} new versions looked at\n", open,
             others, others > 0 && !command.all && command.state.empty() ? " (--all)" : "",
             Items(root["versions"]).size());
  return open > 0 ? kFound : kFine;
}

int Say(const Context& context, const char* action, const SaidCommand& said) {
  std::string body;
  JsonWriter json(body);
  json.BeginObject();
  const char* const user = std::getenv("USER");  // NOLINT(concurrency-mt-unsafe): one thread
  json.Field("by", !said.by.empty() ? said.by : std::string(user != nullptr ? user : ""));
  if (!said.why.empty()) json.Field("why", said.why);
  if (!said.until.empty()) json.Field("until", said.until);
  json.EndObject();
  const auto answer =
      Ask(context, "POST", fmt::format("{}/{}/{}", kPath, net::PercentEncode(said.id), action), {},
          body, "application/json");
  if (!answer) return Fail(answer.error());
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (parser.parse(*answer).get(root) != simdjson::SUCCESS) return Fail(DamagedAnswer());
  if (context.json) {
    fmt::print("{}\n", *answer);
  } else {
    PrintRecord(root);
  }
  return kFine;
}

void AddSaying(CLI::App& command, Context& context, const char* action, const char* help) {
  CLI::App* sub = command.add_subcommand(action, help);
  auto said = std::make_shared<SaidCommand>();
  sub->add_option("id", said->id, "Of the regression")->required();
  const bool mutes = std::string_view(action) == "mute";
  sub->add_option("--why", said->why, "For those who come after")->required(mutes);
  sub->add_option("--by", said->by, "Who says so (default: $USER)");
  if (mutes) sub->add_option("--until", said->until, "A time, or how long: 7d; default: for good");
  sub->callback([&context, said, action] {
    context.run = [&context, said, action] { return Say(context, action, *said); };
  });
}

}  // namespace

void AddRegressions(CLI::App& app, Context& context) {
  CLI::App* command = NewCommand(
      app, "regressions", "What surely got dearer with a new version; 1 if any of it is open",
      {"wherefore regressions", "wherefore regressions checkout --since 30d --all",
       "wherefore regressions acknowledge 0123456789abcdef --why 'known, #123'",
       "wherefore regressions mute 0123456789abcdef --why 'goes with #123' --until 14d",
       "wherefore regressions reopen 0123456789abcdef"});
  auto options = std::make_shared<RegressionsCommand>();
  command->add_option("service", options->service, "Only of this service");
  command->add_option("--since", options->since, "Only those first seen since then")
      ->capture_default_str();
  command->add_option("--state", options->state,
                      "Only in these states: open,acknowledged,muted,gone");
  command->add_option("--limit", options->limit, "At most so many")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  command
      ->add_option("--wait", options->wait,
                   "Look at what is due now, and wait for it so many seconds")
      ->check(CLI::Range(0, 3600))
      ->capture_default_str();
  command->add_flag("--all", options->all, "Also those that are not open, and what looks say");
  AddSaying(*command, context, "acknowledge", "Somebody knows of it");
  AddSaying(*command, context, "mute", "Nobody wants to hear of it, for a while");
  AddSaying(*command, context, "reopen", "Somebody should look at it again");
  command->callback([&context, command, options] {
    if (!command->get_subcommands().empty()) return;
    context.run = [&context, options] { return List(context, *options); };
  });
}

}  // namespace wherefore::cli
