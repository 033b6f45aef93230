// `doctor`: what is wrong with a server or this machine, and what to do about it.

#include "cli/doctor.h"

#include <unistd.h>

#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/json.h"
#include "cli/source.h"
#include "net/http_client.h"

namespace wherefore::cli {
namespace {

void CheckStatus(const Context& context, Report& report) {
  const auto body = Ask(context, "GET", "/api/v1/status", {});
  if (!body) return report.Bad("status: " + body.error().message(), "look at the server's log");
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  simdjson::dom::array parts;
  if (parser.parse(*body).get(root) != simdjson::SUCCESS ||
      root["parts"].get(parts) != simdjson::SUCCESS) {
    return report.Bad("status: the answer is damaged", "is this port really a Wherefore server?");
  }
  for (const simdjson::dom::element part : parts) {
    std::string facts;
    simdjson::dom::object object;
    if (part["facts"].get(object) == simdjson::SUCCESS) {
      for (const auto& [key, value] : object)
        facts += fmt::format("{}{}: {}", facts.empty() ? "" : ", ", key, JsonText(value));
    }
    report.Good(fmt::format("{}: {}", JsonText(part["part"]), facts));
    for (const simdjson::dom::element problem : part["problems"]) {
      report.Bad(fmt::format("{}: {}", JsonText(part["part"]), JsonText(problem["what"])),
                 JsonText(problem["fix"]));
    }
  }
}

// Refusals since the server started, from its metrics.
void CheckRefusals(const Context& context, Report& report) {
  const auto metrics = Ask(context, "GET", "/metrics", {});
  if (!metrics) return;
  std::string_view rest = *metrics;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (!line.starts_with("wherefore_refused_total{") || line.ends_with("} 0")) continue;
    report.Bad(
        fmt::format("requests were refused: {}", line.substr(line.find('{'))),
        "the sender was told why; its log, or this server's log at level debug, has the message");
  }
}

void CheckServer(const Context& context, Report& report) {
  const auto ready = net::Fetch("GET", context.server + "/ready");
  if (!ready) {
    report.Bad(ready.error().message(),
               "start one: wherefore serve, or name it: --server http://host:4040");
    return;
  }
  if (ready->status == 200) {
    report.Good("server " + context.server + " is ready");
  } else {
    report.Bad(fmt::format("server {} answers {}: {}", context.server, ready->status, ready->body),
               "see the problems below");
  }
  CheckStatus(context, report);
  CheckRefusals(context, report);
}

// Shows what a repair would do, asks, and does it.
int Repair(const Context& context, bool yes) {
  const auto steps = [&](const char* method) -> Result<std::vector<std::string>> {
    WHEREFORE_ASSIGN_OR_RETURN(const std::string body, Ask(context, method, "/api/v1/repair", {}));
    simdjson::dom::parser parser;
    simdjson::dom::element root;
    simdjson::dom::array array;
    if (parser.parse(body).get(root) != simdjson::SUCCESS ||
        root["steps"].get(array) != simdjson::SUCCESS) {
      return DamagedAnswer();
    }
    std::vector<std::string> all;
    for (const simdjson::dom::element step : array) all.push_back(JsonText(step));
    return all;
  };
  const auto plan = steps("GET");
  if (!plan) return Fail(plan.error());
  if (plan->empty()) {
    fmt::print("nothing is damaged: there is nothing to repair\n");
    return kFine;
  }
  for (const std::string& step : *plan) fmt::print("would {}\n", step);
  if (!yes) {
    if (isatty(STDIN_FILENO) == 0) {
      fmt::print(stderr, "nothing was done; add --yes to do it\n");
      return kFound;
    }
    fmt::print(stderr, "Do that? [y/N] ");
    std::string answer;
    std::getline(std::cin, answer);
    if (answer != "y" && answer != "yes") return kFound;
  }
  const auto done = steps("POST");
  if (!done) return Fail(done.error());
  for (const std::string& step : *done) fmt::print("{}\n", step);
  return kFine;
}

int Diagnose(const Context& context, const SdkOptions& sdk) {
  Report report(context.json);
  CheckServer(context, report);
  CheckSdk(sdk, report);
  return report.Finish();
}

}  // namespace

void AddDoctor(CLI::App& app, Context& context) {
  CLI::App* command = NewCommand(
      app, "doctor",
      "Find out what is wrong and what to do about it: the server, libwherefore, a program",
      {"wherefore doctor", "wherefore doctor --server http://profiles.internal:4040",
       "wherefore doctor --repair      # after damage: says what it would do, then asks",
       "wherefore doctor -- ./app      # can it be profiled?"});
  auto sdk = std::make_shared<SdkOptions>();
  auto words = std::make_shared<std::vector<std::string>>();
  command->add_option("--library", sdk->library, "libwherefore.so (default: beside wherefore)");
  auto* const program =
      command->add_option("--program", sdk->program, "A program: can it be profiled?");
  command->add_option("command", *words, "The same as `run` would take it")->excludes(program);
  auto repair = std::make_shared<bool>(false);
  auto yes = std::make_shared<bool>(false);
  auto* const repairs = command->add_flag(
      "--repair", *repair, "Repair damaged data as far as possible; shows first what it would do");
  command->add_flag("--yes", *yes, "With --repair: do not ask")->needs(repairs);
  command->callback([&context, sdk, words, program, repair, yes] {
    if (*repair) {
      context.run = [&context, yes] { return Repair(context, *yes); };
      return;
    }
    if (!words->empty()) sdk->program = words->front();
    if (sdk->program.empty() && (program->count() > 0 || !words->empty()))
      throw CLI::ValidationError("--program", "names no program");
    context.run = [&context, sdk] { return Diagnose(context, *sdk); };
  });
}

}  // namespace wherefore::cli
