// `doctor`: what is wrong with a server or this machine, and what to do about it.

#include <filesystem>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/json.h"
#include "cli/source.h"
#include "net/http_client.h"

namespace wherefore::cli {
namespace {

class Report {
 public:
  explicit Report(bool json) : json_(json) {
    if (json_) writer_.BeginObject().Key("checks").BeginArray();
  }
  void Good(const std::string& what) { Line("ok", what, ""); }
  void Bad(const std::string& what, const std::string& fix) {
    ++problems_;
    Line("problem", what, fix);
  }
  int Finish() {
    if (json_) {
      writer_.EndArray().Field("problems", problems_).EndObject();
      fmt::print("{}\n", document_);
    } else {
      fmt::print("{}\n", problems_ == 0
                             ? "nothing wrong found"
                             : fmt::format("{} problem{}", problems_, problems_ == 1 ? "" : "s"));
    }
    return problems_ == 0 ? kFine : kFound;
  }

 private:
  void Line(const char* state, const std::string& what, const std::string& fix) {
    if (json_) {
      writer_.BeginObject().Field("state", state).Field("what", what).Field("fix", fix).EndObject();
    } else if (fix.empty()) {
      fmt::print("ok       {}\n", what);
    } else {
      fmt::print("PROBLEM  {}\n         -> {}\n", what, fix);
    }
  }
  bool json_;
  int problems_ = 0;
  std::string document_;  // one, printed at the end
  JsonWriter writer_{document_};
};

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

// Refusals since the server started, from its own counters.
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

int Examine(const Context& context) {
  Report report(context.json);
  const auto ready = net::Fetch("GET", context.server + "/ready");
  if (!ready) {
    report.Bad(ready.error().message(),
               "start one: wherefore serve, or name it: --server http://host:4040");
    return report.Finish();
  }
  if (ready->status == 200) {
    report.Good("server " + context.server + " is ready");
  } else {
    report.Bad(fmt::format("server {} answers {}: {}", context.server, ready->status, ready->body),
               "see the problems below");
  }
  CheckStatus(context, report);
  CheckRefusals(context, report);
  return report.Finish();
}

}  // namespace

void AddDoctor(CLI::App& app, Context& context) {
  CLI::App* command =
      NewCommand(app, "doctor", "Find out what is wrong and what to do about it",
                 {"wherefore doctor", "wherefore doctor --server http://profiles.internal:4040"});
  command->callback([&context] { context.run = [&context] { return Examine(context); }; });
}

}  // namespace wherefore::cli
