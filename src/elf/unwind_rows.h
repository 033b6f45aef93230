// The rows of an UnwindTable, and how to search them.
//
// Plain data and inline functions without library calls: a signal handler reads this. Addresses are
// relative to ElfFile::base_address(). A row holds from its address up to the next row's.
#pragma once

#include <compare>
#include <cstdint>

namespace wherefore::elf {

// How to get from a frame to its caller. CFA is the value of rsp before the call; the return
// address is at CFA - 8 unless stated otherwise.
enum class RowKind : std::uint8_t {
  kNone,         // no function here
  kCfaRsp,       // CFA = rsp + cfa
  kCfaRbp,       // CFA = rbp + cfa
  kCfaRbpDeref,  // CFA = *(rbp + cfa): a realigned stack; the saved rbp is at rbp + rbp
  kPlt,          // CFA = rsp + 8, and 8 more once (pc & 15) >= cfa (which is not scaled)
  kSignal,       // the kernel's signal frame: rsp points at the ucontext
  kEndOfStack,   // the outermost frame: the return address is undefined
  kUnsupported,  // any other rule; the frame pointer may help
  kWide,         // cfa is an index into the table's wide rules
  kExpression    // cfa is an index into the table's expressions (and is not scaled)
};

struct UnwindRow {
  std::uint32_t address = 0;
  std::int16_t cfa = 0;  // in units of 8 bytes
  RowKind kind = RowKind::kNone;
  std::int8_t rbp = 0;  // saved at CFA + rbp * 8; see below
};
static_assert(sizeof(UnwindRow) == 8);

inline constexpr std::int8_t kRbpUnchanged = 0;  // (CFA + 0 belongs to the caller: never a slot)
inline constexpr std::int8_t kRbpLost = 127;     // its value cannot be found

// A rule whose offsets do not fit a row, in bytes.
struct WideRule {
  std::int32_t cfa = 0;
  std::int32_t rbp = 0;
  RowKind kind = RowKind::kUnsupported;
};

inline constexpr std::uint8_t kNoRegister = 0xff;

// A rule of hand-written code and of rare compiler output: a CFA in another register or in memory.
// Registers have DWARF numbers.
//   CFA = base + 8 * index + offset, or the value stored there, + plus
struct CfaExpression {
  enum class Rbp : std::uint8_t { kUnchanged, kLost, kAtCfa, kAtRbp, kAtRsp };

  std::int32_t offset = 0;
  std::int32_t plus = 0;
  std::int32_t rbp = 0;             // offset of the caller's rbp, relative to rbp_place
  std::int32_t return_address = 0;  // at CFA + this, unless it is in a register
  std::uint8_t base = kNoRegister;
  std::uint8_t index = kNoRegister;
  std::uint8_t return_register = kNoRegister;
  bool stored = false;
  Rbp rbp_place = Rbp::kUnchanged;

  auto operator<=>(const CfaExpression&) const = default;
};

// A rule with offsets in bytes, whatever kind of row it came from.
struct UnwindRule {
  std::int32_t cfa = 0;
  std::int32_t rbp = 0;  // kRbpUnchanged, kRbpLost (never a multiple of 8) or an offset
  RowKind kind = RowKind::kNone;
};

// Borrowed from an UnwindTable.
struct UnwindRows {
  const UnwindRow* rows = nullptr;
  const std::uint32_t* pages = nullptr;  // index of the row that covers each page's first byte
  const WideRule* wide = nullptr;
  const CfaExpression* expressions = nullptr;
  std::uint32_t row_count = 0;
  std::uint32_t page_count = 0;
};

inline constexpr unsigned kRowPageBits = 12;

inline UnwindRule RuleOfRow(const UnwindRows& table, const UnwindRow& row) {
  if (row.kind == RowKind::kWide) {
    const WideRule& wide = table.wide[static_cast<std::uint16_t>(row.cfa)];
    return {wide.cfa, wide.rbp, wide.kind};
  }
  const int scale = row.kind == RowKind::kPlt || row.kind == RowKind::kExpression ? 1 : 8;
  return {row.cfa * scale, row.rbp == kRbpLost ? kRbpLost : row.rbp * 8, row.kind};
}

inline UnwindRule FindRule(const UnwindRows& table, std::uint32_t address) {
  const std::uint32_t page = address >> kRowPageBits;
  if (table.row_count == 0 || page >= table.page_count || address < table.rows[0].address) {
    return {};
  }
  std::uint32_t low = table.pages[page];
  std::uint32_t high = page + 1 < table.page_count ? table.pages[page + 1] + 1 : table.row_count;
  while (high - low > 1) {  // rows[low].address <= address < rows[high].address
    const std::uint32_t middle = low + (high - low) / 2;
    if (table.rows[middle].address <= address) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return RuleOfRow(table, table.rows[low]);
}

}  // namespace wherefore::elf
