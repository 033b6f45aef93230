// Where settings come from: the file, the environment, the program's code; and what they add up to.
#include "sdk/config/load_options.h"

#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/text.h"
#include "sdk/config/endpoint.h"
#include "sdk/config/option_settings.h"
#include "sdk/config/yaml.h"
#include "sdk/platform/program_path.h"

namespace wherefore::sdk {
namespace {

std::string ProgramName() {
  const std::string exe = ProgramPath();
  std::string_view name = std::string_view(exe).substr(exe.rfind('/') + 1);
  // As it was started, where that is a link to it: redis-server is one to redis-check-rdb.
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel gives an address as a number
  const auto* const started = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  std::array<char, PATH_MAX> real{};
  if (started != nullptr && realpath(started, real.data()) != nullptr && exe == real.data()) {
    const std::string_view link(started);
    name = link.substr(link.rfind('/') + 1);
  }
  return name.empty() ? "unknown_service" : std::string(name);
}

std::string Join(const std::vector<std::string>& path, std::size_t from) {
  std::string out;
  for (std::size_t i = from; i < path.size(); ++i) out += (i == from ? "" : ".") + path[i];
  return out;
}

class Loader {
 public:
  explicit Loader(const GetEnv& getenv) : getenv_(getenv), settings_(BuildSettings()) {
    // The address that `wherefore run` passes on, unless another source sets one.
    if (std::string server = Variable("WHEREFORE_RUN_ENDPOINT"); !server.empty())
      target_.options.endpoint = std::move(server);
  }

  void ReadFile(const std::string& file) {
    // A pipe or a device could keep the host from ever starting.
    std::error_code error;
    constexpr std::uintmax_t kMostBytes = 1 << 20;
    const bool there = std::filesystem::exists(file, error);
    if (there && (!std::filesystem::is_regular_file(file, error) ||
                  std::filesystem::file_size(file, error) > kMostBytes)) {
      Warn(fmt::format("cannot read {}: it is no file, or larger than 1 MiB; going on without it",
                       file));
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
    auto repeated = document.repeated.begin();
    for (std::size_t i = 0; i <= document.scalars.size(); ++i) {
      for (; repeated != document.repeated.end() && repeated->scalar == i; ++repeated)
        ReadRepeated(file, *repeated);
      if (i == document.scalars.size()) break;
      const YamlScalar& scalar = document.scalars[i];
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
        Warn(fmt::format("{}{} is not {}; {}", setting.env,
                         setting.secret ? "" : fmt::format("='{}'", value), complaint->expected,
                         complaint->outcome));
      }
    }
  }

  LoadedOptions Finish(const std::function<void(Options&)>& code) {
    Options& o = target_.options;
    if (code) code(o);
    if (o.service_name.empty()) o.service_name = Variable("WHEREFORE_RUN_SERVICE");
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
    // Where an address of its own cannot be read, the server that takes the profiles is asked.
    o.opamp_url = OpampBeside(o.profiles_url);
    if (!a.opamp.empty())
      o.opamp_url =
          ResolveEndpoint({.base = {}, .own = a.opamp, .protocol = {}, .path = kOpampPath},
                          std::string(o.opamp_url), warnings_);
    if (!o.remote || !o.output_file.empty()) o.opamp_url.clear();
    AddHeaders(o.profiles_headers, a.headers, a.profiles_headers);
    AddHeaders(o.traces_headers, a.headers, a.traces_headers);
    LeaveOutBroken(o.profiles_headers);
    LeaveOutBroken(o.traces_headers);
    return {std::move(o), std::move(warnings_)};
  }

 private:
  [[nodiscard]] std::string Variable(const char* name) const {
    const char* const value = getenv_(name);
    return value == nullptr ? "" : value;
  }

  void Warn(std::string text) {
    constexpr std::size_t kMostWarnings = 20;
    if (warnings_.size() < kMostWarnings) warnings_.push_back(std::move(text));
    if (warnings_.size() == kMostWarnings) warnings_.emplace_back("more warnings are left out");
  }

  bool RatioSampler() const {
    const char* const sampler = getenv_("OTEL_TRACES_SAMPLER");
    return sampler != nullptr && std::string_view(sampler).ends_with("traceidratio");
  }

  // What a key says the second time is read after what it said the first.
  void ReadRepeated(const std::string& file, const YamlRepeated& key) {
    if (key.path[0] != "profiling") return;
    const std::string name = Join(key.path, key.path.size() > 1 ? 1 : 0);
    if (name == "types") types_ = {};
    if (key.inside) return;
    Warn(fmt::format("{}:{}: '{}' is there already, in line {}; the later one counts", file,
                     key.line, name, key.first_line));
  }

  void ReadScalar(const std::string& file, const YamlScalar& scalar) {
    const std::string name = Join(scalar.path, 1);
    const auto warn = [&](const std::string& text) {
      Warn(fmt::format("{}:{}: {}", file, scalar.line, text));
    };
    if (name.empty()) {
      warn(fmt::format(
          "'{}' is not a setting; under profiling: one 'key: value' a line is expected, "
          "such as 'types: [cpu, heap]'; left out",
          scalar.value));
      return;
    }
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
  std::vector<std::string> names = {
      "WHEREFORE_CONFIG",       "WHEREFORE_SAID",    "WHEREFORE_SERVER",  "WHEREFORE_RUN_SERVICE",
      "WHEREFORE_RUN_ENDPOINT", "WHEREFORE_LIBCHDB", "WHEREFORE_CHDB_DIR"};
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
