// 128-bit content hashes (XXH3). They give strings, stacks and requests their identity, within one
// request and across servers. Not secret: a hostile sender can only confuse its own data.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string_view>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace wherefore {

struct Hash128 {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool operator==(const Hash128&) const = default;
  auto operator<=>(const Hash128&) const = default;
};

inline Hash128 HashBytes(const void* data, std::size_t size, std::uint64_t seed = 0) {
  const XXH128_hash_t h = XXH3_128bits_withSeed(data, size, seed);
  return {h.low64, h.high64};
}
inline Hash128 HashString(std::string_view text, std::uint64_t seed = 0) {
  return HashBytes(text.data(), text.size(), seed);
}
// Hash of a plain struct or array without padding.
template <typename T>
Hash128 HashSpan(std::span<const T> items, std::uint64_t seed = 0) {
  return HashBytes(items.data(), items.size_bytes(), seed);
}
inline std::uint64_t Hash64(std::string_view text) {
  return XXH3_64bits(text.data(), text.size());
}

}  // namespace wherefore

template <>
struct std::hash<wherefore::Hash128> {
  std::size_t operator()(const wherefore::Hash128& h) const noexcept { return h.low; }
};
