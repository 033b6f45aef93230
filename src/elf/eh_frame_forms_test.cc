// Rare unwind rules, mostly from hand-written code: which forms occur on this machine, and what
// they become.
#include <fstream>
#include <map>

#include "elf/testing.h"
#include "elf/unwind_table.h"

namespace wherefore::elf {
namespace {

// An expression without its numbers: "breg7 deref plus_uconst".
std::string Shape(std::span<const std::uint8_t> expression) {
  std::string out;
  ByteReader reader(expression);
  while (reader.left() > 0 && !reader.failed()) {
    const auto op = reader.Read<std::uint8_t>();
    if (!out.empty()) out += ' ';
    if (op >= 0x70 && op <= 0x8f) {
      out += "breg" + std::to_string(op - 0x70);
      (void)reader.Sleb();
    } else if (op == 0x23) {
      out += "plus_uconst";
      (void)reader.Uleb();
    } else {
      out += "op" + std::to_string(op);
    }
  }
  return out;
}

std::string Shape(const RegisterRule& rule) {
  switch (rule.kind) {
    case RegisterRule::Kind::kSame:
      return "same";
    case RegisterRule::Kind::kUndefined:
      return "undefined";
    case RegisterRule::Kind::kAtCfa:
      return "at CFA";
    case RegisterRule::Kind::kInRegister:
      return "in a register";
    case RegisterRule::Kind::kExpression:
      return "at " + Shape(rule.expression);
    case RegisterRule::Kind::kOther:
      break;
  }
  return "other";
}

std::string Shape(const FrameState& state) {
  if (state.broken) return "broken";
  const std::string cfa = state.cfa_expression.empty() ? "r" + std::to_string(state.cfa_register)
                                                       : Shape(state.cfa_expression);
  return "CFA " + cfa + ", rip " + Shape(state.rip) + ", rbp " + Shape(state.rbp);
}

struct Survey {
  std::size_t files = 0;
  std::size_t rows = 0;
  std::map<RowKind, std::size_t> by_kind;
  std::map<std::string, std::size_t> expressions;  // by shape
  std::map<std::string, std::pair<std::size_t, std::string>>
      unsupported;  // with a file that has it

  void Look(const std::string& path) {
    auto file = ElfFile::Open(path);
    const Section* const section = file ? file->FindSection(".eh_frame") : nullptr;
    if (section == nullptr || section->type == SHT_NOBITS) return;
    auto data = file->Read(*section);
    if (!data) return;
    ++files;
    EhFrameReader reader(data->bytes(), section->address);
    reader.set_watch([&](const FrameState& state, const UnwindRule& rule) {
      ++rows;
      ++by_kind[rule.kind];
      if (rule.kind == RowKind::kExpression) ++expressions[Shape(state)];
      if (rule.kind != RowKind::kUnsupported) return;
      auto& [count, example] = unsupported[Shape(state)];
      if (count++ == 0) example = path;
    });
    FunctionRange range;
    std::vector<FrameRow> of_function;
    for (Result<bool> more = true; more && *more;) more = reader.Next(range, of_function);
  }
};

TEST(EhFrameForms, EveryFormOfThisMachinesLibrariesIsKnown) {
  namespace fs = std::filesystem;
  Survey survey;
  const auto options = fs::directory_options::skip_permission_denied;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator("/usr/lib", options)) {
    std::error_code error;
    if (entry.is_regular_file(error) && !entry.is_symlink(error)) survey.Look(entry.path());
  }
  printf("%zu files, %zu rows: %zu by rsp, %zu by rbp, %zu realigned, %zu PLT, %zu signal\n",
         survey.files, survey.rows, survey.by_kind[RowKind::kCfaRsp],
         survey.by_kind[RowKind::kCfaRbp], survey.by_kind[RowKind::kCfaRbpDeref],
         survey.by_kind[RowKind::kPlt], survey.by_kind[RowKind::kSignal]);
  for (const auto& [shape, count] : survey.expressions) printf("%8zu %s\n", count, shape.c_str());
  EXPECT_GT(survey.rows, 100'000u);
  for (const auto& [shape, found] : survey.unsupported) {
    ADD_FAILURE() << found.first << " rows are not covered: " << shape << ", as in "
                  << found.second;
  }
}

// The rule at the label `place` of a library assembled from this source.
class AssembledRules {
 public:
  explicit AssembledRules(const std::string& body) {
    const std::string source = folder_ / "a.s", library = folder_ / "a.so";
    std::ofstream(source) << ".text\n.globl f\nf:\n.cfi_startproc\nnop\n"
                          << body << "\nnop\nnop\n.cfi_endproc\n.size f, .-f\n";
    Output("c++ -shared -nostdlib -o " + library + " " + source);
    auto file = ElfFile::Open(library);
    EXPECT_TRUE(file);
    auto table = UnwindTable::Build(*file);
    EXPECT_TRUE(table);
    table_ = *std::move(table);
    start_ = std::stoull(Output("nm " + library + " | grep ' f$'"), nullptr, 16);
  }
  [[nodiscard]] UnwindRule rule() const { return table_.Find(start_ + 1); }
  [[nodiscard]] CfaExpression expression() const {
    EXPECT_EQ(rule().kind, RowKind::kExpression);
    return rule().kind == RowKind::kExpression ? table_.rows().expressions[rule().cfa]
                                               : CfaExpression();
  }

 private:
  const ScratchFolder folder_;
  UnwindTable table_;
  std::uint64_t start_ = 0;
};

using Rbp = CfaExpression::Rbp;

TEST(EhFrameForms, ACfaThatIsStored) {
  // breg7 (rsp) 152; deref; plus_uconst 8; rbp at CFA - 24
  const AssembledRules crypto(
      ".cfi_offset rbp, -24\n.cfi_escape 0x0f, 6, 0x77, 0x98, 0x01, 0x06, 0x23, 8");
  EXPECT_EQ(crypto.expression(), (CfaExpression{.offset = 152,
                                                .plus = 8,
                                                .rbp = -24,
                                                .return_address = -8,
                                                .base = 7,
                                                .stored = true,
                                                .rbp_place = Rbp::kAtCfa}));
  // below rsp: breg7 -8; deref; plus_uconst 8
  EXPECT_EQ(AssembledRules(".cfi_escape 0x0f, 5, 0x77, 0x78, 0x06, 0x23, 8").expression().offset,
            -8);
  // breg6 (rbp) 16; deref; plus_uconst 8; without a rule for rbp it is not a realigned stack
  const CfaExpression by_rbp =
      AssembledRules(".cfi_escape 0x0f, 5, 0x76, 16, 0x06, 0x23, 8").expression();
  EXPECT_EQ(std::pair(by_rbp.base, by_rbp.stored), std::pair(std::uint8_t{6}, true));
  // rsp + 8 + r9 * 8: breg7 8; breg9 1; lit8; mul; plus; deref; plus_uconst 8
  const CfaExpression indexed =
      AssembledRules(".cfi_escape 0x0f, 10, 0x77, 8, 0x79, 1, 0x38, 0x1e, 0x22, 0x06, 0x23, 8")
          .expression();
  EXPECT_EQ(indexed.index, 9);
  EXPECT_EQ(indexed.offset, 16);
}

TEST(EhFrameForms, ACfaInAnotherRegister) {
  const CfaExpression in_rax = AssembledRules(".cfi_def_cfa rax, 8").expression();
  EXPECT_EQ(in_rax, (CfaExpression{.offset = 8, .return_address = -8, .base = 0}));
  // As compilers write it while they realign a stack: CFA r10 + 0, rbp at *(rbp + 0).
  const CfaExpression realigning =
      AssembledRules(".cfi_escape 0x10, 6, 2, 0x76, 0\n.cfi_def_cfa r10, 0").expression();
  EXPECT_EQ(realigning.base, 10);
  EXPECT_EQ(realigning.rbp_place, Rbp::kAtRbp);
  const CfaExpression lost = AssembledRules(".cfi_undefined rbp\n.cfi_def_cfa r11, 8").expression();
  EXPECT_EQ(lost.rbp_place, Rbp::kLost);
}

TEST(EhFrameForms, AReturnAddressElsewhere) {
  EXPECT_EQ(AssembledRules(".cfi_register rip, rdx").expression().return_register, 1);
  EXPECT_EQ(AssembledRules(".cfi_offset rip, 64\n.cfi_def_cfa rsi, 0").expression().return_address,
            64);
}

TEST(EhFrameForms, WhatIsNotUnderstoodIsNotGuessed) {
  for (const char* const body :
       {".cfi_escape 0x0f, 3, 0x77, 8, 0x12",                       // breg7 8; dup
        ".cfi_escape 0x0f, 4, 0x77, 8, 0x06, 0x06",                 // two derefs
        ".cfi_escape 0x0f, 6, 0x77, 8, 0x23, 8, 0x23, 8",           // two additions
        ".cfi_escape 0x0f, 6, 0x77, 8, 0x23, 8, 0x06, 0x96",        // the deref last
        ".cfi_escape 0x0f, 7, 0x77, 8, 0x79, 1, 0x34, 0x1e, 0x22",  // scale 4
        ".cfi_escape 0x0f, 2, 0x90, 7",                             // regx
        ".cfi_escape 0x0f, 0",                                      // empty
        ".cfi_escape 0x16, 16, 2, 0x77, 0"}) {                      // rip is a value
    EXPECT_EQ(AssembledRules(body).rule().kind, RowKind::kUnsupported) << body;
  }
}

}  // namespace
}  // namespace wherefore::elf
