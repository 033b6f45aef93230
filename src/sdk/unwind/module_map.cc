#include "sdk/unwind/module_map.h"

#include <link.h>

#include <algorithm>
#include <new>
#include <utility>

#include "elf/module_copy.h"
#include "elf/page_arena.h"

namespace wherefore::sdk {
namespace {

constexpr std::size_t kHistory = 64;
// Tables of modules that are no longer loaded are dropped beyond this.
constexpr std::size_t kMaxUnusedTableBytes = 32 << 20;

}  // namespace

const Module* ModuleList::Find(std::uint64_t pc) const {
  const auto it = std::upper_bound(modules.begin(), modules.end(), pc,
                                   [](std::uint64_t at, const Module& m) { return at < m.end; });
  return it != modules.end() && it->start <= pc ? &*it : nullptr;
}

// One look at what is loaded. Everything in it comes from pages of its own.
struct ModuleMap::Visit {
  struct Copied {
    elf::ModuleCopy module;
    Copied* next = nullptr;
  };

  ModuleMap* map = nullptr;
  std::unique_lock<std::mutex> lock;
  elf::PageArena arena;
  Copied* first = nullptr;
  Copied* last = nullptr;
  LoaderCounts counts;
  bool anyhow = false;   // also when nothing changed
  bool busy = false;     // another thread is at it
  bool changed = false;  // since the last publication
};

// Under the loader's lock: see the header. Another thread may hold our lock while it waits for
// memory, whose owner may wait for the loader; so it is only tried.
int ModuleMap::CopyModule(dl_phdr_info* info, std::size_t /*size*/, void* visit) {
  auto& v = *static_cast<Visit*>(visit);
  if (!v.lock.owns_lock()) {
    v.lock = std::unique_lock(v.map->mutex_, std::try_to_lock);
    v.busy = !v.lock.owns_lock();
    if (v.busy) return 1;
    v.counts = {info->dlpi_adds, info->dlpi_subs};
    v.changed = v.anyhow || v.map->generation_ == 0 || v.counts != v.map->seen_;
    if (!v.changed) return 1;
  }
  void* const memory = v.arena.Take(sizeof(Visit::Copied));
  if (memory == nullptr) return 1;
  auto* const copied = new (memory) Visit::Copied;
  copied->module.CopyIdentity(*info, v.arena);
  const std::string_view build_id = copied->module.build_id;
  if (build_id.empty() || !v.map->tables_.contains(build_id)) copied->module.CopyFrames(v.arena);
  (v.last == nullptr ? v.first : v.last->next) = copied;
  v.last = copied;
  return v.arena.exhausted() ? 1 : 0;
}

ModuleMap::ModuleMap() = default;
ModuleMap::~ModuleMap() = default;

// Our lock is held by `visit` afterwards.
void ModuleMap::Look(Visit& visit) {
  while (true) {
    dl_iterate_phdr(&ModuleMap::CopyModule, &visit);
    if (!std::exchange(visit.busy, false)) return;
    const std::lock_guard wait(mutex_);
  }
}

// Without memory nothing changes: the next call tries again.
bool ModuleMap::Update() try {
  Visit visit{.map = this};
  Look(visit);
  if (!visit.changed || visit.arena.exhausted() || !PublishCopied(visit, true)) return false;
  seen_ = visit.counts;
  DropUnusedTables();
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

bool ModuleMap::UpdateFor(std::span<const std::uint64_t> pcs) try {
  bool fresh = false;
  for (const std::uint64_t pc : pcs) fresh = asked_.insert(pc).second || fresh;
  if (!fresh) return false;
  if (part_ == nullptr) {
    part_ = std::make_unique<Visit>();
    part_->map = this;
    part_->anyhow = true;
    Look(*part_);
  } else {
    part_->lock.lock();
  }
  const std::unique_lock hold = std::move(part_->lock);
  part_->lock = std::unique_lock(mutex_, std::defer_lock);
  seen_ = {};  // the next Update() reads all of it
  return !part_->arena.exhausted() && PublishCopied(*part_, false);
} catch (const std::bad_alloc&) {
  return false;
}

void ModuleMap::ForgetPart() {
  if (part_ == nullptr) return;
  slots_.Withdraw();
  part_.reset();
  asked_.clear();
}

bool ModuleMap::PublishCopied(const Visit& visit, bool whole) {
  ModuleList list;
  for (const Visit::Copied* at = visit.first; at != nullptr; at = at->next) {
    const auto file = elf::ElfFile::FromCopy(at->module);
    auto module = file ? Describe(at->module, *file) : std::nullopt;
    if (!module) continue;
    if (module->program) module->path = program_path_;
    module->table = whole ? TableFor(*file, module->path) : PartFor(*file, *module);
    list.modules.push_back(*std::move(module));
  }
  return Publish(std::move(list), whole);
}

// Nothing for a module without code.
std::optional<Module> ModuleMap::Describe(const elf::ModuleCopy& copy, const elf::ElfFile& file) {
  Module module{.path = std::string(copy.name),
                .build_id = file.build_id(),
                .bias = copy.bias,
                .program = copy.name.empty()};
  for (const elf::Segment& segment : file.segments()) {
    if (!segment.executable) continue;
    const std::uint64_t start = copy.bias + segment.address;
    if (module.end == 0) {
      module.start = start;
      module.file_offset = segment.offset;
    }
    module.end = std::max(module.end, start + segment.memory_size);
  }
  if (module.end == 0) return std::nullopt;
  return module;
}

ModuleMap::Table ModuleMap::PartFor(const elf::ElfFile& file, const Module& module) const {
  if (const auto known = tables_.find(file.build_id()); known != tables_.end())
    return known->second;
  std::vector<std::uint64_t> addresses;
  for (const std::uint64_t pc : asked_) {
    if (pc >= module.start && pc < module.end) addresses.push_back(pc - module.bias);
  }
  auto built = elf::UnwindTable::BuildFor(file, addresses);
  return std::make_shared<const elf::UnwindTable>(built ? *std::move(built) : elf::UnwindTable());
}

ModuleMap::Table ModuleMap::TableFor(const elf::ElfFile& file, const std::string& path) {
  // Without a build id a path may be another file every time: such tables are not found again.
  const bool identified = !file.build_id().empty();
  if (identified) {
    const auto it = tables_.find(file.build_id());
    if (it != tables_.end()) return it->second;
  }
  auto built = elf::UnwindTable::Build(file);
  // Linked with -static there is nothing in memory that leads to the section, but the file knows.
  if (!file.eh_frame_header() && path.starts_with('/')) {
    if (const auto on_disk = elf::ElfFile::Open(path);
        on_disk && on_disk->build_id() == file.build_id()) {
      built = elf::UnwindTable::Build(*on_disk);
    }
  }
  auto table =
      std::make_shared<const elf::UnwindTable>(built ? *std::move(built) : elf::UnwindTable());
  tables_[identified ? file.build_id() : path + std::to_string(generation_)] = table;
  return table;
}

bool ModuleMap::Publish(ModuleList modules, bool whole) {
  const int slot = slots_.FindFree();
  if (slot < 0) return false;  // all are being read: the next Update() tries again
  modules.generation = ++generation_;
  std::ranges::sort(modules.modules, {}, &Module::start);
  const auto list = std::make_shared<const ModuleList>(std::move(modules));
  Published& published = published_[slot];
  published.ranges.clear();
  for (const Module& module : list->modules) {
    published.ranges.push_back({.start = module.start,
                                .end = module.end,
                                .base = module.bias + module.table->base_address(),
                                .rows = module.table->rows()});
  }
  published.list = list;
  history_.push_back(list);
  if (history_.size() > kHistory) history_.pop_front();
  slots_.Publish(slot, {.ranges = published.ranges.data(),
                        .count = static_cast<std::uint32_t>(published.ranges.size()),
                        .generation = generation_,
                        .whole = whole});
  return true;
}

// Slots and history hold on to what they need; the rest is only kept for being loaded again.
void ModuleMap::DropUnusedTables() {
  std::size_t unused = 0;
  for (auto it = tables_.begin(); it != tables_.end();) {
    if (it->second.use_count() == 1) unused += it->second->memory_bytes();
    it = unused > kMaxUnusedTableBytes && it->second.use_count() == 1 ? tables_.erase(it)
                                                                      : std::next(it);
  }
}

std::shared_ptr<const ModuleList> ModuleMap::Modules(std::uint64_t generation) const {
  const std::lock_guard lock(mutex_);
  if (history_.empty()) return nullptr;
  if (generation == 0) return history_.back();
  const auto it =
      std::ranges::find(history_, generation, [](const auto& list) { return list->generation; });
  return it == history_.end() ? nullptr : *it;
}

std::uint64_t ModuleMap::generation() const {
  const std::lock_guard lock(mutex_);
  return slots_.published() ? generation_ : 0;
}

std::size_t ModuleMap::table_bytes() const {
  const std::lock_guard lock(mutex_);
  std::size_t total = 0;
  for (const auto& [key, table] : tables_) total += table->memory_bytes();
  return total;
}

void ModuleMap::BeforeFork() {
  mutex_.lock();
}

void ModuleMap::AfterForkInParent() {
  mutex_.unlock();
}

void ModuleMap::AfterForkInChild() {
  slots_.ForgetReaders();
  mutex_.unlock();
}

}  // namespace wherefore::sdk
