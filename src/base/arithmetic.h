// Sums and products of untrusted values, without undefined behaviour.
//
// Saturating: a result that does not fit 64 bits becomes INT64_MAX or INT64_MIN, and whoever shows
// it to people marks it (IsSaturated). A sum that wrapped would be a wrong number that looks like
// any other.
#pragma once

#include <cstdint>

namespace wherefore {

[[nodiscard]] constexpr std::int64_t SaturatingAdd(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < 0 ? INT64_MIN : INT64_MAX;
}

[[nodiscard]] constexpr std::int64_t SaturatingMultiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) != (b < 0) ? INT64_MIN : INT64_MAX;
}

// Whether a sum reached the end of 64 bits.
[[nodiscard]] constexpr bool IsSaturated(std::int64_t value) {
  return value == INT64_MAX || value == INT64_MIN;
}

// For counters that are expected to wrap.
[[nodiscard]] constexpr std::int64_t WrappingAdd(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

}  // namespace wherefore
