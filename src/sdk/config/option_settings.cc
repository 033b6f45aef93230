#include "sdk/config/option_settings.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/text.h"

namespace wherefore::sdk {
namespace {

template <typename Field>
Apply Text(Field field) {
  return [field](Target& t, std::string_view text) -> std::optional<std::string> {
    field(t) = text;
    return std::nullopt;
  };
}

template <typename Field>
Apply Switch(Field field) {
  return [field](Target& t, std::string_view text) -> std::optional<std::string> {
    const auto value = ParseSwitch(text);
    if (!value) return "on or off";
    field(t) = *value;
    return std::nullopt;
  };
}

template <typename Field>
Apply Share(Field field) {
  return [field](Target& t, std::string_view text) -> std::optional<std::string> {
    const auto value = ParseShare(text);
    if (!value) return "a share such as 90% or 0.9";
    field(t) = *value;
    return std::nullopt;
  };
}

// A number that can only be meant as per cent: 80 and 0.5 are 80 % and 0.5 %.
template <typename Field>
Apply Percent(Field field) {
  return [share = Share(field)](Target& t, std::string_view text) {
    return share(t, text.ends_with('%') ? std::string(text) : std::string(text) + "%");
  };
}

template <typename Field>
Apply Duration(std::int64_t least_ns, Field field) {
  return [least_ns, field](Target& t, std::string_view text) -> std::optional<std::string> {
    const Result<std::int64_t> value = ParseDuration(text);
    if (!value || *value < least_ns) {
      return fmt::format("a duration of at least {}, such as 10s or 1500ms",
                         FormatDuration(least_ns));
    }
    field(t) = static_cast<std::remove_reference_t<decltype(field(t))>>(*value);
    return std::nullopt;
  };
}

template <typename Field>
Apply Size(std::int64_t least, Field field) {
  return [least, field](Target& t, std::string_view text) -> std::optional<std::string> {
    const Result<std::int64_t> value = ParseBytes(text);
    if (!value || *value < least)
      return fmt::format("a size of at least {} bytes, such as 512KB or 10MB", least);
    field(t) = static_cast<std::remove_reference_t<decltype(field(t))>>(*value);
    return std::nullopt;
  };
}

template <typename Field>
Apply Whole(std::int64_t least, std::int64_t most, Field field) {
  return [least, most, field](Target& t, std::string_view text) -> std::optional<std::string> {
    const auto value = ParseInt(text);
    if (!value || *value < least || *value > most)
      return fmt::format("a whole number from {} to {}", least, most);
    field(t, *value);
    return std::nullopt;
  };
}

template <typename Field>
Apply Pairs(Field field) {
  return [field](Target& t, std::string_view text) -> std::optional<Complaint> {
    TextPairs pairs;
    const bool complete = ParsePairs(text, pairs);
    for (const auto& [key, value] : pairs) SetPair(field(t), key, value);
    if (complete) return std::nullopt;
    return Complaint("pairs such as key=value,other=value",
                     pairs.empty() ? "ignored" : "those that are pairs count");
  };
}

// In the unit of the type's rate.
std::optional<double> ParseRate(Type type, std::string_view text) {
  switch (type) {
    case Type::kHeap: {
      const Result<std::int64_t> bytes = ParseBytes(text);
      return bytes ? std::optional(static_cast<double>(*bytes)) : std::nullopt;
    }
    case Type::kMutex:
    case Type::kBlock:
    case Type::kThreads: {
      const Result<std::int64_t> ns = ParseDuration(text);
      if (!ns) return std::nullopt;
      return static_cast<double>(*ns) / (type == Type::kThreads ? 1e9 : 1);
    }
    case Type::kCpu:
    case Type::kWall:
    case Type::kOffCpu:
      break;
  }
  return ParseNumber(Lower(text).ends_with("hz") ? Trim(text.substr(0, text.size() - 2)) : text);
}

Apply Rate(Type type) {
  return [type](Target& t, std::string_view text) -> std::optional<Complaint> {
    const auto rate = ParseRate(type, text);
    const RateRange range = RatesOf(type);
    if (!rate || !range.has(*rate)) return Complaint(std::string(range.what));
    t.options.of(type).rate = *rate;
    return std::nullopt;
  };
}

// Adds the types a list names to `on`; gives the names that are none.
std::vector<std::string> ReadTypes(std::string_view text, std::array<bool, kTypeCount>& on) {
  std::vector<std::string> unknown;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string name = Lower(Trim(text.substr(begin, end - begin)));
    begin = end + 1;
    if (name.empty() || name == "none") continue;
    const auto type = TypeOf(name);
    if (name == "all") {
      on.fill(true);
    } else if (type) {
      on[static_cast<std::size_t>(*type)] = true;
    } else {
      unknown.push_back(name);
    }
  }
  return unknown;
}

std::optional<Complaint> SetTypes(Target& t, std::string_view text) {
  std::array<bool, kTypeCount> on{};
  const std::vector<std::string> unknown = ApplyTypes(t.options, text, on);
  if (unknown.empty()) return std::nullopt;
  const bool some = std::ranges::find(on, true) != on.end();
  return Complaint(
      fmt::format("a list out of {} ('{}' is none)", TypeChoices(), fmt::join(unknown, "', '")),
      some ? "the others count" : "ignored");
}

std::optional<std::string> SetLogLevel(Target& t, std::string_view text) {
  constexpr std::array<std::string_view, 5> kLevels = {"off", "error", "warn", "info", "debug"};
  const auto found = std::find(kLevels.begin(), kLevels.end(), Lower(text));
  if (found == kLevels.end()) return "off, error, warn, info or debug";
  t.options.log_level = static_cast<LogLevel>(found - kLevels.begin());
  return std::nullopt;
}

std::optional<std::string> SetCompression(Target& t, std::string_view text) {
  if (text != "gzip" && text != "none") return "gzip or none";
  t.options.gzip = text == "gzip";
  return std::nullopt;
}

std::optional<std::string> SetPprof(Target& t, std::string_view text) {
  if (!ParsePprofAddress(text, t.options)) return "a port, host:port or off";
  return std::nullopt;
}

void AddTypeSettings(std::vector<Setting>& all) {
  for (std::size_t i = 0; i < kTypeCount; ++i) {
    const auto type = static_cast<Type>(i);
    std::string upper(TypeName(type));
    for (char& c : upper) c = c == '_' ? '_' : static_cast<char>(c - 'a' + 'A');
    const auto enabled = [type](Target& t) -> bool& { return t.options.of(type).enabled; };
    std::vector<std::string> blocks = {std::string(TypeName(type))};
    if (type == Type::kHeap) blocks.emplace_back("memory");
    if (type == Type::kWall) blocks.emplace_back("wall_clock");
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const bool first = b == 0;
      all.push_back({blocks[b], "", Switch(enabled)});  // in place of the block
      all.push_back({blocks[b] + ".enabled", first ? "WHEREFORE_" + upper : "", Switch(enabled)});
      all.push_back(
          {blocks[b] + ".sample_rate", first ? "WHEREFORE_" + upper + "_RATE" : "", Rate(type)});
    }
  }
}

void AddLoadSettings(std::vector<Setting>& all) {
  const auto add = [&all](const std::string& block, const std::string& env, auto field) {
    all.push_back({block + ".enabled", env,
                   Switch([field](Target& t) -> bool& { return field(t).enabled; })});
    all.push_back({block + ".cpu_threshold", env + "_CPU",
                   Share([field](Target& t) -> double& { return field(t).cpu; })});
    const Apply memory =
        Size(1, [field](Target& t) -> std::int64_t& { return field(t).memory_bytes; });
    all.push_back({block + ".memory_threshold", env + "_MEMORY", memory});
    all.push_back({block + ".mem_threshold", "", memory});
  };
  add("load_shedding", "WHEREFORE_LOAD_SHEDDING",
      [](Target& t) -> LoadThresholds& { return t.options.load_shedding; });
  add("adaptive", "WHEREFORE_ADAPTIVE",
      [](Target& t) -> LoadThresholds& { return t.options.adaptive; });
  all.push_back({"conditional.slow_request_threshold", "WHEREFORE_SLOW_REQUEST",
                 Duration(1, [](Target& t) -> std::int64_t& {
                   return t.options.conditional.slow_request_ns;
                 })});
  const auto cpu = [](Target& t) -> double& { return t.options.conditional.cpu; };
  all.push_back({"conditional.cpu_threshold_percent", "", Percent(cpu)});
  all.push_back({"conditional.cpu_threshold", "WHEREFORE_CPU_REQUEST", Share(cpu)});
  all.push_back({"conditional.profile_errors", "WHEREFORE_PROFILE_ERRORS",
                 Switch([](Target& t) -> bool& { return t.options.conditional.errors; })});
}

void AddExportSettings(std::vector<Setting>& all) {
  const auto milliseconds = [](Target& t, std::int64_t ms) {
    t.options.timeout_ns = ms * 1'000'000;
  };
  const auto address = [&all](const char* yaml, const char* env, auto field) {
    all.push_back({yaml, env, Text(field)});
  };
  address("endpoint", "OTEL_EXPORTER_OTLP_ENDPOINT",
          [](Target& t) -> std::string& { return t.options.endpoint; });
  address("profiles_endpoint", "OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT",
          [](Target& t) -> std::string& { return t.addresses.profiles; });
  address("traces_endpoint", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
          [](Target& t) -> std::string& { return t.addresses.traces; });
  address("opamp_endpoint", "OTEL_OPAMP_ENDPOINT",
          [](Target& t) -> std::string& { return t.addresses.opamp; });
  all.push_back(
      {"remote", "WHEREFORE_REMOTE", Switch([](Target& t) -> bool& { return t.options.remote; })});
  address("", "OTEL_EXPORTER_OTLP_PROTOCOL",
          [](Target& t) -> std::string& { return t.addresses.protocol; });
  address("", "OTEL_EXPORTER_OTLP_PROFILES_PROTOCOL",
          [](Target& t) -> std::string& { return t.addresses.profiles_protocol; });
  address("", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
          [](Target& t) -> std::string& { return t.addresses.traces_protocol; });
  address("ca_file", "OTEL_EXPORTER_OTLP_CERTIFICATE",
          [](Target& t) -> std::string& { return t.options.ca_file; });
  all.push_back({"", "OTEL_EXPORTER_OTLP_HEADERS",
                 Pairs([](Target& t) -> TextPairs& { return t.addresses.headers; }), true});
  all.push_back({"", "OTEL_EXPORTER_OTLP_PROFILES_HEADERS",
                 Pairs([](Target& t) -> TextPairs& { return t.addresses.profiles_headers; }),
                 true});
  all.push_back({"", "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
                 Pairs([](Target& t) -> TextPairs& { return t.addresses.traces_headers; }), true});
  all.push_back({"", "WHEREFORE_TOKEN", [](Target& t, std::string_view text) {
                   SetPair(t.addresses.headers, "authorization", "Bearer " + std::string(text));
                   return std::optional<std::string>();
                 }});
  all.push_back({"compression", "OTEL_EXPORTER_OTLP_COMPRESSION", SetCompression});
  all.push_back({"", "OTEL_EXPORTER_OTLP_TIMEOUT", Whole(1, 3'600'000, milliseconds)});
  all.push_back({"timeout", "", Duration(1'000'000, [](Target& t) -> std::int64_t& {
                   return t.options.timeout_ns;
                 })});
  all.push_back({"upload_interval", "WHEREFORE_UPLOAD_INTERVAL",
                 Duration(100'000'000, [](Target& t) -> std::int64_t& {
                   return t.options.upload_interval_ns;
                 })});
  address("output_file", "WHEREFORE_OUTPUT",
          [](Target& t) -> std::string& { return t.options.output_file; });
  all.push_back({"pprof", "WHEREFORE_PPROF", SetPprof});
}

void AddIdentitySettings(std::vector<Setting>& all) {
  // The attributes first: OTEL_SERVICE_NAME wins over a service.name among them.
  const Apply attributes = Pairs([](Target& t) -> TextPairs& { return t.options.resource; });
  all.push_back({"", "OTEL_RESOURCE_ATTRIBUTES", [attributes](Target& t, std::string_view text) {
                   auto expected = attributes(t, text);
                   TakeServiceName(t.options);
                   return expected;
                 }});
  all.push_back({"service_name", "OTEL_SERVICE_NAME",
                 Text([](Target& t) -> std::string& { return t.options.service_name; })});
  all.push_back({"disabled", "OTEL_SDK_DISABLED",
                 Switch([](Target& t) -> bool& { return t.options.disabled; })});
  all.push_back({"enabled", "WHEREFORE_ENABLED",
                 Switch([](Target& t) -> bool& { return t.options.enabled; })});
  all.push_back({"log_level", "WHEREFORE_LOG", SetLogLevel});
  all.push_back({"state_dir", "WHEREFORE_STATE_DIR",
                 Text([](Target& t) -> std::string& { return t.options.state_dir; })});
  all.push_back({"", "WHEREFORE_FOLLOW_EXEC",
                 Switch([](Target& t) -> bool& { return t.options.follow_exec; })});
  all.push_back({"manual_start", "WHEREFORE_MANUAL_START",
                 Switch([](Target& t) -> bool& { return t.options.manual_start; })});
}

}  // namespace

std::vector<Setting> BuildSettings() {
  std::vector<Setting> all;
  AddIdentitySettings(all);
  all.push_back({"types", "WHEREFORE_TYPES", SetTypes});
  AddTypeSettings(all);
  AddLoadSettings(all);
  AddExportSettings(all);
  all.push_back({"max_stack_depth", "WHEREFORE_MAX_STACK_DEPTH",
                 Whole(1, 1024, [](Target& t, std::int64_t depth) {
                   t.options.max_stack_depth = static_cast<unsigned>(depth);
                   t.options.max_stack_depth_set = true;
                 })});
  all.push_back(
      {"max_profile_size", "WHEREFORE_MAX_PROFILE_SIZE",
       Size(64'000, [](Target& t) -> std::int64_t& { return t.options.max_profile_bytes; })});
  all.push_back({"max_overhead", "WHEREFORE_MAX_OVERHEAD",
                 Share([](Target& t) -> double& { return t.options.max_overhead; })});
  all.push_back({"max_overhead_percent", "",
                 Percent([](Target& t) -> double& { return t.options.max_overhead; })});
  all.push_back({"tracing.enabled", "WHEREFORE_TRACING",
                 Switch([](Target& t) -> bool& { return t.options.tracing; })});
  all.push_back({"tracing.ratio", "OTEL_TRACES_SAMPLER_ARG",
                 Share([](Target& t) -> double& { return t.options.trace_ratio; })});
  all.push_back({"tracing.runtime_stats", "WHEREFORE_RUNTIME_STATS",
                 Switch([](Target& t) -> bool& { return t.options.runtime_stats; })});
  return all;
}

void TakeServiceName(Options& o) {
  const auto named = std::find_if(o.resource.begin(), o.resource.end(),
                                  [](const auto& pair) { return pair.first == "service.name"; });
  if (named == o.resource.end()) return;
  o.service_name = named->second;
  o.resource.erase(named);
}

std::string TypeChoices() {
  std::string names;
  for (std::size_t i = 0; i < kTypeCount; ++i)
    names += fmt::format("{}, ", TypeName(static_cast<Type>(i)));
  return names + "all, none";
}

std::vector<std::string> ApplyTypes(Options& options, std::string_view text,
                                    std::array<bool, kTypeCount>& on) {
  std::vector<std::string> unknown = ReadTypes(text, on);
  if (unknown.empty() || std::ranges::find(on, true) != on.end()) {
    for (std::size_t i = 0; i < kTypeCount; ++i) options.types[i].enabled = on[i];
  }
  return unknown;
}

}  // namespace wherefore::sdk
