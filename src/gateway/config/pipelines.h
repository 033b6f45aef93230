// The pipelines of a configuration, and whether its parts fit together. Pure; any thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "gateway/config/component_tables.h"
#include "gateway/config/gateway_config.h"
#include "settings/fields.h"

namespace wherefore::gateway {

// Lists of component ids, with the place of each.
struct Name {
  std::string text;
  settings::Place place;
};

auto Names(auto member) {
  return [member](const settings::Entry& entry, auto& out, settings::Problems& problems) {
    if (!settings::ExpectList(entry.value, entry.key, problems)) return;
    for (const settings::Node& item : entry.value.items) {
      auto text = ReadText(item);
      if (text) {
        std::invoke(member, out).push_back({*std::move(text), item.place});
      } else {
        problems.Fail(item.place,
                      fmt::format("`{}`: expected a name, not {}", entry.key, item.Description()));
      }
    }
  };
}

template <typename Map>
std::vector<std::string_view> KeysOf(const Map& map) {
  std::vector<std::string_view> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys;
}

[[nodiscard]] inline std::string_view TypeOf(std::string_view id) {
  return id.substr(0, id.find('/'));
}

[[nodiscard]] inline bool IsId(std::string_view id) {
  const std::size_t slash = id.find('/');
  return slash != 0 && slash + 1 != id.size() && !id.contains(' ');
}

// service.pipelines; `config` has the components they may name.
[[nodiscard]] std::vector<PipelineConfig> ReadPipelines(const settings::Node& node,
                                                        const GatewayConfig& config,
                                                        settings::Problems& problems);

// Once all is read without an error: drops what no pipeline names, gives exporters their batches
// and queues their directories, and looks for ports that are wanted twice.
void FitTogether(GatewayConfig& config, const Extensions& extensions, const std::string& data,
                 settings::Problems& problems);

}  // namespace wherefore::gateway
