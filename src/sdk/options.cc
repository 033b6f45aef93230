// One table of settings serves both the environment and the YAML file.
#include "sdk/options.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/text.h"
#include "sdk/endpoint.h"
#include "sdk/yaml.h"

namespace wherefore::sdk {
namespace {

constexpr std::array<std::string_view, kTypeCount> kTypeNames = {
    "cpu", "wall", "off_cpu", "heap", "mutex", "block", "threads"};

// What a source says about addresses, completed when all have spoken.
struct Addresses {
  std::string profiles;
  std::string traces;
  std::string protocol;
  std::string profiles_protocol;
  std::string traces_protocol;
  TextPairs headers;
  TextPairs profiles_headers;
  TextPairs traces_headers;
};

struct Target {
  Options options;
  Addresses addresses;
};

// A text that cannot be read, or not all of it.
struct Complaint {
  std::string expected;
  std::string outcome = "ignored";
  // NOLINTBEGIN(google-explicit-constructor): most say what was expected and no more
  Complaint(std::string what) : expected(std::move(what)) {}
  Complaint(const char* what) : expected(what) {}
  // NOLINTEND(google-explicit-constructor)
  Complaint(std::string what, std::string then)
      : expected(std::move(what)), outcome(std::move(then)) {}
};

// Takes the text; nothing when it could be read.
using Apply = std::function<std::optional<Complaint>(Target&, std::string_view)>;

struct Setting {
  std::string yaml;  // path under `profiling:`, joined by '.'; empty: not in files
  std::string env;   // empty: not in the environment
  Apply apply;
};

std::optional<double> ParseNumber(std::string_view text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): its end goes along
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

std::string Decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = text[i] == '%' && i + 2 < text.size() ? FromHex(text.substr(i + 1, 2))
                                                            : std::optional<std::string>();
    if (byte) {
      out += *byte;
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

// service.name may stand among the attributes; it is told once, by service_name.
void TakeServiceName(Options& o) {
  const auto named = std::find_if(o.resource.begin(), o.resource.end(),
                                  [](const auto& pair) { return pair.first == "service.name"; });
  if (named == o.resource.end()) return;
  o.service_name = named->second;
  o.resource.erase(named);
}

std::string ProgramName() {
  std::array<char, 4096> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  const std::string_view exe(path.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  const std::string_view name = exe.substr(exe.rfind('/') + 1);
  return name.empty() ? "unknown_service" : std::string(name);
}

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

// Samples per second, up to what perf can do at all.
std::optional<std::string> SetFrequency(Target& t, Type type, std::string_view text) {
  if (Lower(text).ends_with("hz")) text = Trim(text.substr(0, text.size() - 2));
  const auto value = ParseNumber(text);
  if (!value || *value <= 0 || *value > 10'000) return "samples per second, above 0 up to 10000";
  t.options.of(type).rate = *value;
  return std::nullopt;
}

Apply Rate(Type type) {
  const auto rate = [type](Target& t) -> double& { return t.options.of(type).rate; };
  switch (type) {
    case Type::kHeap:
      return Size(1, rate);
    case Type::kMutex:
    case Type::kBlock:
      return Duration(1, rate);
    case Type::kThreads:
      return [type](Target& t, std::string_view text) -> std::optional<std::string> {
        const Result<std::int64_t> value = ParseDuration(text);
        if (!value || *value < 100'000'000) return "a duration of at least 100ms";
        t.options.of(type).rate = static_cast<double>(*value) / 1e9;
        return std::nullopt;
      };
    default:
      return [type](Target& t, std::string_view text) { return SetFrequency(t, type, text); };
  }
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

std::string TypeChoices() {
  return fmt::format("{}, all, none", fmt::join(kTypeNames, ", "));
}

// Adds to `on`, and switches on what it has. Names that are none are given back and the others
// count; only such names mean nothing at all.
std::vector<std::string> ApplyTypes(Options& options, std::string_view text,
                                    std::array<bool, kTypeCount>& on) {
  std::vector<std::string> unknown = ReadTypes(text, on);
  if (unknown.empty() || std::ranges::find(on, true) != on.end()) {
    for (std::size_t i = 0; i < kTypeCount; ++i) options.types[i].enabled = on[i];
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
    std::string upper(kTypeNames[i]);
    for (char& c : upper) c = c == '_' ? '_' : static_cast<char>(c - 'a' + 'A');
    const auto enabled = [type](Target& t) -> bool& { return t.options.of(type).enabled; };
    std::vector<std::string> blocks = {std::string(kTypeNames[i])};
    if (type == Type::kHeap) blocks.emplace_back("memory");
    if (type == Type::kWall) blocks.emplace_back("wall_clock");
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const bool first = b == 0;
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
  address("", "OTEL_EXPORTER_OTLP_PROTOCOL",
          [](Target& t) -> std::string& { return t.addresses.protocol; });
  address("", "OTEL_EXPORTER_OTLP_PROFILES_PROTOCOL",
          [](Target& t) -> std::string& { return t.addresses.profiles_protocol; });
  address("", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
          [](Target& t) -> std::string& { return t.addresses.traces_protocol; });
  address("ca_file", "OTEL_EXPORTER_OTLP_CERTIFICATE",
          [](Target& t) -> std::string& { return t.options.ca_file; });
  all.push_back({"", "OTEL_EXPORTER_OTLP_HEADERS",
                 Pairs([](Target& t) -> TextPairs& { return t.addresses.headers; })});
  all.push_back({"", "OTEL_EXPORTER_OTLP_PROFILES_HEADERS",
                 Pairs([](Target& t) -> TextPairs& { return t.addresses.profiles_headers; })});
  all.push_back({"", "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
                 Pairs([](Target& t) -> TextPairs& { return t.addresses.traces_headers; })});
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
  all.push_back({"log_level", "WHEREFORE_LOG", SetLogLevel});
  all.push_back({"state_dir", "WHEREFORE_STATE_DIR",
                 Text([](Target& t) -> std::string& { return t.options.state_dir; })});
  all.push_back({"", "WHEREFORE_FOLLOW_EXEC",
                 Switch([](Target& t) -> bool& { return t.options.follow_exec; })});
  all.push_back({"manual_start", "WHEREFORE_MANUAL_START",
                 Switch([](Target& t) -> bool& { return t.options.manual_start; })});
}

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

std::string Join(const std::vector<std::string>& path, std::size_t from) {
  std::string out;
  for (std::size_t i = from; i < path.size(); ++i) out += (i == from ? "" : ".") + path[i];
  return out;
}

class Loader {
 public:
  explicit Loader(const GetEnv& getenv) : getenv_(getenv), settings_(BuildSettings()) {}

  void ReadFile(const std::string& file) {
    // A pipe or a device could keep the host from ever starting.
    std::error_code error;
    constexpr std::uintmax_t kMostBytes = 1 << 20;
    const bool there = std::filesystem::exists(file, error);
    if (there && (!std::filesystem::is_regular_file(file, error) || std::filesystem::file_size(file, error) > kMostBytes)) {
      Warn(fmt::format("cannot read {}: it is no file, or larger than 1 MiB; going on without it", file));
      return;
    }
    std::ifstream in(file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    if (!in) {
      Warn(fmt::format("cannot read {}; going on without it", file));
      return;
    }
    const YamlDocument document = ReadYaml(text);
    for (const YamlNote& note : document.notes)
      Warn(fmt::format("{}:{}: {}; left out", file, note.line, note.text));
    bool found = false;
    for (const YamlScalar& scalar : document.scalars) {
      if (scalar.path.empty() || scalar.path[0] != "profiling") continue;
      found = true;
      ReadScalar(file, scalar);
    }
    if (!found) Warn(fmt::format("{} has no profiling: block", file));
  }

  void ReadEnvironment() {
    for (const Setting& setting : settings_) {
      const char* const value = setting.env.empty() ? nullptr : getenv_(setting.env.c_str());
      // An empty variable counts as not set, as OpenTelemetry says.
      if (value == nullptr || *value == '\0') continue;
      if (setting.env == "OTEL_TRACES_SAMPLER_ARG" && !RatioSampler()) continue;
      if (const auto complaint = setting.apply(target_, Trim(value))) {
        Warn(fmt::format("{}='{}' is not {}; {}", setting.env, value, complaint->expected,
                         complaint->outcome));
      }
    }
  }

  LoadedOptions Finish(const std::function<void(Options&)>& code) {
    Options& o = target_.options;
    if (code) code(o);
    if (o.service_name.empty()) o.service_name = ProgramName();
    const Addresses& a = target_.addresses;
    const std::string fallback = Options().endpoint;
    const auto resolve = [&](std::string& url, const std::string& own, const std::string& protocol,
                             std::string_view path) {
      const bool code_decides = o.endpoint_from_code;
      const EndpointChoice choice{o.endpoint, code_decides ? std::string_view() : own,
                                  code_decides       ? std::string_view()
                                  : protocol.empty() ? a.protocol
                                                     : protocol,
                                  path};
      url = ResolveEndpoint(choice, fallback, warnings_);
    };
    resolve(o.profiles_url, a.profiles, a.profiles_protocol, kProfilesPath);
    resolve(o.traces_url, a.traces, a.traces_protocol, kTracesPath);
    AddHeaders(o.profiles_headers, a.headers, a.profiles_headers);
    AddHeaders(o.traces_headers, a.headers, a.traces_headers);
    LeaveOutBroken(o.profiles_headers);
    LeaveOutBroken(o.traces_headers);
    return {std::move(o), std::move(warnings_)};
  }

 private:
  void Warn(std::string text) {
    constexpr std::size_t kMostWarnings = 20;
    if (warnings_.size() < kMostWarnings) warnings_.push_back(std::move(text));
    if (warnings_.size() == kMostWarnings) warnings_.emplace_back("more warnings are left out");
  }

  bool RatioSampler() const {
    const char* const sampler = getenv_("OTEL_TRACES_SAMPLER");
    return sampler != nullptr && std::string_view(sampler).ends_with("traceidratio");
  }

  void ReadScalar(const std::string& file, const YamlScalar& scalar) {
    const std::string name = Join(scalar.path, 1);
    const auto warn = [&](const std::string& text) {
      Warn(fmt::format("{}:{}: {}", file, scalar.line, text));
    };
    // Keys of the program's own choosing.
    if (scalar.path.size() >= 3 && (scalar.path[1] == "resource" || scalar.path[1] == "headers")) {
      SetPair(scalar.path[1] == "resource" ? target_.options.resource : target_.addresses.headers,
              Join(scalar.path, 2), scalar.value);
      TakeServiceName(target_.options);
      return;
    }
    if (scalar.path.size() == 2 && scalar.path[1] == "types") {
      for (const std::string& unknown : ApplyTypes(target_.options, scalar.value, types_)) {
        warn(fmt::format("types: '{}' is none of {}; left out", unknown, TypeChoices()));
      }
      return;
    }
    const auto setting = std::find_if(settings_.begin(), settings_.end(), [&](const Setting& s) {
      return !s.yaml.empty() && s.yaml == name;
    });
    if (setting == settings_.end()) {
      warn(fmt::format("unknown key '{}'; left out", name));
    } else if (const auto complaint = setting->apply(target_, scalar.value)) {
      warn(fmt::format("{}: '{}' is not {}; {}", name, scalar.value, complaint->expected,
                       complaint->outcome));
    }
  }

  // What the code set stays; then the signal's own, then those for all.
  static void AddHeaders(TextPairs& to, const TextPairs& all, const TextPairs& own) {
    const TextPairs code = std::move(to);
    to = all;
    for (const auto& [key, value] : own) SetPair(to, key, value);
    for (const auto& [key, value] : code) SetPair(to, key, value);
  }

  // A header cannot carry these, and one with a line feed would be two. One warning a name.
  void LeaveOutBroken(TextPairs& headers) {
    const auto control = [](char c) { return (c >= 0 && c < ' ' && c != '\t') || c == '\x7f'; };
    std::erase_if(headers, [&](const auto& header) {
      if (std::ranges::none_of(header.first + header.second, control)) return false;
      std::string name = header.first;
      std::ranges::replace_if(name, control, '?');
      std::string text =
          fmt::format("the header '{}' has control characters in it; it is not sent", name);
      if (std::ranges::find(warnings_, text) == warnings_.end()) Warn(std::move(text));
      return true;
    });
  }

  const GetEnv& getenv_;
  std::vector<Setting> settings_;
  Target target_;
  std::array<bool, kTypeCount> types_ = {};  // named so far in the file
  std::vector<std::string> warnings_;
};

}  // namespace

std::string_view TypeName(Type type) {
  return kTypeNames[static_cast<std::size_t>(type)];
}

std::optional<Type> TypeOf(std::string_view name) {
  if (name == "memory") return Type::kHeap;
  const auto found = std::find(kTypeNames.begin(), kTypeNames.end(), name);
  if (found == kTypeNames.end()) return std::nullopt;
  return static_cast<Type>(found - kTypeNames.begin());
}

std::optional<double> ParseShare(std::string_view text) {
  const bool percent = text.ends_with('%');
  const auto number = ParseNumber(Trim(percent ? text.substr(0, text.size() - 1) : text));
  if (!number || *number < 0 || *number > 100) return std::nullopt;
  return percent || *number > 1 ? *number / 100 : *number;
}

std::optional<bool> ParseSwitch(std::string_view text) {
  const std::string word = Lower(text);
  if (word == "on" || word == "true" || word == "yes" || word == "1") return true;
  if (word == "off" || word == "false" || word == "no" || word == "0") return false;
  return std::nullopt;
}

bool ParsePairs(std::string_view text, TextPairs& out) {
  bool complete = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view pair = Trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    const std::string key(Trim(pair.substr(0, std::min(equals, pair.size()))));
    if (equals == std::string_view::npos || key.empty()) {
      complete = false;
      continue;
    }
    SetPair(out, key, Decode(Trim(pair.substr(equals + 1))));
  }
  return complete;
}

bool ParsePprofAddress(std::string_view text, Options& options) {
  if (const auto on = ParseSwitch(text); on && !*on && text != "0") {
    options.pprof_port = -1;
    return true;
  }
  const std::size_t colon = text.rfind(':');
  const bool bare = colon == std::string_view::npos;
  const auto port = ParseUint(bare ? text : text.substr(colon + 1));
  if (!port || *port > 65535) return false;
  std::string_view host = bare ? "" : text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  options.pprof_port = static_cast<int>(*port);
  if (!host.empty()) options.pprof_host = host;
  return true;
}

void SetPair(TextPairs& pairs, std::string_view key, std::string_view value) {
  for (auto& [k, v] : pairs) {
    if (k == key) {
      v = value;
      return;
    }
  }
  pairs.emplace_back(key, value);
}

LoadedOptions LoadOptions(const GetEnv& getenv, const std::string& config_file,
                          const std::function<void(Options&)>& code) {
  Loader loader(getenv);
  const char* const named = getenv("WHEREFORE_CONFIG");
  const std::string file = !config_file.empty() ? config_file : named == nullptr ? "" : named;
  if (!file.empty()) loader.ReadFile(file);
  loader.ReadEnvironment();
  return loader.Finish(code);
}

std::vector<std::string> KnownVariables() {
  // Of `wherefore run`, of the library towards its children, and of the commands.
  std::vector<std::string> names = {"WHEREFORE_CONFIG", "WHEREFORE_SAID", "WHEREFORE_SERVER",
                                    "WHEREFORE_LIBCHDB", "WHEREFORE_CHDB_DIR"};
  for (Setting& setting : BuildSettings()) {
    if (setting.env.starts_with("WHEREFORE_")) names.push_back(std::move(setting.env));
  }
  return names;
}

LoadedOptions LoadOptions() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): documented: before other threads change it
  return LoadOptions([](const char* name) { return std::getenv(name); });
}

}  // namespace wherefore::sdk
