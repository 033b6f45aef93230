// Modules: which file an address of this process belongs to, and what its functions are called.
//
// Guarded by the collector's lock. A module keeps its number as long as the process lives, also
// after dlclose. Names come from the module's file, read when they are first asked for, or when it
// was unloaded; a file that is gone or was replaced by then (another build id) gives no names,
// only module+0x<offset>. Code that belongs to no file has the name its compiler wrote down
// (jit_names.h), or one common name.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "elf/symbols.h"
#include "elf/unwind_table.h"
#include "sdk/unwind/jit_names.h"
#include "sdk/unwind/module_map.h"

namespace wherefore::sdk {

// An executable segment of a file, with addresses as in the file.
struct ModuleInfo {
  std::string path;
  std::string build_id;  // hex
  std::uint64_t start = 0;
  std::uint64_t limit = 0;
  std::uint64_t file_offset = 0;
};

struct FunctionName {
  std::string name;
  std::string system_name;  // mangled, where that differs
};

class Modules {
 public:
  static constexpr std::uint32_t kUnknown = 0;
  struct Place {
    std::uint32_t module = kUnknown;
    std::uint64_t address = 0;  // in the file; of the process where the module is not known
  };

  explicit Modules(ModuleMap& map);
  ~Modules();
  Modules(const Modules&) = delete;
  Modules& operator=(const Modules&) = delete;

  // The place of an address that was seen under a generation of the map, or in what was loaded
  // since where that generation does not know it.
  [[nodiscard]] Place Find(std::uint64_t pc, std::uint64_t generation);
  // The executable; kUnknown before the first address was looked for.
  [[nodiscard]] std::uint32_t program() const { return program_; }
  [[nodiscard]] const ModuleInfo& info(std::uint32_t module) const { return infos_[module]; }
  [[nodiscard]] const FunctionName& NameOf(std::uint32_t module, std::uint64_t address);
  // Before many names are asked for: Expect() each, then ReadExpected() once. Of files that were
  // not read yet only these names are read, which is a fraction of the work. A file of which more
  // is needed again and again is read as a whole.
  void Expect(std::uint32_t module, std::uint64_t address);
  void ReadExpected();
  // Whether a module that was unloaded still lacks its names; whether this one does.
  [[nodiscard]] bool AnyGoneWithoutNames();
  [[nodiscard]] bool IsGoneWithoutNames(std::uint32_t module) const;

 private:
  struct Names;
  // What was loaded at a time, with the numbers of its modules.
  struct Listed {
    std::shared_ptr<const ModuleList> list;
    std::vector<std::uint32_t> numbers;
  };

  void Use(std::shared_ptr<const ModuleList> list, Listed& as);
  [[nodiscard]] static std::optional<Place> FindIn(const Listed& listed, std::uint64_t pc);
  std::uint32_t NumberOf(const Module& module);
  [[nodiscard]] bool IsGone(std::uint32_t module) const;
  Names& NamesOf(std::uint32_t module);
  void ReadAllNames(std::uint32_t module);
  void ReadMoreNames(std::uint32_t module, const std::unordered_set<std::uint64_t>& addresses);
  [[nodiscard]] std::optional<elf::ElfFile> OpenFile(std::uint32_t module) const;
  const FunctionName& NameOfGenerated(std::uint64_t address);

  ModuleMap& map_;
  Listed then_;  // of the generation that was asked for last
  Listed newest_;
  std::unordered_map<std::string, std::uint32_t> known_;  // by what makes a module the same
  std::vector<ModuleInfo> infos_;                         // [0]: not known
  std::uint32_t program_ = kUnknown;
  std::vector<std::shared_ptr<const elf::UnwindTable>> tables_;
  std::vector<std::unique_ptr<Names>> names_;
  std::unordered_map<std::uint32_t, std::unordered_set<std::uint64_t>> expected_;
  JitNames jit_names_;
};

}  // namespace wherefore::sdk
