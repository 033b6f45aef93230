// ModuleMap: the programs and libraries this process has loaded, and their unwind tables.
//
// One ordinary thread calls Update() now and then (cheap when nothing was loaded or unloaded) and
// signal handlers read what it publishes in slots(). Samples carry the generation they were taken
// under, so that their addresses can be resolved later by the modules of that moment, even if
// something else has been loaded at the same place since. Tables are copies of ours, kept by build
// id, so a library that is loaded again costs nothing.
//
// Locks: under the loader's lock we only copy (elf/module_copy.h) and wait for nothing, neither for
// memory nor for a lock of ours; with a lock of ours held we never ask the loader. So it does not
// matter what an allocator, or a fork inside a constructor, holds while it waits for either.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "elf/unwind_table.h"
#include "sdk/platform/program_path.h"
#include "sdk/unwind/code_map.h"

struct dl_phdr_info;  // NOLINT(readability-identifier-naming): the loader's

namespace wherefore::elf {
struct ModuleCopy;
}

namespace wherefore::sdk {

struct Module {
  std::string path;         // as the loader knows it; the program's own from /proc/self/exe
  std::string build_id;     // raw bytes, may be empty
  std::uint64_t bias = 0;   // address in the process - address in the file
  std::uint64_t start = 0;  // of its executable segments, in the process
  std::uint64_t end = 0;
  std::uint64_t file_offset = 0;                  // of `start`
  bool program = false;                           // the executable
  std::shared_ptr<const elf::UnwindTable> table;  // never null
};

// The modules of one generation, by address.
struct ModuleList {
  std::uint64_t generation = 0;
  std::vector<Module> modules;

  // The module an address of this process belonged to, or null.
  [[nodiscard]] const Module* Find(std::uint64_t pc) const;
};

class ModuleMap {
 public:
  ModuleMap();
  ~ModuleMap();
  ModuleMap(const ModuleMap&) = delete;
  ModuleMap& operator=(const ModuleMap&) = delete;

  // Looks at what is loaded; true when something changed and was published. Not in a signal
  // handler; calls from several threads wait for each other. Tables of new modules are compiled
  // (about 40 ns per row) from copies, after the loader has been left.
  bool Update();

  // For a program that ends before it needed tables: publishes tables of only those functions that
  // these and earlier addresses are in. The list of modules is read once. False: none of the
  // addresses is new. One thread at a time; ForgetPart() at the end, which withdraws the map.
  bool UpdateFor(std::span<const std::uint64_t> pcs);
  void ForgetPart();

  // For readers in any context.
  [[nodiscard]] CodeMapSlots& slots() { return slots_; }

  // The modules of a generation; of the newest one for 0. Null when it is too long ago: the last 64
  // generations are kept.
  [[nodiscard]] std::shared_ptr<const ModuleList> Modules(std::uint64_t generation = 0) const;

  // Of what is published; 0: nothing is.
  [[nodiscard]] std::uint64_t generation() const;

  // What tables take, those of unloaded modules included.
  [[nodiscard]] std::size_t table_bytes() const;

  // For pthread_atfork: the child gets a map in order, and readers that are not there any more do
  // not hold its slots. Takes a lock for the time of the fork; Update() may make it wait.
  void BeforeFork();
  void AfterForkInParent();
  void AfterForkInChild();

 private:
  struct Published {
    std::shared_ptr<const ModuleList> list;
    std::vector<CodeRange> ranges;
  };
  struct LoaderCounts {
    unsigned long long loads = 0;
    unsigned long long unloads = 0;
    bool operator==(const LoaderCounts&) const = default;
  };
  struct Visit;

  using Table = std::shared_ptr<const elf::UnwindTable>;
  // Tables are looked for without making a string, which may need memory.
  struct HashText {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };

  static int CopyModule(dl_phdr_info* info, std::size_t size, void* visit);
  void Look(Visit& visit);
  bool PublishCopied(const Visit& visit, bool whole);
  static std::optional<Module> Describe(const elf::ModuleCopy& copy, const elf::ElfFile& file);
  Table PartFor(const elf::ElfFile& file, const Module& module) const;
  Table TableFor(const elf::ElfFile& file, const std::string& path);
  bool Publish(ModuleList modules, bool whole);
  void DropUnusedTables();

  // Read early: it is not available any more when main has ended before its threads.
  const std::string program_path_ = ProgramPath();
  mutable std::mutex mutex_;  // everything below but the slots
  LoaderCounts seen_;
  std::uint64_t generation_ = 0;
  std::unordered_map<std::string, Table, HashText, std::equal_to<>> tables_;
  std::deque<std::shared_ptr<const ModuleList>> history_;
  std::unique_ptr<Visit> part_;                // of UpdateFor()
  std::unordered_set<std::uint64_t> asked_;    // the same
  Published published_[CodeMapSlots::kSlots];  // what the slots point into
  CodeMapSlots slots_;
};

}  // namespace wherefore::sdk
