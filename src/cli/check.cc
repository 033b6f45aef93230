// `check`: does a file follow the rules of its format? Can a configuration be used?
#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "cli/check_config.h"
#include "cli/command.h"
#include "cli/source.h"
#include "formats/registry.h"

namespace wherefore::cli {
namespace {

int CheckFiles(const Context& context, const std::vector<std::string>& files, bool strict) {
  int code = kFine;
  std::string out;
  JsonWriter json(out);
  json.BeginArray();
  std::size_t passed_over = 0;
  for (const std::string& file : files) {
    const auto bytes = ReadProfileFile(file);
    if (!bytes) return Fail(bytes.error());
    // An unrecognised file is checked as what it should be, which shows where it breaks.
    const formats::Format* const known = formats::Recognise(*bytes);
    const formats::Format& format = known == nullptr ? *formats::FormatOf("otlp") : *known;
    if (format.check == nullptr) {
      const std::string why = fmt::format(
          "{}: {} files have no rules to check; expected OTLP profiles (protobuf) or pprof", file,
          format.name);
      if (++passed_over == files.size()) return Fail(Error(Code::kInvalid, why));
      fmt::print(stderr, "{}\n", why);
      continue;
    }
    const auto violations = format.check(*bytes);
    std::size_t errors = 0;
    for (const formats::Violation& v : violations) {
      errors += v.warning && !strict ? 0 : 1;
      json.BeginObject().Field("file", file).Field("path", v.path).Field("rule", v.rule);
      json.Field("text", v.text).Field("warning", v.warning).EndObject();
      if (!context.json)
        fmt::print("{}: {}: {}: {} [{}]\n", file, v.warning ? "warning" : "error", v.path, v.text,
                   v.rule);
    }
    if (!context.json) {
      fmt::print("{}: {}, {} errors, {} warnings\n", file, format.name, errors,
                 violations.size() - errors);
    }
    if (errors > 0) code = kFound;
  }
  json.EndArray();
  if (context.json) fmt::print("{}\n", out);
  return code;
}

}  // namespace

void AddCheck(CLI::App& app, Context& context) {
  CLI::App* command = NewCommand(
      app, "check",
      "Check configurations, and OTLP profile and pprof files against the rules of their format",
      {"wherefore check collector.yaml", "wherefore check request.otlp",
       "wherefore check --strict cpu.pb.gz",
       "wherefore check --redact cpu.pb.gz   # what a redact processor would take out"});
  struct Options {
    std::vector<std::string> files;
    std::vector<std::string> sets;
    std::vector<std::string> config;
    bool strict = false;
    bool redact = false;
  };
  auto o = std::make_shared<Options>();
  command->add_option("files", o->files, "Files; configurations are merged, later ones win")
      ->required();
  command->add_option("--set", o->sets, "One value of the configuration, as for serve")
      ->allow_extra_args(false);
  command->add_flag("--strict", o->strict,
                    "Warnings (what the specification says SHOULD be, variables that are not set) "
                    "count as errors");
  command->add_flag("--redact", o->redact,
                    "List what a redact processor would take out of these profiles or traces");
  command
      ->add_option("--config", o->config,
                   "With --redact: the configuration whose redact processor to use")
      ->allow_extra_args(false);
  command->callback([&context, o] {
    context.run = [&context, o] {
      if (o->redact) return CheckRedaction(context, o->files, o->config);
      if (std::ranges::any_of(o->files, IsConfigFile)) {
        return CheckConfig(context, o->files, o->sets, o->strict);
      }
      return CheckFiles(context, o->files, o->strict);
    };
  });
}

}  // namespace wherefore::cli
