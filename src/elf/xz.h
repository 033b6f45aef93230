// Unpacks the xz stream of a .gnu_debugdata section. Bounded memory; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace wherefore::elf {

// Fails on damaged input and if the output exceeds `max_bytes`.
[[nodiscard]] Result<std::vector<std::uint8_t>> UnpackXz(std::span<const std::uint8_t> packed,
                                                         std::size_t max_bytes);

}  // namespace wherefore::elf
