// Any bytes as a configuration: no crash, bounded work, and each rejection names file and line.
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/config/gateway_config.h"
#include "settings/yaml.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using wherefore::settings::Problem;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  wherefore::settings::Problems problems;
  auto root = wherefore::settings::ParseYaml(text, "f", problems);
  if (!root && !problems.failed()) std::abort();
  if (root && root->is_map()) {
    wherefore::gateway::ReplaceReferences(
        *root, [](const std::string&) { return std::optional<std::string>("5"); }, problems);
    (void)wherefore::gateway::ReadGatewayConfig(*root, "data", problems);
  }
  for (const Problem& problem : problems.list()) {
    if (!problem.place.file || problem.place.line < 1 || problem.what.empty()) std::abort();
  }
  return 0;
}
