#include "elf/symbols.h"

#include <algorithm>
#include <tuple>

#include "elf/byte_reader.h"
#include "elf/xz.h"

namespace wherefore::elf {
namespace {

constexpr std::size_t kMaxSymbols = 8'000'000;
constexpr std::size_t kMaxNamesBytes = std::size_t{1} << 30;
constexpr std::size_t kMaxNameLength = UINT16_MAX;
// Limit for an unpacked .gnu_debugdata section. A browser's is under 100 MB.
constexpr std::size_t kMaxMiniDebugBytes = std::size_t{256} << 20;

bool IsFunction(const Elf64_Sym& symbol) {
  const unsigned type = ELF64_ST_TYPE(symbol.st_info);
  return (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE) &&
         symbol.st_shndx != SHN_UNDEF && symbol.st_shndx != SHN_ABS && symbol.st_value != 0;
}

bool Covers(const Elf64_Sym& symbol, std::span<const std::uint64_t> addresses) {
  const auto at = std::ranges::lower_bound(addresses, symbol.st_value);
  return at != addresses.end() &&
         *at - symbol.st_value < std::max<std::uint64_t>(symbol.st_size, 1);
}

}  // namespace

struct SymbolTable::Symbol {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint32_t name = 0;
  std::uint8_t rank = 0;         // 0 global, 1 weak, 2 local, 3 not typed as a function
  std::uint8_t underscores = 0;  // leading underscores of the name
  std::uint16_t length = 0;
};

SymbolTable SymbolTable::Load(const ElfFile& file) {
  return Read(file, nullptr);
}

SymbolTable SymbolTable::LoadFor(const ElfFile& file, std::span<const std::uint64_t> addresses) {
  return Read(file, &addresses);
}

SymbolTable SymbolTable::Read(const ElfFile& file, Addresses wanted) {
  SymbolTable table;
  std::vector<Symbol> symbols;
  table.CollectFrom(file, wanted, symbols);
  if (const Section* packed = file.FindSection(".gnu_debugdata")) {
    auto bytes = file.Read(*packed);
    auto unpacked = bytes ? UnpackXz(bytes->bytes(), kMaxMiniDebugBytes)
                          : Result<std::vector<std::uint8_t>>(std::move(bytes).error());
    auto mini = unpacked ? ElfFile::FromBytes(*unpacked) : std::move(unpacked).error();
    if (mini) table.CollectFrom(*mini, wanted, symbols);
  }
  table.Flatten(std::move(symbols));
  table.names_.shrink_to_fit();
  return table;
}

void SymbolTable::CollectFrom(const ElfFile& file, Addresses wanted, std::vector<Symbol>& out) {
  for (const std::uint32_t type : {SHT_SYMTAB, SHT_DYNSYM}) {
    if (const Section* table = file.FindSection(type)) Collect(file, *table, wanted, out);
  }
}

void SymbolTable::Collect(const ElfFile& file, const Section& table, Addresses wanted,
                          std::vector<Symbol>& out) {
  if (table.link >= file.sections().size()) return;
  auto entries = file.Read(table);
  auto strings = file.Read(file.sections()[table.link]);
  if (!entries || !strings) return;
  ByteReader reader(entries->bytes());
  while (reader.left() >= sizeof(Elf64_Sym) && out.size() < kMaxSymbols) {
    const auto entry = reader.Read<Elf64_Sym>();
    if (!IsFunction(entry)) continue;
    // Only the symbols that cover an address matter for it.
    if (wanted != nullptr && !Covers(entry, *wanted)) continue;
    std::string_view name = ByteReader(strings->bytes(), entry.st_name).CString();
    name = name.substr(0, name.find('@', 1));
    if (name.empty() || name.size() > kMaxNameLength) continue;
    if (names_.size() + name.size() >= kMaxNamesBytes) return;
    const bool untyped = ELF64_ST_TYPE(entry.st_info) == STT_NOTYPE;
    const unsigned binding = ELF64_ST_BIND(entry.st_info);
    // Untyped local symbols are labels in hand-written code, not functions.
    if (untyped && (binding == STB_LOCAL || entry.st_size == 0)) continue;
    Symbol symbol{.start = entry.st_value,
                  .end = entry.st_value + std::max<std::uint64_t>(entry.st_size, 1),
                  .name = static_cast<std::uint32_t>(names_.size()),
                  .length = static_cast<std::uint16_t>(name.size())};
    if (symbol.end < symbol.start) continue;
    symbol.rank = untyped ? 3 : binding == STB_LOCAL ? 2 : binding == STB_WEAK ? 1 : 0;
    symbol.underscores = static_cast<std::uint8_t>(
        std::min<std::size_t>(name.find_first_not_of('_'), std::uint8_t{255}));
    out.push_back(symbol);
    names_.append(name).push_back('\0');
  }
}

// Cuts overlapping symbols into disjoint ranges. Sorted by start, longest first, the symbols still
// open form a stack whose top is the innermost.
void SymbolTable::Flatten(std::vector<Symbol> symbols) {
  const auto name_of = [&](const Symbol& symbol) { return std::string_view(&names_[symbol.name]); };
  std::ranges::sort(symbols, [&](const Symbol& a, const Symbol& b) {
    const auto key = [](const Symbol& s) {
      return std::make_tuple(s.start, ~s.end, s.rank, s.underscores, s.length);
    };
    const auto left = key(a), right = key(b);
    return left != right ? left < right : name_of(a) < name_of(b);
  });
  std::vector<Symbol> open;
  const auto emit = [&](std::uint64_t start, std::uint64_t end, const Symbol& symbol) {
    if (start < end) ranges_.push_back({start, end, symbol.name});
  };
  std::uint64_t position = 0;
  const auto close_until = [&](std::uint64_t limit) {
    while (!open.empty() && open.back().end <= limit) {
      emit(position, open.back().end, open.back());
      position = std::max(position, open.back().end);
      open.pop_back();
    }
  };
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const Symbol& symbol = symbols[i];
    const bool alias =
        i > 0 && symbols[i - 1].start == symbol.start && symbols[i - 1].end == symbol.end;
    if (alias) continue;
    close_until(symbol.start);
    if (!open.empty()) emit(position, symbol.start, open.back());
    position = symbol.start;
    open.push_back(symbol);
  }
  close_until(UINT64_MAX);
  ranges_.shrink_to_fit();
}

std::string_view SymbolTable::Find(std::uint64_t address) const {
  auto it = std::ranges::upper_bound(ranges_, address, {}, &Range::start);
  if (it == ranges_.begin()) return {};
  --it;
  if (address >= it->end) return {};
  return &names_[it->name];
}

}  // namespace wherefore::elf
