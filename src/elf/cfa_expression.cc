#include "elf/cfa_expression.h"

#include <array>

#include "elf/byte_reader.h"

namespace wherefore::elf {
namespace {

enum Op : std::uint8_t {  // the DW_OP_* of the expressions we know
  kOpDeref = 0x06,
  kOpAnd = 0x1a,
  kOpMul = 0x1e,
  kOpPlus = 0x22,
  kOpPlusUconst = 0x23,
  kOpShl = 0x24,
  kOpGe = 0x2a,
  kOpLit0 = 0x30,
  kOpBreg0 = 0x70
};

}  // namespace

bool IsRegisterPlusOffset(std::span<const std::uint8_t> expression, std::uint64_t reg, bool deref,
                          std::int64_t* offset) {
  ByteReader reader(expression);
  if (reader.Read<std::uint8_t>() != kOpBreg0 + reg) return false;
  *offset = reader.Sleb();
  if (deref && reader.Read<std::uint8_t>() != kOpDeref) return false;
  return !reader.failed() && reader.left() == 0;
}

bool IsPltExpression(std::span<const std::uint8_t> expression, std::int32_t* threshold) {
  const std::array<std::uint8_t, 11> known = {kOpBreg0 + kRsp, 8,      kOpBreg0 + kRip, 0,
                                              kOpLit0 + 15,    kOpAnd, kOpLit0,         kOpGe,
                                              kOpLit0 + 3,     kOpShl, kOpPlus};
  if (expression.size() != known.size()) return false;
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (i != 6 && expression[i] != known[i]) return false;
  }
  *threshold = expression[6] - kOpLit0;
  return *threshold >= 0 && *threshold < 16;
}

namespace {

// Reads "breg<r> n". False if there is no such operation, or no room for another register.
bool ReadRegister(ByteReader& reader, std::uint8_t* reg, std::int64_t* offset) {
  const auto op = reader.Read<std::uint8_t>();
  if (reader.failed() || op < kOpBreg0 || op > kOpBreg0 + 15) return false;
  *reg = static_cast<std::uint8_t>(op - kOpBreg0);
  *offset = reader.Sleb();
  return !reader.failed();
}

// The CFA expressions of hand-written code: [breg n; deref; plus_uconst m], the same with [breg n;
// lit8; mul; plus] before the deref, and prefixes of both.
bool ReadCfa(std::span<const std::uint8_t> expression, CfaExpression& out) {
  ByteReader reader(expression);
  std::int64_t offset = 0;
  std::int64_t more = 0;
  if (!ReadRegister(reader, &out.base, &offset)) return false;
  ByteReader ahead = reader;
  if (ReadRegister(ahead, &out.index, &more)) {
    if (ahead.Read<std::uint8_t>() != kOpLit0 + 8 || ahead.Read<std::uint8_t>() != kOpMul ||
        ahead.Read<std::uint8_t>() != kOpPlus || !FitsOffset(more)) {
      return false;
    }
    offset += more * 8;
    reader = ahead;
  } else {
    out.index = kNoRegister;
  }
  std::int64_t plus = 0;
  while (reader.left() > 0 && !reader.failed()) {
    const auto op = reader.Read<std::uint8_t>();
    if (op == kOpDeref && !out.stored && plus == 0) {
      out.stored = true;
    } else if (op == kOpPlusUconst && plus == 0) {
      plus = static_cast<std::int64_t>(reader.Uleb());
    } else {
      return false;
    }
  }
  out.offset = static_cast<std::int32_t>(offset);
  out.plus = static_cast<std::int32_t>(plus);
  return !reader.failed() && FitsOffset(offset) && FitsOffset(plus);
}

void ReadRbp(const RegisterRule& rule, CfaExpression& out) {
  using Place = CfaExpression::Rbp;
  std::int64_t offset = rule.offset;
  out.rbp_place = Place::kLost;
  if (rule.kind == RegisterRule::Kind::kSame) {
    out.rbp_place = Place::kUnchanged;
  } else if (rule.kind == RegisterRule::Kind::kAtCfa) {
    out.rbp_place = Place::kAtCfa;
  } else if (rule.kind == RegisterRule::Kind::kExpression) {
    if (IsRegisterPlusOffset(rule.expression, kRbp, false, &offset)) out.rbp_place = Place::kAtRbp;
    if (IsRegisterPlusOffset(rule.expression, kRsp, false, &offset)) out.rbp_place = Place::kAtRsp;
  }
  const bool counts = out.rbp_place != Place::kUnchanged && out.rbp_place != Place::kLost;
  if (counts && (offset % 8 != 0 || !FitsOffset(offset))) out.rbp_place = Place::kLost;
  out.rbp = out.rbp_place == Place::kLost || !counts ? 0 : static_cast<std::int32_t>(offset);
}

}  // namespace

bool ReadExpression(const FrameState& state, CfaExpression& out) {
  if (!state.cfa_expression.empty()) {
    if (!ReadCfa(state.cfa_expression, out)) return false;
  } else {
    if (state.cfa_register > 15 || !FitsOffset(state.cfa_offset)) return false;
    out.base = static_cast<std::uint8_t>(state.cfa_register);
    out.offset = static_cast<std::int32_t>(state.cfa_offset);
  }
  ReadRbp(state.rbp, out);
  const std::int64_t place = state.rip.offset;
  if (state.rip.kind == RegisterRule::Kind::kInRegister && place >= 0 && place <= 15) {
    out.return_register = static_cast<std::uint8_t>(place);
    return true;
  }
  out.return_address = static_cast<std::int32_t>(place);
  return state.rip.kind == RegisterRule::Kind::kAtCfa && place % 8 == 0 && FitsOffset(place);
}

}  // namespace wherefore::elf
