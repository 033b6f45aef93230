// The size of a table as a 32-bit index. Decoders bound what they read so that it fits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wherefore::formats {

constexpr std::uint32_t Size32(std::size_t size) {
  return static_cast<std::uint32_t>(size);
}

}  // namespace wherefore::formats
