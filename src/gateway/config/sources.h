// Where a configuration comes from: files, one over the other, and --set on top. Reads files; one
// thread.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gateway/config/references.h"
#include "settings/node.h"
#include "settings/problems.h"

namespace wherefore::gateway {

// What stands at the top of a configuration. `connectors` is known, to be refused with a reason.
inline constexpr std::array<std::string_view, 8> kRootKeys = {
    "receivers",  "processors", "exporters", "extensions",
    "connectors", "service",    "profiling", "wherefore"};

struct ConfigSources {
  std::vector<std::string> files;
  std::vector<std::string> sets;  // "exporters.otlphttp/traces.endpoint=http://host:4318"
};

// All sources as one tree, references replaced. Errors go to `problems`, the rest is merged.
[[nodiscard]] settings::Node ReadSources(const ConfigSources& sources, const Lookup& lookup,
                                         settings::Problems& problems);

// Whether this text has one of the root keys. A file of `name = value` lines (serve's options) has
// none.
[[nodiscard]] bool IsPipelineConfig(std::string_view text);

// The file's bytes, at most kMaxConfigBytes + 1 of them.
[[nodiscard]] Result<std::string> ReadConfigFile(const std::string& path);

}  // namespace wherefore::gateway
