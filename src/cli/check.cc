// `check`: does a file follow the rules of its format?
#include <memory>

#include <fmt/format.h>

#include "base/json_writer.h"
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
      app, "check", "Check OTLP profile and pprof files against the rules of their format",
      {"wherefore check request.otlp", "wherefore check --strict cpu.pb.gz"});
  auto files = std::make_shared<std::vector<std::string>>();
  auto strict = std::make_shared<bool>(false);
  command->add_option("files", *files, "Files")->required();
  command->add_flag("--strict", *strict,
                    "Warnings (what the specification says SHOULD be) count as errors");
  command->callback([&context, files, strict] {
    context.run = [&context, files, strict] { return CheckFiles(context, *files, *strict); };
  });
}

}  // namespace wherefore::cli
