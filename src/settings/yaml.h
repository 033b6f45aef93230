// YAML text to a tree of Nodes. Pure; any thread.
//
// Always:  at most 1 MiB of text and 100,000 nodes, aliases counted as often as they are used; no
//          key twice in a map; one document; valid UTF-8.
// Failure: an error with its place among the problems, and no tree.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "settings/node.h"
#include "settings/problems.h"

namespace wherefore::settings {

inline constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxConfigNodes = 100'000;

[[nodiscard]] std::optional<Node> ParseYaml(std::string_view text, std::string_view file,
                                            Problems& problems);

// The same of the body of a request. JSON is YAML but for characters written as two halves
// ("\\ud83d\\ude00").
[[nodiscard]] std::optional<Node> ParseJsonBody(std::string_view text, std::string_view file,
                                                Problems& problems);

}  // namespace wherefore::settings
