// Interprets the expressions and rare rules of .eh_frame. Pure functions; the bytes are untrusted.
#pragma once

#include <cstdint>
#include <span>

#include "elf/eh_frame.h"
#include "elf/unwind_rows.h"

namespace wherefore::elf {

// DWARF register numbers.
inline constexpr std::uint64_t kRbp = 6;
inline constexpr std::uint64_t kRsp = 7;
inline constexpr std::uint64_t kRip = 16;

inline bool FitsOffset(std::int64_t offset) {
  return offset >= INT32_MIN && offset <= INT32_MAX;
}

// [breg<reg> offset], alone or followed by a deref.
[[nodiscard]] bool IsRegisterPlusOffset(std::span<const std::uint8_t> expression, std::uint64_t reg,
                                        bool deref, std::int64_t* offset);
// The expression linkers write for .plt: rsp + 8 + ((rip & 15) >= n) << 3. Returns n.
[[nodiscard]] bool IsPltExpression(std::span<const std::uint8_t> expression,
                                   std::int32_t* threshold);
// Rules that do not fit a plain row. False for a form no known compiler or assembler code uses.
[[nodiscard]] bool ReadExpression(const FrameState& state, CfaExpression& out);

}  // namespace wherefore::elf
