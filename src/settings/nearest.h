// The name somebody probably meant. Pure; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace wherefore::settings {

// The known name with the fewest slips of the finger (a character more, less, changed, or two
// swapped) from `name`; empty if none is close.
[[nodiscard]] std::string_view NearestName(std::string_view name,
                                           std::span<const std::string_view> known);

// "; did you mean `batch`?" if one is close, and what there is: "; there is: a, b, c".
[[nodiscard]] std::string WhatExists(std::string_view name,
                                     std::span<const std::string_view> known);

}  // namespace wherefore::settings
