// ByteReader: reads little-endian numbers from untrusted bytes.
//
// Reading past the end returns 0 and sets failed() permanently, so a parser checks once per record
// instead of once per number. Borrows the bytes; one thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace wherefore::elf {

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::uint8_t> bytes, std::size_t at = 0)
      : bytes_(bytes), at_(at), failed_(at > bytes.size()) {}

  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] std::size_t at() const { return at_; }
  [[nodiscard]] std::size_t left() const { return failed_ ? 0 : bytes_.size() - at_; }

  template <typename T>
  [[nodiscard]] T Read() {
    T value{};
    if (left() < sizeof(T)) {
      failed_ = true;
      return value;
    }
    std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }

  // Bits beyond the 64th are dropped, as in every DWARF reader.
  [[nodiscard]] std::uint64_t Uleb() { return Leb().bits; }

  [[nodiscard]] std::int64_t Sleb() {
    const LebNumber number = Leb();
    const bool extend = number.negative && number.width < 64;
    return static_cast<std::int64_t>(extend ? number.bits | ~std::uint64_t{0} << number.width
                                            : number.bits);
  }

  // The text up to the terminating zero, which is skipped.
  [[nodiscard]] std::string_view CString() {
    const auto rest = left() == 0 ? std::span<const std::uint8_t>() : bytes_.subspan(at_);
    const void* const end = rest.empty() ? nullptr : std::memchr(rest.data(), 0, rest.size());
    if (end == nullptr) {
      failed_ = true;
      return {};
    }
    const auto size = static_cast<std::size_t>(static_cast<const std::uint8_t*>(end) - rest.data());
    at_ += size + 1;
    return {reinterpret_cast<const char*>(rest.data()), size};
  }

  [[nodiscard]] std::span<const std::uint8_t> Take(std::uint64_t size) {
    if (size > left()) {
      failed_ = true;
      return {};
    }
    const auto taken = bytes_.subspan(at_, size);
    at_ += size;
    return taken;
  }

 private:
  struct LebNumber {
    std::uint64_t bits = 0;
    unsigned width = 0;     // of the bits read
    bool negative = false;  // if it is signed
  };
  LebNumber Leb() {
    LebNumber number;
    while (true) {
      const auto byte = Read<std::uint8_t>();
      if (failed_) return {};
      if (number.width < 64) number.bits |= static_cast<std::uint64_t>(byte & 0x7f) << number.width;
      number.width += 7;
      number.negative = (byte & 0x40) != 0;
      if ((byte & 0x80) == 0) return number;
    }
  }

  std::span<const std::uint8_t> bytes_;
  std::size_t at_;
  bool failed_;
};

}  // namespace wherefore::elf
