// StackReader: the stack and the code that an unwind looks at, safe in a signal handler.
//
// Inside the bounds that the caller vouches for memory is read where it is, everything else through
// the kernel, in windows of 256 bytes: nothing faults. Belongs to one unwind.
#pragma once

#include <cstdint>

#include "sdk/unwind/stack_memory.h"

namespace wherefore::sdk {

class StackReader {
 public:
  // Before window_start_ is set nobody reads window_.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): see above
  explicit StackReader(const StackMemory& stack) : stack_(stack) {}

  // Any word of the stack, between its variables too, which is nothing for a sanitizer to judge.
  [[nodiscard]] __attribute__((no_sanitize("address"))) bool Read(std::uint64_t address,
                                                                  std::uint64_t* value) {
    if (address % 8 != 0) return false;
    if (address >= stack_.low && address < stack_.high && stack_.high - address >= 8) {
      const auto* const at = stack_.copy == nullptr
                                 // NOLINTNEXTLINE(performance-no-int-to-ptr): a stack address
                                 ? reinterpret_cast<const std::uint8_t*>(address)
                                 : stack_.copy + (address - stack_.low);
      *value = *reinterpret_cast<const std::uint64_t*>(at);
      return true;
    }
    return !stack_.only_code_outside && ReadCode(address, value);
  }
  // Fails inside the stack: there is no code, so the address was wrong.
  [[nodiscard]] bool ReadCode(std::uint64_t address, std::uint64_t* value) {
    const bool in_stack = address >= stack_.low && address < stack_.high;
    return !in_stack && stack_.pid != 0 && ReadOutside(address, value);
  }

  // The eight bytes of code at an address that need not be a multiple of eight.
  [[nodiscard]] bool ReadCodeAt(std::uint64_t address, std::uint64_t* value) {
    const unsigned shift = address % 8 * 8;
    std::uint64_t low = 0, high = 0;
    if (!ReadCode(address & ~std::uint64_t{7}, &low)) return false;
    if (shift == 0) {
      *value = low;
      return true;
    }
    if (!ReadCode((address & ~std::uint64_t{7}) + 8, &high)) return false;
    *value = low >> shift | high << (64 - shift);
    return true;
  }

 private:
  static constexpr std::uint64_t kWindow = 256;  // read through the kernel at once; divides a page

  bool ReadOutside(std::uint64_t address, std::uint64_t* value) {
    const std::uint64_t start = address & ~(kWindow - 1);
    if (start != window_start_ || start == 0) {
      window_start_ = 0;
      if (!ReadByKernel(stack_.pid, start, window_, kWindow)) return false;
      window_start_ = start;
    }
    *value = window_[(address - start) / 8];
    return true;
  }

  const StackMemory& stack_;
  std::uint64_t window_start_ = 0;
  std::uint64_t window_[kWindow / 8];
};

}  // namespace wherefore::sdk
