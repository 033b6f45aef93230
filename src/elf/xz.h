// Unpacks the xz stream of a .gnu_debugdata section. Bounded in memory; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace wherefore::elf {

// Fails for damaged input and for more than `max_bytes` of output.
[[nodiscard]] Result<std::vector<std::uint8_t>> UnpackXz(std::span<const std::uint8_t> packed,
                                                         std::size_t max_bytes);

}  // namespace wherefore::elf
