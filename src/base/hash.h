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
// For arrays of plain types without padding.
template <typename T>
Hash128 HashSpan(std::span<const T> items, std::uint64_t seed = 0) {
  return HashBytes(items.data(), items.size_bytes(), seed);
}
// Joins hashes and numbers into one 128-bit hash, two words at a time, in their order: two
// multiplications a pair, a third of what hashing their bytes costs. How many pairs come must be
// part of what is added, or follow from it.
class HashMixer {
 public:
  explicit HashMixer(std::uint64_t seed) : low_(seed ^ kFirst), high_(seed ^ kSecond) {}
  void Add(std::uint64_t a, std::uint64_t b) {
    low_ = Fold(a ^ kFirst, b ^ low_);
    high_ = Fold(b ^ kSecond, a ^ high_);
  }
  void Add(const Hash128& hash) { Add(hash.low, hash.high); }
  [[nodiscard]] Hash128 Finish() const {
    return {Fold(low_ ^ kThird, high_ ^ kFirst), Fold(high_ ^ kThird, low_ ^ kSecond)};
  }

 private:
  // Odd numbers with as many ones as zeros; the digits of pi.
  static constexpr std::uint64_t kFirst = 0x243f6a8885a308d3;
  static constexpr std::uint64_t kSecond = 0x13198a2e03707345;
  static constexpr std::uint64_t kThird = 0xa4093822299f31d1;

  // Every bit of the product, in 64.
  static std::uint64_t Fold(std::uint64_t a, std::uint64_t b) {
    const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }

  std::uint64_t low_;
  std::uint64_t high_;
};
inline std::uint64_t Hash64(std::string_view text) {
  return XXH3_64bits(text.data(), text.size());
}

}  // namespace wherefore

template <>
struct std::hash<wherefore::Hash128> {
  std::size_t operator()(const wherefore::Hash128& h) const noexcept { return h.low; }
};
