#include "elf/symbols.h"

#include <lzma.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "base/demangle.h"
#include "elf/function_name.h"
#include "elf/testing.h"
#include "elf/xz.h"

namespace wherefore::elf {
namespace {

struct Named {
  std::uint64_t size = 0;
  std::set<std::string> names;
};

// Functions by address as nm prints them: "address size type name".
std::map<std::uint64_t, Named> FunctionsByNm(const std::string& arguments) {
  std::map<std::uint64_t, Named> out;
  std::istringstream lines(Output("nm --defined-only -S " + arguments));
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::string address, size, type, name;
    if (!(fields >> address >> size >> type >> name) || type.size() != 1) continue;
    if (std::string_view("tTwWi").find(type[0]) == std::string_view::npos) continue;
    Named& named = out[std::stoull(address, nullptr, 16)];
    named.size = std::max<std::uint64_t>(named.size, std::stoull(size, nullptr, 16));
    named.names.insert(name.substr(0, name.find('@')));
  }
  return out;
}

// Every function nm lists is found at its first and last byte, under one of its names.
void ExpectNamesOfNm(const SymbolTable& table, const std::map<std::uint64_t, Named>& expected) {
  std::size_t inner = 0;
  for (const auto& [address, named] : expected) {
    EXPECT_TRUE(named.names.contains(std::string(table.Find(address))))
        << std::hex << address << " is " << *named.names.begin() << ", got " << table.Find(address);
    const std::string last(table.Find(address + named.size - 1));
    EXPECT_FALSE(last.empty());
    if (!named.names.contains(last)) ++inner;  // another symbol begins inside this one
  }
  EXPECT_LE(inner, expected.size() / 100);
}

TEST(SymbolTable, ExportedNamesOfLibcAreThoseOfNm) {
  const std::string path = LoadedLibrary("libc.so");
  auto file = ElfFile::Open(path);
  ASSERT_TRUE(file);
  const auto expected = FunctionsByNm("-D " + path);
  ASSERT_GT(expected.size(), 1000u);
  const SymbolTable table = SymbolTable::Load(*file);
  ExpectNamesOfNm(table, expected);
  EXPECT_EQ(table.Find(0), "");
  // The plainest of malloc, __libc_malloc, ...
  EXPECT_NE(Output("nm -D " + path).find(" T malloc@@"), std::string::npos);
  bool plain = false;
  for (const auto& [address, named] : expected) plain |= table.Find(address) == "malloc";
  EXPECT_TRUE(plain);
}

TEST(SymbolTable, OwnNamesAreThoseOfNm) {
  auto file = ElfFile::Open(ThisProgram());
  ASSERT_TRUE(file);
  const auto expected = FunctionsByNm(ThisProgram());
  ASSERT_GT(expected.size(), 1000u);
  ExpectNamesOfNm(SymbolTable::Load(*file), expected);
}

// An address between two functions has no name, however close one is.
TEST(SymbolTable, NothingBetweenFunctions) {
  const std::string path = LoadedLibrary("libc.so");
  auto file = ElfFile::Open(path);
  ASSERT_TRUE(file);
  const auto expected = FunctionsByNm("-D " + path);
  const SymbolTable table = SymbolTable::Load(*file);
  std::uint64_t covered_to = 0;
  std::size_t gaps = 0;
  for (const auto& [address, named] : expected) {
    if (covered_to != 0 && covered_to < address) {
      EXPECT_EQ(table.Find(covered_to), "") << std::hex << covered_to;
      EXPECT_EQ(table.Find(address - 1), "") << std::hex << address;
      ++gaps;
    }
    covered_to = std::max(covered_to, address + named.size);
  }
  EXPECT_GT(gaps, 100u);
}

// A stripped program with the symbols of its functions packed into .gnu_debugdata.
TEST(SymbolTable, NamesFromMiniDebugInfo) {
  const ScratchFolder folder;
  const std::string mini = folder / "mini", packed = folder / "mini.xz", stripped = folder / "out";
  Output("objcopy --only-keep-debug --strip-debug " + ThisProgram() + " " + mini + " 2>&1");
  std::ifstream in(mini, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  std::vector<std::uint8_t> xz(lzma_stream_buffer_bound(bytes.size()));
  std::size_t used = 0;
  ASSERT_EQ(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, nullptr,
                                    reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                    bytes.size(), xz.data(), &used, xz.size()),
            LZMA_OK);
  std::ofstream(packed, std::ios::binary)
      .write(reinterpret_cast<const char*>(xz.data()), static_cast<std::streamsize>(used));
  Output("objcopy --strip-all --add-section .gnu_debugdata=" + packed + " " + ThisProgram() + " " +
         stripped);
  auto file = ElfFile::Open(stripped);
  ASSERT_TRUE(file) << file.error().message();
  ASSERT_EQ(file->FindSection(SHT_SYMTAB), nullptr);
  ExpectNamesOfNm(SymbolTable::Load(*file), FunctionsByNm(ThisProgram()));

  xz[used / 2] ^= 0xff;
  EXPECT_FALSE(UnpackXz({xz.data(), used}, 1 << 30));
  EXPECT_FALSE(UnpackXz({xz.data(), used / 2}, 1 << 30));
}

// In a stripped library, exported functions have names and others the start of their FDE.
TEST(FunctionName, OfAStrippedLibrary) {
  const std::string path = LoadedLibrary("libc.so");
  auto file = ElfFile::Open(path);
  ASSERT_TRUE(file);
  const SymbolTable symbols = SymbolTable::Load(*file);
  auto table = UnwindTable::Build(*file);
  ASSERT_TRUE(table);
  const Section& text = *file->FindSection(".text");
  std::size_t named = 0, unnamed = 0;
  for (std::uint64_t at = text.address; at < text.address + text.size; at += 64) {
    const auto function = table->FindFunction(at);
    const std::string name = FunctionName(symbols, *table, "libc.so.6", at);
    if (!symbols.Find(at).empty()) {
      EXPECT_EQ(name, DemangleSymbol(symbols.Find(at)));
      ++named;
    } else if (function && symbols.Find(function->start).empty()) {
      std::ostringstream expected;
      expected << "libc.so.6+0x" << std::hex << function->start;
      EXPECT_EQ(name, expected.str());
      ++unnamed;
    }
  }
  EXPECT_GT(named, 1000u);
  EXPECT_GT(unnamed, 1000u);
}

TEST(SymbolTable, OfSomeAddressesIsThatOfAllThere) {
  const auto file = ElfFile::Open(LoadedLibrary("libc.so"));
  ASSERT_TRUE(file);
  const SymbolTable all = SymbolTable::Load(*file);
  std::vector<std::uint64_t> some;
  for (std::uint64_t at = 0; at < file->end_address(); at += 997) some.push_back(at);
  const SymbolTable part = SymbolTable::LoadFor(*file, some);
  std::size_t named = 0;
  for (const std::uint64_t at : some) {
    ASSERT_EQ(part.Find(at), all.Find(at)) << at;
    named += part.Find(at).empty() ? 0 : 1;
  }
  EXPECT_GT(named, 100U);
  EXPECT_LT(part.size(), all.size());
  EXPECT_EQ(SymbolTable::LoadFor(*file, {}).size(), 0U);
}

}  // namespace
}  // namespace wherefore::elf
