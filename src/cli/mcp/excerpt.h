// Excerpt: a JSON answer of the server, cut to what an assistant is given at once.
//
// Lists and long texts are cut evenly until the whole fits; what was left out is said in the field
// `left_out`. Numbers stay as they are. Pure; any thread.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "cli/json.h"

namespace wherefore::cli {

struct ExcerptOptions {
  std::set<std::string_view> without;  // fields that say nothing to a reader, at any depth
  // Is the object short enough?
  std::function<bool(std::string_view json)> fits;
};

// `answer` is an object, and so is what is returned. Whatever is in it, the excerpt fits if
// {"left_out":["everything"]} does.
[[nodiscard]] std::string ExcerptOf(const JsonValue& answer, const ExcerptOptions& options);

}  // namespace wherefore::cli
