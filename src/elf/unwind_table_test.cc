#include "elf/unwind_table.h"

#include <chrono>
#include <fstream>
#include <map>
#include <sstream>
#include <tuple>

#include "elf/testing.h"

namespace wherefore::elf {
namespace {

// A row of `readelf --debug-dump=frames-interp`.
struct Expected {
  std::uint64_t address = 0;
  std::string cfa;
  std::string rbp;  // empty: no such column
  std::string ra;
};

struct ExpectedFunction {
  FunctionRange range;
  std::vector<Expected> rows;
};

std::vector<std::string> Words(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

Expected ParseRow(const std::vector<std::string>& header, const std::vector<std::string>& words) {
  Expected row{.address = std::stoull(words[0], nullptr, 16)};
  for (std::size_t i = 1; i < header.size() && i < words.size(); ++i) {
    if (header[i] == "CFA") row.cfa = words[i];
    if (header[i] == "rbp") row.rbp = words[i];
    if (header[i] == "ra") row.ra = words[i];
  }
  return row;
}

std::vector<ExpectedFunction> FunctionsByReadelf(const std::string& path) {
  std::vector<ExpectedFunction> functions;
  std::map<std::string, Expected> cies;  // by offset, for functions without rows of their own
  std::string cie;
  bool in_cie = false;
  std::vector<std::string> header;
  // readelf fails after printing everything if a debug file is missing. It explains registers in
  // brackets ("r10 (r10)"), which would parse as columns.
  std::istringstream lines(Output("readelf --debug-dump=frames-interp " + path +
                                  " 2>/dev/null | sed 's/ ([a-z0-9]*)//g'"));
  std::string line;
  while (std::getline(lines, line)) {
    const auto words = Words(line);
    if (words.size() >= 4 && words[3] == "CIE") {
      in_cie = true;
      cie = words[0];
    } else if (words.size() >= 6 && words[3] == "FDE") {
      in_cie = false;
      const std::string range = words[5].substr(3);
      ExpectedFunction function;
      function.range.start = std::stoull(range, nullptr, 16);
      function.range.end = std::stoull(range.substr(range.find("..") + 2), nullptr, 16);
      Expected first = cies[words[4].substr(4)];
      first.address = function.range.start;
      function.rows.push_back(first);
      functions.push_back(function);
    } else if (!words.empty() && words[0] == "LOC") {
      header = words;
    } else if (words.size() >= 3 && words[0].size() == 16) {
      const Expected row = ParseRow(header, words);
      if (in_cie) {
        cies[cie] = row;
      } else if (functions.back().rows.back().address == row.address) {
        functions.back().rows.back() = row;
      } else {
        functions.back().rows.push_back(row);
      }
    }
  }
  return functions;
}

struct Tally {
  std::size_t rows = 0;
  std::map<RowKind, std::size_t> expressions;  // what rows with expressions became
  std::size_t unsupported = 0;
};

std::string RbpText(const UnwindRule& rule) {
  if (rule.rbp == kRbpUnchanged) return "u";
  return rule.rbp == kRbpLost ? "lost" : "c" + std::to_string(rule.rbp);
}

// "r10+8", for a rule not based on rsp or rbp.
std::string CfaText(const CfaExpression& e) {
  constexpr const char* kNames[] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
                                    "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
  return e.base > 15 || e.stored ? "?"
                                 : kNames[e.base] + std::string("+") + std::to_string(e.offset);
}

void Compare(const Expected& row, const UnwindTable& table, std::uint64_t address, Tally& tally) {
  const UnwindRule rule = table.Find(address);
  ++tally.rows;
  tally.unsupported += rule.kind == RowKind::kUnsupported ? 1 : 0;
  if (row.ra == "u") {
    EXPECT_EQ(rule.kind, RowKind::kEndOfStack) << std::hex << row.address;
    return;
  }
  if (row.cfa == "exp" || row.ra == "exp") {
    ++tally.expressions[rule.kind];
    return;
  }
  const bool rsp = row.cfa.starts_with("rsp");
  if ((!rsp && !row.cfa.starts_with("rbp")) || row.ra != "c-8") {
    ASSERT_EQ(rule.kind, RowKind::kExpression) << std::hex << row.address << " " << row.cfa;
    EXPECT_EQ(CfaText(table.rows().expressions[rule.cfa]), row.cfa) << std::hex << row.address;
    return;
  }
  EXPECT_EQ(rule.kind, rsp ? RowKind::kCfaRsp : RowKind::kCfaRbp) << std::hex << row.address;
  EXPECT_EQ(rule.cfa, std::stoi(row.cfa.substr(3))) << std::hex << row.address;
  const bool unchanged = row.rbp.empty() || row.rbp == "s" || (rsp && row.rbp == "exp");
  const std::string rbp = unchanged ? "u" : row.rbp;
  EXPECT_EQ(RbpText(rule), rbp) << std::hex << row.address;
}

Tally CompareWithReadelf(const std::string& path) {
  Tally tally;
  auto file = ElfFile::Open(path);
  EXPECT_TRUE(file);
  if (!file) return tally;
  const auto started = std::chrono::steady_clock::now();
  auto table = UnwindTable::Build(*file);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - started;
  EXPECT_TRUE(table);
  if (!table) return tally;
  const auto functions = FunctionsByReadelf(path);
  EXPECT_EQ(table->function_count(), functions.size());
  for (const ExpectedFunction& function : functions) {
    const auto range = table->FindFunction(function.range.start);
    EXPECT_TRUE(range && range->start == function.range.start && range->end == function.range.end);
    for (std::size_t i = 0; i < function.rows.size(); ++i) {
      const std::uint64_t end =
          i + 1 < function.rows.size() ? function.rows[i + 1].address : function.range.end;
      Compare(function.rows[i], *table, function.rows[i].address, tally);
      Compare(function.rows[i], *table, end - 1, tally);
    }
  }
  printf("%s: %u rows, %zu functions, %zu bytes, %.2f ms, unsupported %zu of %zu rows\n",
         path.c_str(), table->rows().row_count, table->function_count(), table->memory_bytes(),
         took.count(), tally.unsupported / 2, tally.rows / 2);
  printf("of rows with expressions: %zu PLT, %zu realigned stack, %zu signal frame\n",
         tally.expressions[RowKind::kPlt] / 2, tally.expressions[RowKind::kCfaRbpDeref] / 2,
         tally.expressions[RowKind::kSignal] / 2);
  return tally;
}

TEST(UnwindTable, LibcAsReadelfReadsIt) {
  Tally tally = CompareWithReadelf(LoadedLibrary("libc.so"));
  EXPECT_GT(tally.rows, 20'000u);
  EXPECT_EQ(tally.unsupported, 0u);
  EXPECT_GE(tally.expressions[RowKind::kPlt], 1u);
  EXPECT_EQ(tally.expressions[RowKind::kSignal], 2u);
}

// Hand-written code with rules of its own.
TEST(UnwindTable, LibcryptoAsReadelfReadsIt) {
  const std::string library = "/usr/lib/x86_64-linux-gnu/libcrypto.so.3";
  if (!std::filesystem::exists(library)) GTEST_SKIP() << library << " is not there";
  Tally tally = CompareWithReadelf(library);
  EXPECT_GT(tally.expressions[RowKind::kExpression], 100u);
  EXPECT_EQ(tally.unsupported, 0u);
}

TEST(UnwindTable, LibstdcxxAsReadelfReadsIt) {
  EXPECT_GT(CompareWithReadelf(LoadedLibrary("libstdc++")).rows, 20'000u);
}

TEST(UnwindTable, ThisProgramAsReadelfReadsIt) {
  const Tally tally = CompareWithReadelf(ThisProgram());
  EXPECT_GT(tally.rows, 1000u);
  EXPECT_LE(tally.unsupported, tally.rows / 100);
}

// The table built from program headers in memory equals the one built from the file's sections.
TEST(UnwindTable, OfALoadedModuleIsThatOfItsFile) {
  auto file = ElfFile::Open(LoadedLibrary("libc.so"));
  ASSERT_TRUE(file);
  auto by_file = UnwindTable::Build(*file);
  ASSERT_TRUE(by_file);
  PageArena arena;
  const ModuleCopy copy = CopyOfLoaded("libc.so", arena);
  auto loaded = ElfFile::FromCopy(copy);
  ASSERT_TRUE(loaded) << loaded.error().message();
  auto table = UnwindTable::Build(*loaded);
  ASSERT_TRUE(table) << table.error().message();
  const UnwindRows a = table->rows();
  const UnwindRows b = by_file->rows();
  ASSERT_EQ(a.row_count, b.row_count);
  EXPECT_EQ(std::memcmp(a.rows, b.rows, sizeof(UnwindRow) * a.row_count), 0);
}

TEST(UnwindTable, OfSomeFunctionsIsThatOfAllThere) {
  PageArena arena;
  const ModuleCopy copy = CopyOfLoaded("libc.so", arena);
  auto loaded = ElfFile::FromCopy(copy);
  ASSERT_TRUE(loaded);
  auto all = UnwindTable::Build(*loaded);
  ASSERT_TRUE(all);
  std::vector<std::uint64_t> some;
  for (std::uint64_t at = all->base_address(); at < loaded->end_address(); at += 10'007)
    some.push_back(at);
  auto part = UnwindTable::BuildFor(*loaded, some);
  ASSERT_TRUE(part);
  EXPECT_LT(part->function_count(), all->function_count());
  std::size_t known = 0;
  for (const std::uint64_t at : some) {
    const auto expected = all->FindFunction(at);
    const auto found = part->FindFunction(at);
    ASSERT_EQ(found.has_value(), expected.has_value()) << at;
    if (!expected) continue;
    ++known;
    EXPECT_EQ(found->start, expected->start);
    EXPECT_EQ(found->end, expected->end);
    for (std::uint64_t in = expected->start; in < expected->end; ++in) {
      const UnwindRule a = all->Find(in);
      const UnwindRule b = part->Find(in);
      ASSERT_EQ(std::tuple(a.kind, a.cfa, a.rbp), std::tuple(b.kind, b.cfa, b.rbp)) << in;
    }
  }
  EXPECT_GT(known, 50U);
  EXPECT_EQ(UnwindTable::BuildFor(*loaded, {})->function_count(), 0U);
}

// A function with a realigned stack keeps its CFA in a slot below rbp.
TEST(UnwindTable, RealignedStack) {
  const ScratchFolder folder;
  const std::string source = folder / "realigned.cc", library = folder / "realigned.so";
  std::ofstream(source) << R"(
    void Use(void*, void*);
    int Realigned(int n, double, double, double, double, double, double, double, double, double x) {
      alignas(64) char buffer[64];
      char* more = static_cast<char*>(__builtin_alloca(n));
      Use(buffer, more);
      return buffer[0] + more[0] + static_cast<int>(x);
    })";
  Output("c++ -O2 -fPIC -shared -o " + library + " " + source);
  Tally tally = CompareWithReadelf(library);
  EXPECT_GE(tally.expressions[RowKind::kCfaRbpDeref], 2u);
}

TEST(UnwindTable, FileWithoutFramesGivesNoRows) {
  const ScratchFolder folder;
  const std::string source = folder / "empty.s", library = folder / "empty.so";
  Output("touch " + source + " && c++ -shared -nostdlib -o " + library + " " + source);
  auto file = ElfFile::Open(library);
  ASSERT_TRUE(file) << file.error().message();
  auto table = UnwindTable::Build(*file);
  ASSERT_TRUE(table) << table.error().message();
  EXPECT_EQ(table->rows().row_count, 0u);
  EXPECT_EQ(table->Find(0x1000).kind, RowKind::kNone);
  EXPECT_FALSE(table->FindFunction(0x1000));
}

}  // namespace
}  // namespace wherefore::elf
