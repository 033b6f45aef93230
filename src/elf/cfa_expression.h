// What the expressions and the rarer rules of .eh_frame mean. Pure functions; bytes are not
// trusted.
#pragma once

#include <cstdint>
#include <span>

#include "elf/eh_frame.h"
#include "elf/unwind_rows.h"

namespace wherefore::elf {

// DWARF's numbers.
inline constexpr std::uint64_t kRbp = 6;
inline constexpr std::uint64_t kRsp = 7;
inline constexpr std::uint64_t kRip = 16;

inline bool FitsOffset(std::int64_t offset) {
  return offset >= INT32_MIN && offset <= INT32_MAX;
}

// [breg<reg> offset] alone, or followed by a deref.
[[nodiscard]] bool IsRegisterPlusOffset(std::span<const std::uint8_t> expression, std::uint64_t reg,
                                        bool deref, std::int64_t* offset);
// What linkers write for .plt: rsp + 8 + ((rip & 15) >= n) << 3. Gives n.
[[nodiscard]] bool IsPltExpression(std::span<const std::uint8_t> expression,
                                   std::int32_t* threshold);
// Rules that have no row of their own. False: of a kind that no known compiler or hand writes.
[[nodiscard]] bool ReadExpression(const FrameState& state, CfaExpression& out);

}  // namespace wherefore::elf
