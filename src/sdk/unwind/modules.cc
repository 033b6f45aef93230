#include "sdk/unwind/modules.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>

#include "base/demangle.h"
#include "elf/elf_file.h"

namespace wherefore::sdk {
namespace {

std::string Hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text.push_back(kDigits[static_cast<unsigned char>(c) >> 4]);
    text.push_back(kDigits[static_cast<unsigned char>(c) & 15]);
  }
  return text;
}

std::string HexNumber(std::uint64_t number) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(number));
  return text;
}

std::string_view FileName(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

// The names of one module: its symbols, and those already asked for.
struct Modules::Names {
  elf::SymbolTable symbols;
  // The addresses these are for, sorted, of those not asked for yet; all others without.
  std::optional<std::vector<std::uint64_t>> only;
  int reads = 0;          // of some of them
  bool unloaded = false;  // and everything that was needed then has been read
  std::unordered_map<std::string, FunctionName> known;  // by symbol, or by name where there is none
  std::unordered_map<std::uint64_t, const FunctionName*> by_address;
};

Modules::Modules(ModuleMap& map) : map_(map), infos_(1), tables_(1), names_(1) {}
Modules::~Modules() = default;

void Modules::Use(std::shared_ptr<const ModuleList> list, Listed& as) {
  if (list == as.list) return;
  as.list = std::move(list);
  as.numbers.clear();
  if (as.list == nullptr) return;
  for (const Module& module : as.list->modules) as.numbers.push_back(NumberOf(module));
}

std::uint32_t Modules::NumberOf(const Module& module) {
  const std::uint64_t start = module.start - module.bias;
  const auto [at, fresh] =
      known_.try_emplace(module.path + '\0' + module.build_id + '\0' + std::to_string(start),
                         static_cast<std::uint32_t>(infos_.size()));
  if (module.program) program_ = at->second;
  if (!fresh && names_[at->second] != nullptr) names_[at->second]->unloaded = false;
  if (fresh) {
    infos_.push_back({.path = module.path,
                      .build_id = Hex(module.build_id),
                      .start = start,
                      .limit = module.end - module.bias,
                      .file_offset = module.file_offset});
    tables_.emplace_back();
    names_.emplace_back();
  }
  tables_[at->second] = module.table;  // may know more functions than before
  return at->second;
}

std::optional<Modules::Place> Modules::FindIn(const Listed& listed, std::uint64_t pc) {
  const Module* const module = listed.list == nullptr ? nullptr : listed.list->Find(pc);
  if (module == nullptr) return std::nullopt;
  const auto index = static_cast<std::size_t>(module - listed.list->modules.data());
  return Place{.module = listed.numbers[index], .address = pc - module->bias};
}

Modules::Place Modules::Find(std::uint64_t pc, std::uint64_t generation) {
  if (then_.list == nullptr || then_.list->generation != generation) {
    auto list = map_.Modules(generation);
    Use(list != nullptr ? std::move(list) : map_.Modules(), then_);
  }
  if (const auto place = FindIn(then_, pc)) return *place;
  Use(map_.Modules(), newest_);
  return FindIn(newest_, pc).value_or(Place{.module = kUnknown, .address = pc});
}

Modules::Names& Modules::NamesOf(std::uint32_t module) {
  if (names_[module] == nullptr) ReadAllNames(module);
  return *names_[module];
}

// Nothing when it is gone or another one by now.
std::optional<elf::ElfFile> Modules::OpenFile(std::uint32_t module) const {
  const ModuleInfo& info = infos_[module];
  auto file = elf::ElfFile::Open(info.path);
  if (!file || Hex(file->build_id()) != info.build_id) return std::nullopt;
  return *std::move(file);
}

void Modules::ReadAllNames(std::uint32_t module) {
  const auto file = OpenFile(module);
  if (!file && names_[module] != nullptr) {  // those that were read are better than none
    names_[module]->only.reset();
    return;
  }
  names_[module] = std::make_unique<Names>();
  if (file) names_[module]->symbols = elf::SymbolTable::Load(*file);
}

void Modules::ReadMoreNames(std::uint32_t module,
                            const std::unordered_set<std::uint64_t>& addresses) {
  constexpr int kMostReads = 4;
  if (names_[module] == nullptr) {
    names_[module] = std::make_unique<Names>();
    names_[module]->only.emplace();
  }
  Names& names = *names_[module];
  if (++names.reads > kMostReads) return ReadAllNames(module);
  // None of `addresses` is among those.
  std::erase_if(*names.only, [&](std::uint64_t at) { return names.by_address.contains(at); });
  names.only->insert(names.only->end(), addresses.begin(), addresses.end());
  std::ranges::sort(*names.only);
  if (const auto file = OpenFile(module))
    names.symbols = elf::SymbolTable::LoadFor(*file, *names.only);
  names.unloaded = IsGone(module);
}

void Modules::Expect(std::uint32_t module, std::uint64_t address) {
  if (module == kUnknown) return;
  if (const Names* const names = names_[module].get(); names != nullptr) {
    if (!names->only || names->by_address.contains(address) ||
        std::ranges::binary_search(*names->only, address))
      return;
  }
  expected_[module].insert(address);
}

void Modules::ReadExpected() {
  if (expected_.empty()) return;
  Use(map_.Modules(), newest_);
  for (const auto& [module, addresses] : expected_) ReadMoreNames(module, addresses);
  expected_.clear();
}

bool Modules::IsGoneWithoutNames(std::uint32_t module) const {
  const bool all = names_[module] != nullptr && (!names_[module]->only || names_[module]->unloaded);
  return module != kUnknown && !all && IsGone(module);
}

bool Modules::IsGone(std::uint32_t module) const {
  return std::ranges::find(newest_.numbers, module) == newest_.numbers.end();
}

bool Modules::AnyGoneWithoutNames() {
  Use(map_.Modules(), newest_);
  for (std::uint32_t module = 1; module < names_.size(); ++module) {
    if (IsGoneWithoutNames(module)) return true;
  }
  return false;
}

// Not by address: a compiler may put another function there.
const FunctionName& Modules::NameOfGenerated(std::uint64_t address) {
  std::string name(jit_names_.Find(address));
  if (name.empty()) name = "[generated code]";
  FunctionName& kept = NamesOf(kUnknown).known[name];
  if (kept.name.empty()) kept.name = std::move(name);
  return kept;
}

const FunctionName& Modules::NameOf(std::uint32_t module, std::uint64_t address) {
  if (module == kUnknown) return NameOfGenerated(address);
  Names& names = NamesOf(module);
  if (const auto found = names.by_address.find(address); found != names.by_address.end())
    return *found->second;
  if (names.only && !std::ranges::binary_search(*names.only, address)) {
    ReadAllNames(module);
    return NameOf(module, address);
  }
  FunctionName name;
  std::string symbol(names.symbols.Find(address));
  if (!symbol.empty()) {
    name.name = DemangleSymbol(symbol);
    if (name.name != symbol) name.system_name = symbol;
  } else {
    const auto function = tables_[module]->FindFunction(address);
    name.name = std::string(FileName(infos_[module].path)) + '+' +
                HexNumber(function ? function->start : address);
    symbol = name.name;
  }
  const FunctionName& kept =
      names.known.try_emplace(std::move(symbol), std::move(name)).first->second;
  names.by_address.emplace(address, &kept);
  return kept;
}

}  // namespace wherefore::sdk
