// References to the environment in a configuration: ${NAME}, ${env:NAME}, ${env:NAME:-default};
// $$ is one $. Pure apart from `lookup`; one thread.
//
// A value that is one unquoted reference takes YAML's scalar type (5 is a number, true a flag), but
// never structure; any other value with a reference in it is text. A variable that is not set and
// has no default is empty and a warning. Everything else of that form (${file:...}, a reference in
// a reference) is an error.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "settings/node.h"
#include "settings/problems.h"

namespace wherefore::gateway {

using Lookup = std::function<std::optional<std::string>(const std::string& name)>;

// The process's own environment.
[[nodiscard]] std::optional<std::string> FromEnvironment(const std::string& name);

void ReplaceReferences(settings::Node& node, const Lookup& lookup, settings::Problems& problems);

}  // namespace wherefore::gateway
