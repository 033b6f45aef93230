// SHA-256 (FIPS 180-4), for the action `hash`: whoever sees the result cannot tell the value. Pure;
// any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace wherefore::gateway {

[[nodiscard]] std::array<std::uint8_t, 32> Sha256(std::string_view text);

}  // namespace wherefore::gateway
