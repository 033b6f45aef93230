// Reads .eh_frame: the entries (CIE, FDE) and their call frame instructions.
//
// The bytes are untrusted. A malformed entry is skipped; if only its instructions are malformed, it
// gives rows of kind kUnsupported. The work is bounded by a small multiple of the section's size.
// Used by UnwindTable; one thread per reader.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "elf/byte_reader.h"
#include "elf/unwind_rows.h"

namespace wherefore::elf {

// The function an FDE describes, as addresses of the file.
struct FunctionRange {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
};

// The rule from `address` up to the next row.
struct FrameRow {
  std::uint64_t address = 0;
  UnwindRule rule;
};

// Where to find a register of the caller. Expressions are borrowed from the section.
struct RegisterRule {
  enum class Kind : std::uint8_t { kSame, kUndefined, kAtCfa, kInRegister, kExpression, kOther };
  Kind kind = Kind::kSame;
  std::int64_t offset = 0;  // from the CFA; or the register's number
  std::span<const std::uint8_t> expression;
};

// The rules at one address, as far as the caller's pc, sp and rbp depend on them.
struct FrameState {
  std::uint64_t cfa_register = 0;
  std::int64_t cfa_offset = 0;
  std::span<const std::uint8_t> cfa_expression;  // replaces register + offset if not empty
  RegisterRule rbp;
  RegisterRule rip;
  bool broken = false;  // an instruction was not understood: nothing is known from here on
};

class EhFrameReader {
 public:
  // `address` is where the section is mapped.
  EhFrameReader(std::span<const std::uint8_t> section, std::uint64_t address)
      : section_(section), address_(address), budget_(section.size() * 32 + 4096) {}

  // Reads the next FDE; false at the end. `rows` is replaced by the function's rows: ascending
  // addresses, the first one at the function's start.
  Result<bool> Next(FunctionRange& function, std::vector<FrameRow>& rows);

  // How many FDEs there are, without reading them.
  [[nodiscard]] std::size_t Count() const;

  // The expressions that rules of kind kExpression refer to. Grows while reading.
  [[nodiscard]] const std::vector<CfaExpression>& expressions() const { return expressions_; }

  // For surveys: called with every row and the state it was made from.
  using Watch = std::function<void(const FrameState& state, const UnwindRule& rule)>;
  void set_watch(Watch watch) { watch_ = std::move(watch); }

  // The same for the FDE at an offset of the section; false if there is no usable one.
  bool At(std::size_t offset, FunctionRange& function, std::vector<FrameRow>& rows);

 private:
  struct Cie {
    bool usable = false;
    bool signal_frame = false;
    bool augmented = false;
    std::uint8_t pointer_encoding = 0;
    std::uint64_t code_align = 1;
    std::int64_t data_align = 1;
    FrameState initial;
  };
  struct Entry {
    std::size_t id_at = 0;  // position of the CIE id field
    std::uint64_t id = 0;
    ByteReader body{{}};
  };
  struct Program;

  Cie ParseCie(std::size_t at);
  static bool ReadAugmentation(ByteReader& reader, std::string_view letters, Cie& cie,
                               const EhFrameReader& frames);
  const Cie& CieAt(std::size_t at);
  [[nodiscard]] bool ReadEntry(std::size_t at, Entry& entry, std::size_t& next) const;
  [[nodiscard]] std::uint64_t ReadPointer(ByteReader& reader, std::uint8_t encoding) const;
  bool Describe(Entry& entry, FunctionRange& function, std::vector<FrameRow>& rows);
  bool ParseFde(Entry& entry, const Cie& cie, FunctionRange& function, std::vector<FrameRow>& rows);
  void Run(std::span<const std::uint8_t> instructions, Program& program);
  void RunOther(std::uint8_t opcode, ByteReader& reader, Program& program);
  static void RunRegister(std::uint8_t opcode, ByteReader& reader, Program& program);
  UnwindRule RuleOf(const FrameState& state, bool signal_frame);
  UnwindRule RareRule(const FrameState& state);

  std::span<const std::uint8_t> section_;
  std::uint64_t address_;
  std::uint64_t budget_;
  std::size_t at_ = 0;
  std::unordered_map<std::size_t, Cie> cies_;
  std::vector<CfaExpression> expressions_;
  std::map<CfaExpression, std::int32_t> expression_ids_;
  std::vector<FrameState> remembered_;  // by the function that is read
  Watch watch_;
};

}  // namespace wherefore::elf
