#include "symbols/dwarf_module.h"

#include <dwarf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/demangle.h"
#include "base/regular_file.h"
#include "base/text.h"

namespace wherefore::symbols {
namespace {

constexpr int kMaxDepth = 128;  // of nested scopes

template <typename Ranges>
auto* FindRange(Ranges& ranges, std::uint64_t address) {
  auto it = std::ranges::upper_bound(ranges, address, {}, [](const auto& r) { return r.low; });
  while (it != ranges.begin()) {
    --it;
    if (address < it->high) return &*it;
    // Ranges of one unit may lie inside another's, so look a little further back.
    if (address - it->high > (1u << 20)) break;
  }
  return static_cast<decltype(&*it)>(nullptr);
}

template <typename Add>
void EachRange(Dwarf_Die& die, Add add) {
  Dwarf_Addr base = 0, low = 0, high = 0;
  for (ptrdiff_t at = 0; (at = dwarf_ranges(&die, at, &base, &low, &high)) > 0;) {
    if (low < high) add(low, high);
  }
}

std::uint32_t NumberOf(Dwarf_Die& die, unsigned attribute) {
  Dwarf_Attribute found;
  Dwarf_Word value = 0;
  if (dwarf_attr_integrate(&die, attribute, &found) == nullptr ||
      dwarf_formudata(&found, &value) != 0) {
    return 0;
  }
  return static_cast<std::uint32_t>(std::min<Dwarf_Word>(value, UINT32_MAX));
}

std::string Absolute(const std::string& folder, const char* file) {
  if (file == nullptr) return {};
  const std::filesystem::path path(file);
  return (path.is_absolute() || folder.empty() ? path : folder / path).lexically_normal();
}

// The chain of inlined calls below `die` at this address, outermost first.
void CollectInlined(Dwarf_Die& die, Dwarf_Addr address, int depth, std::vector<Dwarf_Die>& chain) {
  Dwarf_Die child;
  if (depth > kMaxDepth || dwarf_child(&die, &child) != 0) return;
  do {
    const int tag = dwarf_tag(&child);
    if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block) continue;
    // A block without an address range may still contain inlined calls.
    const int inside = dwarf_haspc(&child, address);
    if (inside <= 0 && (tag == DW_TAG_inlined_subroutine || dwarf_hasattr(&child, DW_AT_low_pc) ||
                        dwarf_hasattr(&child, DW_AT_ranges))) {
      continue;
    }
    const std::size_t before = chain.size();
    if (tag == DW_TAG_inlined_subroutine) chain.push_back(child);
    CollectInlined(child, address, depth + 1, chain);
    if (chain.size() > before) return;
  } while (dwarf_siblingof(&child, &child) == 0);
}

// Checks that the file is still the one that was found.
Result<elf::SymbolTable> SymbolsOf(const Descriptor& opened, const ModuleSource& source) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const elf::ElfFile file,
      elf::ElfFile::FromDescriptor(fcntl(opened.get(), F_DUPFD, STDERR_FILENO + 1)));
  if (FromHex(source.build_id) != file.build_id()) {
    return Error(Code::kNotFound, "it has been replaced by another");
  }
  return elf::SymbolTable::Load(file);
}

bool OpensScope(int tag) {
  return tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
         tag == DW_TAG_union_type;
}

}  // namespace

Result<std::unique_ptr<DwarfModule>> DwarfModule::Open(const ModuleSource& source) {
  std::unique_ptr<DwarfModule> module(new DwarfModule());
  RegularFile program;
  if (!source.program.empty()) {
    WHEREFORE_ASSIGN_OR_RETURN(program, OpenRegularFile(source.program));
    WHEREFORE_ASSIGN_OR_RETURN(module->program_symbols_, SymbolsOf(program.file, source));
  }
  if (source.debug.empty()) return module;
  if (source.debug == source.program) {
    module->file_ = std::move(program.file);
  } else {
    WHEREFORE_ASSIGN_OR_RETURN(RegularFile debug, OpenRegularFile(source.debug));
    WHEREFORE_ASSIGN_OR_RETURN(module->debug_symbols_, SymbolsOf(debug.file, source));
    module->file_ = std::move(debug.file);
  }
  elf_version(EV_CURRENT);
  module->elf_ = elf_begin(module->file_.get(), ELF_C_READ_MMAP, nullptr);
  module->dwarf_ = dwarf_begin_elf(module->elf_, DWARF_C_READ, nullptr);
  if (module->dwarf_ != nullptr) module->IndexUnits();
  return module;
}

DwarfModule::~DwarfModule() {
  dwarf_end(dwarf_);
  elf_end(elf_);
}

// Not by .debug_aranges, which clang omits.
void DwarfModule::IndexUnits() {
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  std::uint8_t type = 0;
  while (dwarf_get_units(dwarf_, unit, &unit, nullptr, &type, &die, nullptr) == 0) {
    if (type != DW_UT_compile && type != DW_UT_skeleton) continue;
    EachRange(die, [&](Dwarf_Addr low, Dwarf_Addr high) { units_.push_back({low, high, die}); });
  }
  std::ranges::sort(units_, {}, &Range::low);
}

DwarfModule::Unit& DwarfModule::UnitOf(Dwarf_Die& die) {
  const auto [it, added] = unit_indices_.try_emplace(dwarf_dieoffset(&die));
  Unit& unit = it->second;
  if (!added) return unit;
  std::size_t count = 0;
  if (dwarf_getsrcfiles(&die, &unit.files, &count) != 0) unit.files = nullptr;
  Dwarf_Attribute folder;
  if (const char* text = dwarf_formstring(dwarf_attr(&die, DW_AT_comp_dir, &folder))) {
    unit.folder = text;
  }
  IndexFunctions(die, "", 0, unit);
  std::ranges::sort(unit.functions, {}, &Range::low);
  return unit;
}

void DwarfModule::IndexFunctions(Dwarf_Die& parent, const std::string& scope, int depth,
                                 Unit& unit) {
  Dwarf_Die child;
  if (depth > kMaxDepth || dwarf_child(&parent, &child) != 0) return;
  do {
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_subprogram) {
      if (!scope.empty()) scopes_.emplace(dwarf_dieoffset(&child), scope);
      EachRange(child, [&](Dwarf_Addr low, Dwarf_Addr high) {
        unit.functions.push_back({low, high, child});
      });
    }
    if (OpensScope(tag)) {
      const char* const name = dwarf_diename(&child);
      const char* const nameless = tag == DW_TAG_namespace ? "(anonymous namespace)" : "";
      const std::string inner(name != nullptr ? name : nameless);
      IndexFunctions(child, inner.empty() ? scope : scope + inner + "::", depth + 1, unit);
    } else if (tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block) {
      IndexFunctions(child, scope, depth + 1, unit);  // classes and lambdas inside functions
    }
  } while (dwarf_siblingof(&child, &child) == 0);
}

std::string_view DwarfModule::SymbolAt(std::uint64_t address) const {
  const std::string_view symbol = program_symbols_.Find(address);
  return symbol.empty() ? debug_symbols_.Find(address) : symbol;
}

ResolvedFrame DwarfModule::BySymbol(std::uint64_t address) const {
  const std::string_view symbol = SymbolAt(address);
  if (symbol.empty()) return {};
  return {{.name = DemangleSymbol(symbol), .system_name = std::string(symbol)}};
}

// The linkage name says everything. Functions local to a file have none in DWARF, so their name is
// composed from the enclosing scopes.
void DwarfModule::NameFunction(Dwarf_Die& die, ResolvedLine& line) const {
  Dwarf_Attribute found;
  const char* linkage = dwarf_formstring(dwarf_attr_integrate(&die, DW_AT_linkage_name, &found));
  if (linkage == nullptr) {
    linkage = dwarf_formstring(dwarf_attr_integrate(&die, DW_AT_MIPS_linkage_name, &found));
  }
  line.start_line = NumberOf(die, DW_AT_decl_line);
  if (linkage != nullptr) {
    line.system_name = linkage;
    line.name = DemangleSymbol(linkage);
    return;
  }
  const char* const name = dwarf_diename(&die);
  if (name == nullptr) return;
  line.name = name;
  Dwarf_Die at = die;
  for (int hops = 0; hops < 8; ++hops) {
    if (const auto it = scopes_.find(dwarf_dieoffset(&at)); it != scopes_.end()) {
      line.name = it->second + name;
      return;
    }
    Dwarf_Attribute link;
    Dwarf_Attribute* const origin = dwarf_attr(&at, DW_AT_abstract_origin, &link) != nullptr
                                        ? &link
                                        : dwarf_attr(&at, DW_AT_specification, &link);
    Dwarf_Die next;
    if (origin == nullptr || dwarf_formref_die(origin, &next) == nullptr) return;
    at = next;
  }
}

ResolvedFrame DwarfModule::Resolve(std::uint64_t address) {
  Range* const found = FindRange(units_, address);
  if (found == nullptr) return BySymbol(address);
  Dwarf_Die& unit_die = found->die;
  Unit& unit = UnitOf(unit_die);
  Range* const function = FindRange(unit.functions, address);
  if (function == nullptr) return BySymbol(address);
  std::vector<Dwarf_Die> chain{function->die};
  CollectInlined(function->die, address, 0, chain);

  ResolvedFrame frame(chain.size());
  for (std::size_t i = 0; i < chain.size(); ++i) {
    NameFunction(chain[chain.size() - 1 - i], frame[i]);
  }
  // The innermost line is the address's own; each outer one is the line of the call.
  if (Dwarf_Line* const row = dwarf_getsrc_die(&unit_die, address)) {
    int line = 0, column = 0;
    dwarf_lineno(row, &line);
    dwarf_linecol(row, &column);
    frame[0].line = static_cast<std::uint32_t>(std::max(line, 0));
    frame[0].column = static_cast<std::uint32_t>(std::max(column, 0));
    frame[0].file = Absolute(unit.folder, dwarf_linesrc(row, nullptr, nullptr));
  }
  for (std::size_t i = 1; i < frame.size(); ++i) {
    Dwarf_Die& inlined = chain[chain.size() - i];
    frame[i].line = NumberOf(inlined, DW_AT_call_line);
    frame[i].column = NumberOf(inlined, DW_AT_call_column);
    const std::uint32_t file = NumberOf(inlined, DW_AT_call_file);
    if (unit.files != nullptr) {
      frame[i].file = Absolute(unit.folder, dwarf_filesrc(unit.files, file, nullptr, nullptr));
    }
  }
  // The symbol table has the full names of functions local to a file.
  const std::string_view symbol = SymbolAt(address);
  if (frame.back().system_name.empty() && !symbol.empty()) {
    frame.back().name = DemangleSymbol(symbol);
    frame.back().system_name = symbol;
  }
  return frame;
}

}  // namespace wherefore::symbols
