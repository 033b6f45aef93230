// Values inside values: the texts in the lists and maps that an attribute may hold (Value::kArray,
// Value::kMap). Pure; any thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace wherefore::formats {

// Whether the value under `key` has to go; `text` is empty for what is no text. Elements of a list
// have the list's own key.
using NestedTest = std::function<bool(std::string_view key, std::string_view text)>;

// AnyValue bytes of a list or map in which every value that `goes` names is the text `replacement`;
// none if nothing goes. `key`: of the whole value.
[[nodiscard]] std::optional<std::string> ReplaceNested(std::string_view value, std::string_view key,
                                                       std::string_view replacement,
                                                       const NestedTest& goes);

}  // namespace wherefore::formats
