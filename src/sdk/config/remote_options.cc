#include "sdk/config/remote_options.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "sdk/config/yaml.h"

namespace wherefore::sdk {
namespace {

constexpr std::size_t kMostBytes = 64 << 10;

// The allow-list: keys under `profiling:`, beside those of the types.
constexpr std::array<std::string_view, 6> kAllowed = {"enabled",         "types",
                                                      "max_stack_depth", "max_profile_size",
                                                      "max_overhead",    "max_overhead_percent"};
constexpr std::array<std::string_view, 3> kAllowedBlocks = {"conditional", "load_shedding",
                                                            "adaptive"};

bool IsTypeBlock(std::string_view name) {
  return TypeOf(name).has_value() || name == "wall_clock";
}

bool IsAllowed(const std::vector<std::string>& path) {
  if (path.size() == 2)
    return std::ranges::find(kAllowed, path[1]) != kAllowed.end() || IsTypeBlock(path[1]);
  return path.size() == 3 && (IsTypeBlock(path[1]) ||
                              std::ranges::find(kAllowedBlocks, path[1]) != kAllowedBlocks.end());
}

Error Unreadable(int line, std::string_view what) {
  return {Code::kInvalid, fmt::format("line {}: {}", line, what)};
}

std::string NameOf(const std::vector<std::string>& path) {
  std::string name;
  for (std::size_t i = 1; i < path.size(); ++i) name += (i == 1 ? "" : ".") + path[i];
  return name;
}

bool IsNothing(std::string_view value) {
  return value.empty() || value == "null" || value == "~" || value == "{}";
}

std::string_view OnOff(bool on) {
  return on ? "true" : "false";
}

// To the nanosecond, unlike FormatDuration.
std::string Exactly(std::int64_t ns) {
  constexpr std::array<std::string_view, 4> kUnits = {"ns", "us", "ms", "s"};
  std::size_t unit = 0;
  for (; unit + 1 < kUnits.size() && ns % 1000 == 0; ++unit) ns /= 1000;
  return fmt::format("{}{}", ns, kUnits[unit]);
}

// In the words of the settings, each type's in its own unit.
std::string RateValue(Type type, double rate) {
  switch (type) {
    case Type::kMutex:
    case Type::kBlock:
      return Exactly(static_cast<std::int64_t>(rate));
    case Type::kThreads:
      return Exactly(static_cast<std::int64_t>(rate * 1e9));
    default:
      return fmt::format("{}", rate);
  }
}

}  // namespace

Result<RemoteOptions> RemoteOptions::Read(std::string_view yaml) {
  if (yaml.size() > kMostBytes)
    return Error(Code::kLimit, fmt::format("{} bytes; {} are allowed", yaml.size(), kMostBytes));
  const YamlDocument document = ReadYaml(yaml);
  if (!document.notes.empty()) return Unreadable(document.notes[0].line, document.notes[0].text);
  if (!document.repeated.empty())
    return Unreadable(document.repeated[0].line, fmt::format("'{}' is there already, in line {}",
                                                             document.repeated[0].path.back(),
                                                             document.repeated[0].first_line));
  const std::vector<Setting> settings = BuildSettings();
  RemoteOptions out;
  Target scratch;
  bool found = document.scalars.empty();
  Choice types;  // a list has a scalar for each item
  int types_line = 0;
  for (const YamlScalar& scalar : document.scalars) {
    if (scalar.path.empty() || scalar.path[0] != "profiling") continue;
    found = true;
    const std::string name = NameOf(scalar.path);
    if (name.empty() && IsNothing(scalar.value)) continue;
    if (name.empty())
      return Unreadable(scalar.line, fmt::format("profiling: '{}' is no block", scalar.value));
    const auto setting = std::ranges::find_if(
        settings, [&](const Setting& s) { return !s.yaml.empty() && s.yaml == name; });
    if (!IsAllowed(scalar.path) || setting == settings.end()) {
      out.ignored_.push_back(name);
      continue;
    }
    if (name == "types") {
      types_line = scalar.line;
      types.apply = setting->apply;
      types.value += (types.value.empty() ? "" : ",") + scalar.value;
      continue;
    }
    if (const auto complaint = setting->apply(scratch, scalar.value))
      return Unreadable(scalar.line,
                        fmt::format("{}: '{}' is not {}", name, scalar.value, complaint->expected));
    out.choices_.push_back({.apply = setting->apply, .value = scalar.value});
  }
  if (!found) return Error(Code::kInvalid, "there is no profiling: block");
  if (types.apply) {
    if (const auto complaint = types.apply(scratch, types.value))
      return Unreadable(types_line, "types: not " + complaint->expected);
    // First, as everywhere: what is said of one type counts over the list.
    out.choices_.insert(out.choices_.begin(), std::move(types));
  }
  return out;
}

Options RemoteOptions::Over(const Options& local) const {
  Target target = {.options = local, .addresses = {}};
  for (const Choice& choice : choices_) choice.apply(target, choice.value);
  Options& o = target.options;
  for (std::size_t i = 0; i < kTypeCount; ++i) {
    if (local.off_by_code[i]) o.types[i].enabled = local.types[i].enabled;
  }
  o.max_overhead = std::min(o.max_overhead, local.max_overhead);
  return std::move(o);
}

std::string WriteRemoteOptions(const Options& options) {
  std::string out = fmt::format("profiling:\n  enabled: {}\n", OnOff(options.enabled));
  for (std::size_t i = 0; i < kTypeCount; ++i) {
    const auto type = static_cast<Type>(i);
    out += fmt::format("  {}: {{enabled: {}, sample_rate: {}}}\n", TypeName(type),
                       OnOff(options.of(type).enabled), RateValue(type, options.of(type).rate));
  }
  const Conditional& conditional = options.conditional;
  if (conditional.active()) {
    out += "  conditional:\n";
    if (conditional.slow_request_ns > 0)
      out += fmt::format("    slow_request_threshold: {}\n", Exactly(conditional.slow_request_ns));
    if (conditional.cpu > 0)
      out += fmt::format("    cpu_threshold_percent: {}\n", conditional.cpu * 100);
    out += fmt::format("    profile_errors: {}\n", OnOff(conditional.errors));
  }
  const auto thresholds = [&out](std::string_view name, const LoadThresholds& t) {
    if (!t.enabled) return;
    out += fmt::format("  {}:\n    enabled: true\n", name);
    if (t.cpu > 0) out += fmt::format("    cpu_threshold: {}%\n", t.cpu * 100);
    if (t.memory_bytes > 0) out += fmt::format("    memory_threshold: {}\n", t.memory_bytes);
  };
  thresholds("load_shedding", options.load_shedding);
  thresholds("adaptive", options.adaptive);
  out +=
      fmt::format("  max_stack_depth: {}\n  max_profile_size: {}\n  max_overhead_percent: {}\n",
                  options.max_stack_depth, options.max_profile_bytes, options.max_overhead * 100);
  return out;
}

}  // namespace wherefore::sdk
