// DwarfModule: functions, files, lines and inlined calls of one program or library, through libdw.
//
// Not for the server's own process: libdw maps files and is not hardened against hostile ones. It
// runs in the worker (worker.h), which may crash or hang without harm. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <elfutils/libdw.h>

#include "base/descriptor.h"
#include "base/result.h"
#include "elf/symbols.h"
#include "symbols/resolved_frame.h"

namespace wherefore::symbols {

// One path may be empty, but not both.
struct ModuleSource {
  std::string build_id;  // hex; the files must have the same
  std::string program;
  std::string debug;

  bool operator==(const ModuleSource&) const = default;
};

class DwarfModule {
 public:
  static Result<std::unique_ptr<DwarfModule>> Open(const ModuleSource& source);
  ~DwarfModule();
  DwarfModule(const DwarfModule&) = delete;
  DwarfModule& operator=(const DwarfModule&) = delete;

  // `address` is a virtual address of the file.
  [[nodiscard]] ResolvedFrame Resolve(std::uint64_t address);

 private:
  struct Range {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    Dwarf_Die die{};
  };
  // A compilation unit; parsed when one of its addresses is first looked up.
  struct Unit {
    std::vector<Range> functions;  // by start
    Dwarf_Files* files = nullptr;
    std::string folder;
  };

  DwarfModule() = default;
  void IndexUnits();
  Unit& UnitOf(Dwarf_Die& die);
  void IndexFunctions(Dwarf_Die& parent, const std::string& scope, int depth, Unit& unit);
  [[nodiscard]] std::string_view SymbolAt(std::uint64_t address) const;
  [[nodiscard]] ResolvedFrame BySymbol(std::uint64_t address) const;
  void NameFunction(Dwarf_Die& die, ResolvedLine& line) const;

  Descriptor file_;
  Elf* elf_ = nullptr;
  Dwarf* dwarf_ = nullptr;
  std::vector<Range> units_;  // by start
  std::map<Dwarf_Off, Unit> unit_indices_;
  std::unordered_map<Dwarf_Off, std::string> scopes_;  // of functions: "space::Class::"
  elf::SymbolTable program_symbols_;
  elf::SymbolTable debug_symbols_;
};

}  // namespace wherefore::symbols
