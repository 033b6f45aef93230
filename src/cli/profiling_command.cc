// `profiling on|off|status`: whether services are profiled (docs/gateway.md, Dynamic control).
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/clock.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/json.h"
#include "cli/source.h"
#include "net/url.h"

namespace wherefore::cli {
namespace {

struct Options {
  std::string service;
  double sample_rate = 0;
  std::vector<std::string> types;
  std::string duration;
};

std::string PathOf(const std::string& service) {
  const std::string all = "/api/v1/profiling";
  return service.empty() ? all : all + "/" + net::PercentEncode(service);
}

int Switch(const Context& context, const Options& o, bool on) {
  std::string body;
  JsonWriter json(body);
  json.BeginObject();
  if (o.sample_rate > 0) json.Field("sample_rate", o.sample_rate);
  if (!o.types.empty()) {
    json.Key("types").BeginArray();
    for (const std::string& type : o.types) json.String(type);
    json.EndArray();
  }
  if (!o.duration.empty()) json.Field("for", o.duration);
  json.EndObject();
  const auto answer = on ? Ask(context, "POST", PathOf(o.service), {}, body, "application/json")
                         : Ask(context, "DELETE", PathOf(o.service), {});
  if (!answer) return Fail(answer.error());
  fmt::print("{}: {}\n", o.service.empty() ? "all services" : Printable(o.service), *answer);
  return kFine;
}

std::string Ago(std::int64_t seen_ms) {
  return FormatDuration(std::max<std::int64_t>(NowUnixNs() - seen_ms * 1'000'000, 0)) + " ago";
}

bool IsTrue(const JsonLookup& found) {
  bool flag = false;
  return found.get(flag) == simdjson::SUCCESS && flag;
}

int ShowStatus(const Context& context, const Options& o) {
  const auto answer = Ask(context, "GET", PathOf(o.service), {{"instances", "true"}});
  if (!answer) return Fail(answer.error());
  if (context.json) {
    fmt::print("{}", *answer);
    return kFine;
  }
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (parser.parse(*answer).get(root) != simdjson::SUCCESS) return Fail(DamagedAnswer());
  fmt::print("{:<32} {}\n", o.service.empty() ? "all services" : Fit(o.service, 32),
             IsTrue(root["enabled"]) ? "on" : "off");
  for (const JsonValue word : root["services"]) {
    const std::string name = JsonText(word["service"]);
    if (name == o.service || name.empty()) continue;
    fmt::print("{:<32} {}\n", Fit(name, 32), IsTrue(word["enabled"]) ? "on" : "off");
  }
  for (const JsonValue one : root["instances"]) {
    std::string state = JsonText(one["state"]);
    if (const std::string error = JsonText(one["error"]); !error.empty()) state += ": " + error;
    fmt::print("  {:<30} {:<24} {:<4} {}, {}\n", Fit(JsonText(one["service"]), 30),
               Fit(JsonText(one["instance"]), 24), IsTrue(one["enabled"]) ? "on" : "off",
               Printable(state), Ago(JsonInt(one["seen_ms"])));
  }
  return kFine;
}

}  // namespace

void AddProfiling(CLI::App& app, Context& context) {
  CLI::App* command =
      NewCommand(app, "profiling", "Switch profiling of services on or off, now, from the server",
                 {"wherefore profiling off checkout", "wherefore profiling on checkout",
                  "wherefore profiling on checkout --sample-rate 500 --for 10m   # then as before",
                  "wherefore profiling status   # each instance, and whether it obeyed"});
  command->require_subcommand(1);
  auto o = std::make_shared<Options>();
  const auto add = [&](const char* name, const char* what, auto run) {
    CLI::App* one = command->add_subcommand(name, what);
    one->add_option("service", o->service, "Service (default: all)");
    one->callback(
        [&context, o, run] { context.run = [&context, o, run] { return run(context, *o); }; });
    return one;
  };
  CLI::App* on = add("on", "Profile it", [](const Context& c, const Options& options) {
    return Switch(c, options, true);
  });
  on->add_option("--sample-rate", o->sample_rate, "CPU samples per second")
      ->check(CLI::Range(1, 10'000));
  on->add_option("--types", o->types, "Only these: cpu,heap,...")->delimiter(',');
  on->add_option("--for", o->duration, "So long, then as before: 10m");
  add("off", "Do not profile it",
      [](const Context& c, const Options& options) { return Switch(c, options, false); });
  add("status", "What holds, and what each instance made of it", ShowStatus);
}

}  // namespace wherefore::cli
