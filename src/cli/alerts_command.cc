// `alerts`: what fires, what would have fired, and whom nobody is told about.
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/json.h"
#include "cli/source.h"
#include "insight/alerts/read_rules.h"
#include "insight/alerts/silence.h"
#include "net/url.h"

namespace wherefore::cli {
namespace {

constexpr const char* kYaml = "application/yaml";

// The objects of an array; empty where it is none.
std::vector<JsonValue> Items(const JsonLookup& list) {
  simdjson::dom::array items;
  std::vector<JsonValue> out;
  if (list.get(items) == simdjson::SUCCESS) out.assign(items.begin(), items.end());
  return out;
}

bool IsTrue(const JsonLookup& value) {
  bool flag = false;
  return value.get(flag) == simdjson::SUCCESS && flag;
}

std::string Shown(const JsonLookup& value) {
  return Printable(JsonText(value));
}

// "2026-11-15T06:04:00.123Z" -> "2026-11-15 06:04:00".
std::string Moment(const JsonLookup& value) {
  std::string text = Shown(value).substr(0, 19);
  if (text.size() > 10) text[10] = ' ';
  return text;
}

// Since when, for people: "12 m ago".
std::string Ago(const JsonLookup& value) {
  const auto at = ParseTime(JsonText(value), NowUnixNs());
  return at ? FormatDuration(std::max<std::int64_t>(NowUnixNs() - *at, 0)) : "?";
}

int PrintList(const JsonValue& root, bool with_rules) {
  std::size_t firing = 0;
  std::size_t silenced = 0;
  std::size_t pending = 0;
  for (const JsonValue& alert : Items(root["alerts"])) {
    const bool fires = JsonText(alert["state"]) == "firing";
    const bool quiet = !Items(alert["silencedBy"]).empty();
    firing += fires && !quiet ? 1 : 0;
    silenced += fires && quiet ? 1 : 0;
    pending += fires ? 0 : 1;
    fmt::print("{:<8} {}  {}  {}, {}{}\n", fires ? "firing" : "pending", Shown(alert["alert"]),
               Shown(alert["service"]), Shown(alert["text"]), Shown(alert["when"]),
               quiet ? "  (silenced)" : "");
    fmt::print("         since {} ({})", Moment(alert[fires ? "startsAt" : "activeAt"]),
               Ago(alert[fires ? "startsAt" : "activeAt"]));
    if (const std::string summary = Shown(alert["annotations"]["summary"]); !summary.empty())
      fmt::print("  {}", summary);
    fmt::print("\n");
  }
  const auto rules = Items(root["rules"]);
  if (with_rules) {
    for (const JsonValue& rule : rules) {
      fmt::print("rule     {}  [{}, {}]  {}  {}  {} services, {} pending, {} firing\n",
                 Shown(rule["alert"]), Shown(rule["group"]), Shown(rule["from"]),
                 Shown(rule["select"]), Shown(rule["when"]), JsonInt(rule["services"]),
                 JsonInt(rule["pending"]), JsonInt(rule["firing"]));
    }
  }
  for (const JsonValue& rule : rules) {
    if (const std::string problem = Shown(rule["problem"]); !problem.empty())
      fmt::print(stderr, "not judged: {} [{}]: {}\n", Shown(rule["alert"]), Shown(rule["group"]),
                 problem);
  }
  for (const JsonValue& receiver : Items(root["receivers"])) {
    if (const std::string problem = Shown(receiver["problem"]); !problem.empty())
      fmt::print(stderr, "not told: {}: {} ({} waiting)\n", Shown(receiver["receiver"]), problem,
                 JsonInt(receiver["waiting"]));
  }
  for (const JsonValue& problem : Items(root["problems"]))
    fmt::print(stderr, "problem: {}\n", Printable(JsonText(problem)));
  fmt::print(stderr, "{} firing, {} silenced, {} pending; {} rules{}\n", firing, silenced, pending,
             rules.size(), rules.empty() ? ": give the server a file, --alerts FILE" : "");
  return firing > 0 ? kFound : kFine;
}

int PrintDryRun(const JsonValue& root) {
  std::size_t fired = 0;
  for (const JsonValue& time : Items(root["times"])) {
    const bool fires = JsonText(time["state"]) == "firing";
    if (!fires) continue;
    ++fired;
    const std::string to = Moment(time["to"]);
    const auto length = static_cast<std::int64_t>(JsonNumber(time["seconds"]) * 1e9);
    fmt::print("{}  {}  {}  {}  for {}{}\n", Moment(time["from"]),
               to.empty() ? "still firing       " : to, Shown(time["alert"]),
               Shown(time["service"]), FormatDuration(length), to.empty() ? " so far" : "");
    fmt::print("    began with {}, at most {}\n", Shown(time["first"]["text"]),
               Shown(time["most"]["text"]));
  }
  for (const JsonValue& rule : Items(root["rules"])) {
    const std::int64_t moments = JsonInt(rule["moments"]);
    const std::int64_t unknown = JsonInt(rule["unknown"]);
    const std::string note = Shown(rule["note"]);
    fmt::print(stderr, "{}: judged every {}, {} services{}\n", Shown(rule["alert"]),
               FormatDuration(static_cast<std::int64_t>(JsonNumber(rule["step_s"]) * 1e9)),
               JsonInt(rule["services"]),
               unknown > 0 ? fmt::format("; nothing known at {} of {} moments{}", unknown, moments,
                                         note.empty() ? "" : ": " + note)
                           : "");
  }
  fmt::print(stderr, "would have fired {} {}\n", fired, fired == 1 ? "time" : "times");
  return fired > 0 ? kFound : kFine;
}

int PrintHistory(const JsonValue& root) {
  for (const JsonValue& event : Items(root["events"])) {
    const std::string receiver = Shown(event["receiver"]);
    fmt::print("{}  {:<9} {}  {}  {}\n", Moment(event["time"]), Shown(event["state"]),
               Shown(event["alert"]), Shown(event["service"]),
               receiver.empty() ? Shown(event["text"]) : "told " + receiver);
  }
  return kFine;
}

int PrintSilences(const JsonValue& root) {
  for (const JsonValue& silence : Items(root["silences"])) {
    std::string matchers;
    for (const JsonValue& m : Items(silence["matchers"])) {
      const bool regex = IsTrue(m["isRegex"]);
      const bool equal = IsTrue(m["isEqual"]);
      matchers +=
          fmt::format("{}{}{}{}", matchers.empty() ? "" : " ", Shown(m["name"]),
                      regex ? (equal ? "=~" : "!~") : (equal ? "=" : "!="), Shown(m["value"]));
    }
    fmt::print("{}  {:<7}  {} to {}  {}  {}\n", Shown(silence["id"]),
               Shown(silence["status"]["state"]), Moment(silence["startsAt"]),
               Moment(silence["endsAt"]), matchers, Shown(silence["comment"]));
  }
  return kFine;
}

using Query = std::vector<std::pair<std::string, std::string>>;

// Asks, and prints the answer as JSON or as `print` does, whose exit code it is.
int AskAndPrint(const Context& context, const char* method, const std::string& path,
                const Query& query, std::string_view body, int (*print)(const JsonValue&)) {
  const auto answer = Ask(context, method, path, query, body, body.empty() ? "" : kYaml);
  if (!answer) return Fail(answer.error());
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (parser.parse(*answer).get(root) != simdjson::SUCCESS) return Fail(DamagedAnswer());
  if (!context.json) return print(root);
  fmt::print("{}\n", *answer);
  // The same exit code, and nothing but JSON.
  if (print == PrintDryRun) {
    for (const JsonValue& time : Items(root["times"])) {
      if (JsonText(time["state"]) == "firing") return kFound;
    }
  }
  for (const JsonValue& alert : Items(root["alerts"])) {
    if (JsonText(alert["state"]) == "firing" && Items(alert["silencedBy"]).empty()) return kFound;
  }
  return kFine;
}

// Every mistake, with its place. False: there is one.
bool CheckText(const std::string& text, const std::string& file, std::size_t& rules) {
  settings::Problems problems;
  const insight::AlertConfig config = insight::ReadAlerts(text, file, problems);
  for (const settings::Problem& problem : problems.list())
    fmt::print(stderr, "{}: {}: {}\n", problem.place.Text(), problem.warning ? "warning" : "error",
               problem.what);
  for (const insight::AlertGroup& group : config.groups) rules += group.rules.size();
  return !problems.failed();
}

int Check(const std::vector<std::string>& files) {
  std::size_t rules = 0;
  bool good = true;
  for (const std::string& file : files) {
    const auto text = ReadFile(file);
    if (!text) return Fail(text.error());
    good = CheckText(*text, file, rules) && good;
  }
  if (!good) return kFound;
  fmt::print("{} rules, no mistakes\n", rules);
  return kFine;
}

struct TestOptions {
  std::string file, since = "7d", from, to, step;
};

int Test(const Context& context, const TestOptions& o) {
  const auto text = ReadFile(o.file);
  if (!text) return Fail(text.error());
  std::size_t rules = 0;
  if (!CheckText(*text, o.file, rules)) return kUsage;
  Query query{{"file", o.file}};
  if (o.from.empty()) query.emplace_back("since", o.since);
  for (const auto& [name, value] : {std::pair("from", &o.from), {"to", &o.to}, {"step", &o.step}}) {
    if (!value->empty()) query.emplace_back(name, *value);
  }
  return AskAndPrint(context, "POST", "/api/v1/alerts/test", query, *text, PrintDryRun);
}

struct SilenceOptions {
  std::vector<std::string> matchers;
  std::string duration = "2h", comment, by;
};

int Silence(const Context& context, const SilenceOptions& o) {
  insight::Silence silence;
  for (const std::string& text : o.matchers) {
    auto matcher = insight::ReadMatcher(text);
    if (!matcher) return Fail(matcher.error());
    silence.matchers.push_back(*std::move(matcher));
  }
  const auto duration = ParseDuration(o.duration);
  if (!duration) return Fail(duration.error());
  const char* const user = std::getenv("USER");  // NOLINT(concurrency-mt-unsafe): one thread
  std::string body;
  JsonWriter json(body);
  json.BeginObject().Key("matchers").BeginArray();
  for (const insight::SilenceMatcher& m : silence.matchers) {
    json.BeginObject().Field("name", m.name).Field("value", m.value);
    json.Field("isRegex", m.is_regex).Field("isEqual", m.is_equal).EndObject();
  }
  json.EndArray().Field("endsAt", FormatTime(NowUnixNs() + *duration));
  json.Field("createdBy", o.by.empty() ? std::string(user == nullptr ? "" : user) : o.by);
  json.Field("comment", o.comment).EndObject();
  return AskAndPrint(context, "POST", "/api/v1/silences", {}, body, [](const JsonValue& root) {
    fmt::print("{}\n", JsonText(root["silenceID"]));
    return static_cast<int>(kFine);
  });
}

int Nothing(const JsonValue& /*root*/) {
  return kFine;
}

void AddTest(CLI::App& command, Context& context) {
  auto o = std::make_shared<TestOptions>();
  CLI::App* test = command.add_subcommand(
      "test", "When would these rules have fired, over stored data? Nobody is told");
  test->add_option("file", o->file, "YAML file of rules")->required();
  test->add_option("--since", o->since, "How far back")->capture_default_str();
  test->add_option("--from", o->from, "Time range");
  test->add_option("--to", o->to, "Time range");
  test->add_option("--step", o->step,
                   "Time between two looks (default: each group's `every`, longer if that would be "
                   "more than 720 looks)");
  test->callback([&context, o] { context.run = [&context, o] { return Test(context, *o); }; });
}

void AddSilences(CLI::App& command, Context& context) {
  auto o = std::make_shared<SilenceOptions>();
  CLI::App* silence =
      command.add_subcommand("silence", "Nobody is told of these alerts for a while");
  silence
      ->add_option("matchers", o->matchers,
                   "name=value, name!=value, name=~regex, name!~regex; all of them hold. A word "
                   "alone is the alert's name")
      ->required();
  silence->add_option("--for", o->duration, "How long")->capture_default_str();
  silence->add_option("--comment", o->comment, "Why");
  silence->add_option("--by", o->by, "Who (default: the user)");
  silence->callback(
      [&context, o] { context.run = [&context, o] { return Silence(context, *o); }; });
  CLI::App* list = command.add_subcommand("silences", "Which silences there are");
  list->callback([&context] {
    context.run = [&context] {
      return AskAndPrint(context, "GET", "/api/v1/silences", {}, "", PrintSilences);
    };
  });
  auto id = std::make_shared<std::string>();
  CLI::App* end = command.add_subcommand("unsilence", "Ends a silence");
  end->add_option("id", *id, "Its id")->required();
  end->callback([&context, id] {
    context.run = [&context, id] {
      return AskAndPrint(context, "DELETE", "/api/v1/silences/" + net::PercentEncode(*id), {}, "",
                         Nothing);
    };
  });
}

void AddRules(CLI::App& command, Context& context) {
  auto files = std::make_shared<std::vector<std::string>>();
  CLI::App* check = command.add_subcommand("check", "Are these rules well written?");
  check->add_option("files", *files, "YAML files of rules")->required();
  check->callback([&context, files] { context.run = [files] { return Check(*files); }; });
  auto file = std::make_shared<std::string>();
  CLI::App* set = command.add_subcommand("set", "Gives the server a group of rules, durably");
  set->add_option("file", *file, "YAML file with one group")->required();
  set->callback([&context, file] {
    context.run = [&context, file]() -> int {
      const auto text = ReadFile(*file);
      if (!text) return Fail(text.error());
      std::size_t rules = 0;
      if (!CheckText(*text, *file, rules)) return kUsage;
      return AskAndPrint(context, "POST", "/api/v1/alerts/rules", {}, *text, Nothing);
    };
  });
  auto group = std::make_shared<std::string>();
  CLI::App* remove = command.add_subcommand("remove", "Removes a group that was given with set");
  remove->add_option("group", *group, "Its name")->required();
  remove->callback([&context, group] {
    context.run = [&context, group] {
      return AskAndPrint(context, "DELETE", "/api/v1/alerts/rules/" + net::PercentEncode(*group),
                         {}, "", Nothing);
    };
  });
}

void AddHistory(CLI::App& command, Context& context) {
  auto query = std::make_shared<std::map<std::string, std::string>>();
  auto deliveries = std::make_shared<bool>(false);
  CLI::App* history = command.add_subcommand("history", "What happened to alerts, newest first");
  for (const auto& [name, help] : {std::pair("since", "How far back (default 1h)"),
                                   {"from", "Time range"},
                                   {"to", "Time range"},
                                   {"alert", "Only alerts of this name"},
                                   {"service", "Only those of this service"},
                                   {"limit", "Most events (default 1000)"}})
    history->add_option(std::string("--") + name, (*query)[name], help);
  history->add_flag("--deliveries", *deliveries, "Whom they were told to, as well");
  history->callback([&context, query, deliveries] {
    context.run = [&context, query, deliveries] {
      Query parameters;
      for (const auto& [name, value] : *query) {
        if (!value.empty()) parameters.emplace_back(name, value);
      }
      if (*deliveries) parameters.emplace_back("deliveries", "true");
      return AskAndPrint(context, "GET", "/api/v1/alerts/history", parameters, "", PrintHistory);
    };
  });
}

}  // namespace

void AddAlerts(CLI::App& app, Context& context) {
  CLI::App* command = NewCommand(
      app, "alerts", "What fires now; 1 if anything does that is not silenced",
      {"wherefore alerts", "wherefore alerts --rules",
       "wherefore alerts test alerts.yaml --since 7d",
       "wherefore alerts silence HotParser service=checkout --for 2h --comment 'known, #123'",
       "wherefore alerts history --since 24h", "wherefore alerts check alerts.yaml"});
  auto rules = std::make_shared<bool>(false);
  command->add_flag("--rules", *rules, "The rules, too");
  AddTest(*command, context);
  AddSilences(*command, context);
  AddRules(*command, context);
  AddHistory(*command, context);
  command->callback([&context, command, rules] {
    if (!command->get_subcommands().empty()) return;
    context.run = [&context, rules] {
      return AskAndPrint(
          context, "GET", "/api/v1/alerts", {}, "",
          *rules ? [](const JsonValue& root) { return PrintList(root, true); }
                 : [](const JsonValue& root) { return PrintList(root, false); });
    };
  });
}

}  // namespace wherefore::cli
