// The components a configuration may use, and how each is read: one table per component, in
// receivers.cc, processors.cc, exporters.cc and extensions.cc. Pure; any thread.
//
// A reader gets the component's id and its node (null: all defaults). Adding a key to a component
// is one line in its table; adding a component is a table and a line in its list.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/config/gateway_config.h"

namespace wherefore::gateway {

template <typename Config>
struct ComponentType {
  std::string_view name;  // the part of an id before '/'
  std::function<void(const settings::Node&, Config&, settings::Problems&)> read;
};
template <typename Config>
using ComponentTypes = std::vector<ComponentType<Config>>;

struct ExtensionConfig {
  std::string id;
  settings::Place place;
  std::string directory;  // file_storage
  std::string token;      // bearertokenauth
  std::string token_file;
  std::string scheme = "Bearer";
  HealthCheckConfig health;
};
using Extensions = std::map<std::string, ExtensionConfig>;  // those that are started

[[nodiscard]] const ComponentTypes<ExtensionConfig>& ExtensionTypes();
[[nodiscard]] const ComponentTypes<ProcessorConfig>& ProcessorTypes();
[[nodiscard]] const ComponentTypes<ExporterConfig>& ExporterTypes();
// Receivers name extensions that authenticate for them.
[[nodiscard]] ComponentTypes<ReceiverConfig> ReceiverTypes(const Extensions& extensions);

// "host:port" into its parts. An error goes to `problems` at `place`.
bool ReadEndpoint(std::string_view endpoint, const settings::Place& place, std::string& host,
                  std::uint16_t& port, settings::Problems& problems);

// All of a subtree as text, for comparisons.
[[nodiscard]] std::string CanonicalText(const settings::Node& node);

}  // namespace wherefore::gateway
