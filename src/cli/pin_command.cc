// `pin`: windows that retention keeps.
#include <memory>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/json.h"
#include "cli/source.h"
#include "net/url.h"

namespace wherefore::cli {
namespace {

struct PinOptions {
  std::string service;
  std::string from;
  std::string to;
  std::string why;
  bool list = false;
  std::string remove;
};

void PrintPin(const JsonValue& pin) {
  const std::string until = JsonText(pin["until"]);
  fmt::print("{}  {}  {} to {}  {}{}\n", Printable(JsonText(pin["id"])),
             Printable(JsonText(pin["service"])), Printable(JsonText(pin["from"])),
             Printable(JsonText(pin["to"])), Printable(JsonText(pin["why"])),
             until.empty() ? "" : " (until " + Printable(until) + ")");
}

int Print(const Context& context, const Result<std::string>& body) {
  if (!body) return Fail(body.error());
  if (context.json) {
    fmt::print("{}\n", *body);
    return kFine;
  }
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (parser.parse(*body).get(root) != simdjson::SUCCESS) return Fail(DamagedAnswer());
  simdjson::dom::array pins;
  if (root["pins"].get(pins) != simdjson::SUCCESS) {
    PrintPin(root);
    return kFine;
  }
  for (const JsonValue& pin : pins) PrintPin(pin);
  return pins.size() == 0 ? kFound : kFine;
}

int Pin(const Context& context, const PinOptions& o) {
  if (o.list) return Print(context, Ask(context, "GET", "/api/v1/pins", {}));
  if (!o.remove.empty()) {
    const auto removed = Ask(context, "DELETE", "/api/v1/pins/" + net::PercentEncode(o.remove), {});
    if (!removed) return Fail(removed.error());
    fmt::print("{}\n", *removed);
    return kFine;
  }
  if (o.service.empty() || o.from.empty())
    return Fail(Error(Code::kInvalid, "pin needs a service and --from, or --list, or --remove ID"));
  return Print(context, Ask(context, "POST", "/api/v1/pins",
                            {{"query", o.service},
                             {"from", o.from},
                             {"to", o.to.empty() ? "now" : o.to},
                             {"why", o.why}}));
}

}  // namespace

void AddPin(CLI::App& app, Context& context) {
  CLI::App* command = NewCommand(
      app, "pin", "Keep the days of a window whole, whatever the retention says",
      {"wherefore pin checkout --from 2026-11-15T07:00:00Z --to 2026-11-15T08:00:00Z --why "
       "'incident 42'",
       "wherefore pin --list", "wherefore pin --remove 9f86d081884c7d65"});
  auto o = std::make_shared<PinOptions>();
  command->add_option("service", o->service, "Whose window it is");
  command->add_option("--from", o->from, "Start");
  command->add_option("--to", o->to, "End (default: now)");
  command->add_option("--why", o->why, "What it is kept for");
  command->add_flag("--list", o->list, "List what is pinned");
  command->add_option("--remove", o->remove, "Remove the pin with this id");
  command->callback([&context, o] { context.run = [&context, o] { return Pin(context, *o); }; });
}

}  // namespace wherefore::cli
