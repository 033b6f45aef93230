// SymbolTable: which function an address belongs to, by .symtab, .dynsym and .gnu_debugdata.
//
// A symbol covers exactly its size: an address outside every symbol has no name here, never that of
// the nearest symbol (callers then use module+0x<start of its FDE>, see UnwindTable::FindFunction).
// Where symbols overlap, the innermost wins; of several names for one address a global one, then
// the plainest. Const after loading; any thread. Loading allocates and reads the file, so never in
// a signal handler.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "elf/elf_file.h"

namespace wherefore::elf {

class SymbolTable {
 public:
  // Never fails: missing or damaged tables contribute nothing.
  static SymbolTable Load(const ElfFile& file);
  // Only what Find() needs for these sorted addresses: most of the work is sorting the others.
  static SymbolTable LoadFor(const ElfFile& file, std::span<const std::uint64_t> addresses);

  // The mangled name (without its @version), or empty. `address` is a virtual address of the file.
  [[nodiscard]] std::string_view Find(std::uint64_t address) const;
  [[nodiscard]] std::size_t size() const { return ranges_.size(); }
  [[nodiscard]] std::size_t memory_bytes() const {
    return ranges_.capacity() * sizeof(Range) + names_.capacity();
  }

 private:
  struct Symbol;
  // Sorted and disjoint. A symbol of unknown size covers only its first byte.
  struct Range {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::uint32_t name = 0;  // offset of a zero-terminated name in names_
  };

  // Null: all addresses.
  using Addresses = const std::span<const std::uint64_t>*;

  static SymbolTable Read(const ElfFile& file, Addresses wanted);
  void Collect(const ElfFile& file, const Section& table, Addresses wanted,
               std::vector<Symbol>& out);
  void CollectFrom(const ElfFile& file, Addresses wanted, std::vector<Symbol>& out);
  void Flatten(std::vector<Symbol> symbols);

  std::vector<Range> ranges_;
  std::string names_;
};

}  // namespace wherefore::elf
