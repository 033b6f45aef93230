// The language a program is written in, as far as its labels say. Pure; any thread.
#pragma once

#include <string_view>

#include "query/selector.h"

namespace wherefore::query {

// As telemetry.sdk.language spells it: cpp, go, java, python, nodejs, rust, dotnet, ruby. Empty:
// the labels do not say.
[[nodiscard]] std::string_view LanguageOf(const Labels& labels);

}  // namespace wherefore::query
