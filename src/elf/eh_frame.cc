#include "elf/eh_frame.h"

#include <algorithm>

#include "elf/cfa_expression.h"

namespace wherefore::elf {
namespace {

constexpr std::size_t kMaxRememberedStates = 64;
constexpr std::size_t kMaxCies = 65536;
constexpr std::size_t kMaxCieBytes = 65536;
// Offset of rsp in the ucontext that a signal frame's rsp points to.
constexpr std::int64_t kUcontextRsp = 160;

// DW_EH_PE_*: pointer encodings.
constexpr std::uint8_t kPointerOmitted = 0xff;
constexpr std::uint8_t kPointerFormat = 0x0f;
constexpr std::uint8_t kPointerBase = 0x70;
constexpr std::uint8_t kPointerPcRelative = 0x10;
constexpr std::uint8_t kPointerAligned = 0x50;

enum Cfa : std::uint8_t {  // DW_CFA_*
  kNop = 0x00,
  kSetLoc = 0x01,
  kAdvanceLoc1 = 0x02,
  kAdvanceLoc2 = 0x03,
  kAdvanceLoc4 = 0x04,
  kOffsetExtended = 0x05,
  kRestoreExtended = 0x06,
  kUndefined = 0x07,
  kSameValue = 0x08,
  kRegister = 0x09,
  kRememberState = 0x0a,
  kRestoreState = 0x0b,
  kDefCfa = 0x0c,
  kDefCfaRegister = 0x0d,
  kDefCfaOffset = 0x0e,
  kDefCfaExpression = 0x0f,
  kExpression = 0x10,
  kOffsetExtendedSf = 0x11,
  kDefCfaSf = 0x12,
  kDefCfaOffsetSf = 0x13,
  kValOffset = 0x14,
  kValOffsetSf = 0x15,
  kValExpression = 0x16,
  kGnuArgsSize = 0x2e,
  kGnuNegativeOffsetExtended = 0x2f,
  kAdvanceLoc = 0x40,  // operand in the low six bits, as in the next two
  kOffset = 0x80,
  kRestore = 0xc0
};

std::int64_t Multiply(std::uint64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(a * static_cast<std::uint64_t>(b));
}

std::int64_t ScaledSleb(ByteReader& reader, std::int64_t align) {
  return Multiply(static_cast<std::uint64_t>(reader.Sleb()), align);
}

// The rules of nearly all rows; kUnsupported for others.
UnwindRule CommonRule(const FrameState& state) {
  UnwindRule rule{.kind = RowKind::kUnsupported};
  if (state.rip.kind != RegisterRule::Kind::kAtCfa || state.rip.offset != -8) return rule;
  std::int64_t offset = 0;
  std::int64_t rbp_slot = 0;
  if (!state.cfa_expression.empty()) {
    if (IsPltExpression(state.cfa_expression, &rule.cfa)) {
      rule.kind = RowKind::kPlt;
    } else if (IsRegisterPlusOffset(state.cfa_expression, kRbp, true, &offset) &&
               state.rbp.kind == RegisterRule::Kind::kExpression &&
               IsRegisterPlusOffset(state.rbp.expression, kRbp, false, &rbp_slot) &&
               FitsOffset(offset) && FitsOffset(rbp_slot)) {
      rule = {static_cast<std::int32_t>(offset), static_cast<std::int32_t>(rbp_slot),
              RowKind::kCfaRbpDeref};
    }
    return rule;
  }
  const bool known_register = state.cfa_register == kRsp || state.cfa_register == kRbp;
  if (!known_register || !FitsOffset(state.cfa_offset)) return rule;
  rule.kind = state.cfa_register == kRsp ? RowKind::kCfaRsp : RowKind::kCfaRbp;
  rule.cfa = static_cast<std::int32_t>(state.cfa_offset);
  if (state.rbp.kind == RegisterRule::Kind::kSame) return rule;
  // At the end of a function with a realigned stack, compilers leave the rule of its body in force
  // (*(rbp + n)), although rbp is already the caller's again.
  const bool left_standing =
      state.rbp.kind == RegisterRule::Kind::kExpression && rule.kind == RowKind::kCfaRsp;
  if (left_standing) return rule;
  const bool saved = state.rbp.kind == RegisterRule::Kind::kAtCfa && state.rbp.offset % 8 == 0 &&
                     state.rbp.offset < 0 && FitsOffset(state.rbp.offset);
  rule.rbp = saved ? static_cast<std::int32_t>(state.rbp.offset) : kRbpLost;
  return rule;
}

}  // namespace

// Runs for every row there is, so it must be fast.
[[gnu::always_inline]] inline UnwindRule EhFrameReader::RuleOf(const FrameState& state,
                                                               bool signal_frame) {
  if (state.broken) return {.kind = RowKind::kUnsupported};
  if (signal_frame) {
    std::int64_t offset = 0;
    const bool known =
        IsRegisterPlusOffset(state.cfa_expression, kRsp, true, &offset) && offset == kUcontextRsp;
    return {.kind = known ? RowKind::kSignal : RowKind::kUnsupported};
  }
  if (state.rip.kind == RegisterRule::Kind::kUndefined) return {.kind = RowKind::kEndOfStack};
  const UnwindRule common = CommonRule(state);
  return common.kind == RowKind::kUnsupported ? RareRule(state) : common;
}

[[gnu::noinline]] UnwindRule EhFrameReader::RareRule(const FrameState& state) {
  constexpr std::size_t kMaxExpressions = INT16_MAX;
  CfaExpression expression;
  if (!ReadExpression(state, expression)) return {.kind = RowKind::kUnsupported};
  const auto known = expression_ids_.find(expression);
  if (known != expression_ids_.end()) return {.cfa = known->second, .kind = RowKind::kExpression};
  if (expressions_.size() >= kMaxExpressions) return {.kind = RowKind::kUnsupported};
  const auto next = static_cast<std::int32_t>(expressions_.size());
  expression_ids_.emplace(expression, next);
  expressions_.push_back(expression);
  return {.cfa = next, .kind = RowKind::kExpression};
}

// The state of the machine that runs call frame instructions.
struct EhFrameReader::Program {
  const Cie* cie = nullptr;
  std::vector<FrameRow>* rows = nullptr;  // null while the CIE's instructions run
  FunctionRange function;
  std::uint64_t location = 0;
  FrameState state;
  std::vector<FrameState>& remembered;
  EhFrameReader* reader = nullptr;

  // Other registers do not matter for unwinding.
  RegisterRule* RuleOf(std::uint64_t reg) {
    return reg == kRbp ? &state.rbp : reg == kRip ? &state.rip : nullptr;
  }

  void SetRule(std::uint64_t reg, RegisterRule rule) {
    if (RegisterRule* const target = RuleOf(reg)) *target = rule;
  }

  void Restore(std::uint64_t reg) {
    if (reg == kRbp) state.rbp = cie->initial.rbp;
    if (reg == kRip) state.rip = cie->initial.rip;
  }

  void SetCfa(std::uint64_t reg, std::int64_t offset) {
    state.cfa_register = reg;
    state.cfa_offset = offset;
    state.cfa_expression = {};
  }

  void Emit() {
    if (rows == nullptr || location < function.start || location >= function.end) return;
    const UnwindRule rule = reader->RuleOf(state, cie->signal_frame);
    if (reader->watch_) reader->watch_(state, rule);
    if (!rows->empty() && rows->back().address == location) {
      rows->back().rule = rule;
    } else {
      rows->push_back({location, rule});
    }
  }

  // Moves forward; never back.
  void MoveTo(std::uint64_t target) {
    Emit();
    if (target < location) state.broken = true;
    location = std::max(location, target);
  }

  void Advance(std::uint64_t delta) { MoveTo(location + delta * cie->code_align); }
};

bool EhFrameReader::ReadEntry(std::size_t at, Entry& entry, std::size_t& next) const {
  ByteReader reader(section_, at);
  std::uint64_t length = reader.Read<std::uint32_t>();
  const bool wide = length == 0xffffffff;
  if (wide) length = reader.Read<std::uint64_t>();
  if (reader.failed() || length == 0 || length > reader.left()) return false;
  entry.id_at = reader.at();
  next = reader.at() + length;
  entry.body = ByteReader(section_.first(next), reader.at());
  // In .eh_frame the id has four bytes, in the 64-bit format too.
  entry.id = entry.body.Read<std::uint32_t>();
  return !entry.body.failed();
}

std::uint64_t EhFrameReader::ReadPointer(ByteReader& reader, std::uint8_t encoding) const {
  if (encoding == kPointerOmitted) return 0;
  if ((encoding & kPointerBase) == kPointerAligned) {
    const std::uint64_t misaligned = (address_ + reader.at()) % 8;
    if (misaligned != 0) (void)reader.Take(8 - misaligned);
    return reader.Read<std::uint64_t>();
  }
  const std::uint64_t place = address_ + reader.at();
  std::uint64_t value = 0;
  switch (encoding & kPointerFormat) {
    case 0x00:
    case 0x04:
    case 0x0c:
      value = reader.Read<std::uint64_t>();
      break;
    case 0x01:
      value = reader.Uleb();
      break;
    case 0x02:
      value = reader.Read<std::uint16_t>();
      break;
    case 0x03:
      value = reader.Read<std::uint32_t>();
      break;
    case 0x09:
      value = static_cast<std::uint64_t>(reader.Sleb());
      break;
    case 0x0a:
      value = static_cast<std::uint64_t>(std::int64_t{reader.Read<std::int16_t>()});
      break;
    case 0x0b:
      value = static_cast<std::uint64_t>(std::int64_t{reader.Read<std::int32_t>()});
      break;
    default:
      (void)reader.Take(reader.left() + 1);  // unknown format: give up on this entry
  }
  // On x86-64, code addresses are never relative to text, data or function.
  return (encoding & kPointerBase) == kPointerPcRelative ? place + value : value;
}

bool EhFrameReader::ReadAugmentation(ByteReader& reader, std::string_view letters, Cie& cie,
                                     const EhFrameReader& frames) {
  if (letters.empty()) return true;
  if (letters[0] != 'z') return false;
  cie.augmented = true;
  const std::uint64_t size = reader.Uleb();
  ByteReader data = reader;
  (void)reader.Take(size);
  if (reader.failed()) return false;
  for (const char letter : letters.substr(1)) {
    if (letter == 'R') {
      cie.pointer_encoding = data.Read<std::uint8_t>();
    } else if (letter == 'L') {
      (void)data.Read<std::uint8_t>();
    } else if (letter == 'P') {
      const auto encoding = data.Read<std::uint8_t>();
      (void)frames.ReadPointer(data, encoding);
    } else if (letter == 'S') {
      cie.signal_frame = true;
    } else if (letter != 'B' && letter != 'G') {
      return false;
    }
  }
  return !data.failed();
}

EhFrameReader::Cie EhFrameReader::ParseCie(std::size_t at) {
  Cie cie;
  Entry entry;
  std::size_t next = 0;
  if (!ReadEntry(at, entry, next) || entry.id != 0 || next - at > kMaxCieBytes) return cie;
  ByteReader& reader = entry.body;
  const auto version = reader.Read<std::uint8_t>();
  const std::string_view letters = reader.CString();
  if (version != 1 && version != 3 && version != 4) return cie;
  if (version == 4) (void)reader.Read<std::uint16_t>();  // sizes of addresses and segments
  cie.code_align = reader.Uleb();
  cie.data_align = reader.Sleb();
  const std::uint64_t return_register = version == 1 ? reader.Read<std::uint8_t>() : reader.Uleb();
  if (reader.failed() || return_register != kRip) return cie;
  if (!ReadAugmentation(reader, letters, cie, *this)) return cie;
  std::vector<FrameState> remembered;
  Program program{.cie = &cie, .remembered = remembered};
  Run(reader.Take(reader.left()), program);
  cie.initial = program.state;
  cie.usable = !program.state.broken;
  return cie;
}

const EhFrameReader::Cie& EhFrameReader::CieAt(std::size_t at) {
  static const Cie kUnusable;
  const auto it = cies_.find(at);
  if (it != cies_.end()) return it->second;
  if (cies_.size() >= kMaxCies) return kUnusable;
  return cies_.emplace(at, ParseCie(at)).first->second;
}

bool EhFrameReader::ParseFde(Entry& entry, const Cie& cie, FunctionRange& function,
                             std::vector<FrameRow>& rows) {
  ByteReader& reader = entry.body;
  function.start = ReadPointer(reader, cie.pointer_encoding);
  const std::uint64_t size = ReadPointer(reader, cie.pointer_encoding & kPointerFormat);
  function.end = function.start + size;
  if (cie.augmented) (void)reader.Take(reader.Uleb());
  // The linker leaves entries of discarded functions behind, at address 0.
  if (reader.failed() || function.start == 0 || function.end <= function.start) return false;
  remembered_.clear();
  Program program{.cie = &cie,
                  .rows = &rows,
                  .function = function,
                  .location = function.start,
                  .state = cie.initial,
                  .remembered = remembered_,
                  .reader = this};
  Run(reader.Take(reader.left()), program);
  program.Emit();
  return true;
}

// Also false for a CIE.
bool EhFrameReader::Describe(Entry& entry, FunctionRange& function, std::vector<FrameRow>& rows) {
  if (entry.id == 0 || entry.id > entry.id_at) return false;
  const Cie& cie = CieAt(entry.id_at - entry.id);
  return cie.usable && ParseFde(entry, cie, function, rows);
}

bool EhFrameReader::At(std::size_t offset, FunctionRange& function, std::vector<FrameRow>& rows) {
  rows.clear();
  Entry entry;
  std::size_t next = 0;
  return ReadEntry(offset, entry, next) && Describe(entry, function, rows) && budget_ > 0;
}

std::size_t EhFrameReader::Count() const {
  std::size_t count = 0;
  Entry entry;
  for (std::size_t at = 0, next = 0; ReadEntry(at, entry, next); at = next)
    count += entry.id != 0 ? 1 : 0;
  return count;
}

Result<bool> EhFrameReader::Next(FunctionRange& function, std::vector<FrameRow>& rows) {
  rows.clear();
  Entry entry;
  std::size_t next = 0;
  while (ReadEntry(at_, entry, next)) {
    at_ = next;
    const bool described = Describe(entry, function, rows);
    if (budget_ == 0) return Error(Code::kLimit, ".eh_frame: too much work for its size");
    if (described) return true;
  }
  return false;
}

void EhFrameReader::Run(std::span<const std::uint8_t> instructions, Program& program) {
  ByteReader reader(instructions);
  const Cie& cie = *program.cie;
  while (reader.left() > 0 && !program.state.broken) {
    if (budget_ == 0) break;
    --budget_;
    const auto byte = reader.Read<std::uint8_t>();
    const auto operand = static_cast<std::uint8_t>(byte & 0x3f);
    switch (byte & 0xc0) {
      case kAdvanceLoc:
        program.Advance(operand);
        break;
      case kOffset:
        program.SetRule(operand,
                        {RegisterRule::Kind::kAtCfa, Multiply(reader.Uleb(), cie.data_align), {}});
        break;
      case kRestore:
        program.Restore(operand);
        break;
      default:
        RunOther(byte, reader, program);
    }
    if (reader.failed()) program.state.broken = true;
  }
}

void EhFrameReader::RunOther(std::uint8_t opcode, ByteReader& reader, Program& program) {
  const Cie& cie = *program.cie;
  FrameState& state = program.state;
  switch (opcode) {
    case kNop:
      return;
    case kSetLoc:
      return program.MoveTo(ReadPointer(reader, cie.pointer_encoding));
    case kAdvanceLoc1:
      return program.Advance(reader.Read<std::uint8_t>());
    case kAdvanceLoc2:
      return program.Advance(reader.Read<std::uint16_t>());
    case kAdvanceLoc4:
      return program.Advance(reader.Read<std::uint32_t>());
    case kRememberState:
      state.broken = program.remembered.size() == kMaxRememberedStates;
      program.remembered.push_back(state);
      return;
    case kRestoreState:
      state.broken = program.remembered.empty();
      if (state.broken) return;
      state = program.remembered.back();
      program.remembered.pop_back();
      return;
    case kDefCfaRegister:
      return program.SetCfa(reader.Uleb(), state.cfa_offset);
    case kDefCfaOffset:
      return program.SetCfa(state.cfa_register, static_cast<std::int64_t>(reader.Uleb()));
    case kDefCfaOffsetSf:
      return program.SetCfa(state.cfa_register, ScaledSleb(reader, cie.data_align));
    case kDefCfaExpression:
      state.cfa_expression = reader.Take(reader.Uleb());
      state.broken = state.cfa_expression.empty();
      return;
    case kGnuArgsSize:
      (void)reader.Uleb();
      return;
    default:
      RunRegister(opcode, reader, program);
  }
}

// Instructions whose first operand is a register.
void EhFrameReader::RunRegister(std::uint8_t opcode, ByteReader& reader, Program& program) {
  using Kind = RegisterRule::Kind;
  const std::int64_t align = program.cie->data_align;
  const std::uint64_t reg = reader.Uleb();
  switch (opcode) {
    case kDefCfa:
      return program.SetCfa(reg, static_cast<std::int64_t>(reader.Uleb()));
    case kDefCfaSf:
      return program.SetCfa(reg, ScaledSleb(reader, align));
    case kOffsetExtended:
      return program.SetRule(reg, {Kind::kAtCfa, Multiply(reader.Uleb(), align), {}});
    case kOffsetExtendedSf:
      return program.SetRule(reg, {Kind::kAtCfa, ScaledSleb(reader, align), {}});
    case kGnuNegativeOffsetExtended:
      return program.SetRule(reg, {Kind::kAtCfa, Multiply(0 - reader.Uleb(), align), {}});
    case kRestoreExtended:
      return program.Restore(reg);
    case kUndefined:
      return program.SetRule(reg, {.kind = Kind::kUndefined});
    case kSameValue:
      return program.SetRule(reg, {.kind = Kind::kSame});
    case kExpression:
      return program.SetRule(reg, {Kind::kExpression, 0, reader.Take(reader.Uleb())});
    case kValExpression:
      (void)reader.Take(reader.Uleb());
      return program.SetRule(reg, {.kind = Kind::kOther});
    case kRegister:
      return program.SetRule(reg,
                             {Kind::kInRegister, static_cast<std::int64_t>(reader.Uleb()), {}});
    case kValOffset:
    case kValOffsetSf:
      (void)reader.Uleb();
      return program.SetRule(reg, {.kind = Kind::kOther});
    default:
      program.state.broken = true;
  }
}

}  // namespace wherefore::elf
