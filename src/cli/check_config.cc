#include "cli/check_config.h"

#include <map>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/json_writer.h"
#include "cli/source.h"
#include "formats/registry.h"
#include "gateway/config/gateway_config.h"
#include "gateway/process/redact.h"

namespace wherefore::cli {
namespace {

using settings::Problem;

void Print(const Context& context, const std::vector<Problem>& problems) {
  if (!context.json) {
    for (const Problem& p : problems) {
      fmt::print("{}: {}: {}\n", p.place.Text(), p.warning ? "warning" : "error", p.what);
    }
    return;
  }
  std::string out;
  JsonWriter json(out);
  json.BeginArray();
  for (const Problem& p : problems) {
    json.BeginObject().Field("file", p.place.file ? *p.place.file : std::string());
    json.Field("line", std::int64_t{p.place.line}).Field("column", std::int64_t{p.place.column});
    json.Field("text", p.what).Field("warning", p.warning).EndObject();
  }
  json.EndArray();
  fmt::print("{}\n", out);
}

std::string Summary(const gateway::GatewayConfig& config) {
  if (!config.has_service) return "no pipelines: the server's own ports, into the store";
  return fmt::format("{} receivers, {} pipelines, {} exporters; {}", config.receivers.size(),
                     config.pipelines.size(), config.exporters.size(),
                     config.UsesStore() ? "into the store" : "no store");
}

Result<std::shared_ptr<const gateway::RedactRules>> RulesOf(
    const std::vector<std::string>& config) {
  if (config.empty()) return gateway::RedactRules::Make({});
  settings::Problems problems;
  const gateway::GatewayConfig read =
      gateway::LoadGatewayConfig({.files = config}, "data", gateway::FromEnvironment, problems);
  if (problems.failed()) return problems.error();
  for (const auto& [id, processor] : read.processors) {
    if (processor.redact) return processor.redact;
  }
  return Error(Code::kInvalid, "the configuration has no redact processor");
}

}  // namespace

bool IsConfigFile(const std::string& path) {
  const Result<std::string> text = gateway::ReadConfigFile(path);
  return text && gateway::IsPipelineConfig(*text) && formats::Recognise(*text) == nullptr;
}

int CheckConfig(const Context& context, const std::vector<std::string>& files,
                const std::vector<std::string>& sets, bool strict) {
  settings::Problems problems;
  const gateway::GatewayConfig config = gateway::LoadGatewayConfig(
      {.files = files, .sets = sets}, "data", gateway::FromEnvironment, problems);
  Print(context, problems.list());
  std::size_t errors = 0;
  for (const Problem& p : problems.list()) errors += p.warning && !strict ? 0 : 1;
  if (!context.json) {
    const std::string what = errors > 0 ? "not usable" : Summary(config);
    fmt::print("{}: {}, {} errors, {} warnings\n", fmt::join(files, ", "), what, errors,
               problems.list().size() - errors);
  }
  return errors > 0 ? kFound : kFine;
}

int CheckRedaction(const Context& context, const std::vector<std::string>& files,
                   const std::vector<std::string>& config) {
  const auto rules = RulesOf(config);
  if (!rules) return Fail(rules.error());
  std::string out;
  JsonWriter json(out);
  json.BeginArray();
  bool any = false;
  for (const std::string& file : files) {
    auto bytes = ReadProfileFile(file);
    if (!bytes) return Fail(bytes.error());
    auto content = formats::DecodeFile(std::make_shared<const std::string>(*std::move(bytes)), {});
    if (!content) return Fail(content.error());
    // Each text once, with how often it is there.
    std::map<std::tuple<std::string, std::string, std::size_t>, std::size_t> found;
    const gateway::RedactFound note = [&](std::string_view place, std::string_view text,
                                          std::size_t pattern) {
      ++found[{std::string(place), std::string(text), pattern}];
    };
    if (auto* profiles = std::get_if<formats::DecodedProfiles>(&*content)) {
      (void)gateway::Redact(profiles->data, **rules, note);
    } else if (auto* spans = std::get_if<formats::DecodedSpans>(&*content)) {
      (void)gateway::Redact(spans->data, **rules, note);
    } else {
      return Fail(formats::NoSamplesError());
    }
    for (const auto& [what, times] : found) {
      const auto& [place, text, pattern] = what;
      const std::string& rule = (*rules)->options().patterns[pattern];
      json.BeginObject().Field("file", file).Field("place", place).Field("text", text);
      json.Field("rule", rule).Field("times", std::uint64_t{times}).EndObject();
      if (!context.json) {
        fmt::print("{}: {}: {} [{}]{}\n", file, place, Printable(text), rule,
                   times > 1 ? fmt::format(" x {}", times) : "");
      }
    }
    if (!context.json) fmt::print("{}: {} texts would be redacted\n", file, found.size());
    any = any || !found.empty();
  }
  json.EndArray();
  if (context.json) fmt::print("{}\n", out);
  return any ? kFound : kFine;
}

}  // namespace wherefore::cli
