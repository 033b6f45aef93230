// SHA-256, by OpenSSL: whoever sees the result cannot tell the text. Pure; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace wherefore::net {

[[nodiscard]] std::array<std::uint8_t, 32> Sha256(std::string_view text);

}  // namespace wherefore::net
