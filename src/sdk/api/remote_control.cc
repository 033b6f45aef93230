#include "sdk/api/remote_control.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "sdk/api/type_list.h"
#include "sdk/collect/profiler.h"
#include "sdk/config/remote_options.h"
#include "sdk/context/resource.h"
#include "sdk/context/tracer.h"
#include "sdk/platform/log.h"

namespace wherefore::sdk {
namespace {

constexpr std::string_view kFile = "profiling.yaml";

OpampDescription Describe() {
  // By these the server knows instances apart, as OpAMP says of SDKs.
  constexpr std::array<std::string_view, 3> kIdentifying = {"service.name", "service.namespace",
                                                            "service.instance.id"};
  OpampDescription out;
  for (ResourceAttribute& attribute : DescribeProcess(EffectiveOptions())) {
    const bool identifying = std::ranges::find(kIdentifying, attribute.key) != kIdentifying.end();
    (identifying ? out.identifying : out.other)
        .push_back({.key = std::move(attribute.key),
                    .text = std::move(attribute.text),
                    .number = attribute.number,
                    .is_number = attribute.is_number});
  }
  return out;
}

// The file we take: by its name, or the only one, which needs none. None at all takes back what was
// chosen before.
Result<std::string> FileOf(const OpampConfig& config) {
  std::string names;
  for (const auto& [name, body] : config.files) {
    if (name == kFile || (name.empty() && config.files.size() == 1)) return body;
    names += (names.empty() ? "" : ", ") + name;
  }
  if (config.files.empty()) return std::string();
  return Error(Code::kInvalid, fmt::format("there is no file {}, only {}", kFile, names));
}

Result<> Change(const OpampConfig& config) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::string file, FileOf(config));
  Result<RemoteOptions> remote = RemoteOptions::Read(file);
  if (!remote) return std::move(remote).error().Within(kFile);
  for (const std::string& key : remote->ignored())
    Log(LogLevel::kInfo, fmt::format("remote configuration: '{}' is not the server's to choose; "
                                     "left out",
                                     key));
  const Options now = SetRemoteOptions(*std::move(remote));
  Tracer::Global().SetConditional(now.conditional);
  Log(LogLevel::kInfo,
      fmt::format("{} (process {}), as {} wants it: {}", now.service_name, getpid(),
                  UrlWithoutUser(now.opamp_url), ListTypes(TypeStates())));
  return {};
}

Result<> Obey(const OpampConfig& config) {
  Result<> changed = Change(config);
  if (!changed)
    Log(LogLevel::kWarn, "the remote configuration changes nothing: " + changed.error().message());
  return changed;
}

}  // namespace

OpampHost RemoteControl() {
  return {.describe = &Describe,
          .effective = [] { return WriteRemoteOptions(EffectiveOptions()); },
          .apply = &Obey};
}

}  // namespace wherefore::sdk
