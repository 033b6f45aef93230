// MemoryReader: the names behind stacks.
#include <algorithm>

#include "profile/frame_name.h"
#include "store/memory/memory_reader.h"
#include "store/memory/scan_rows.h"

namespace wherefore::store::memory {
namespace {

// Rows with ids from `first` on; `lost` stands in the places of those that are not there.
template <typename Row>
std::vector<Row> RowsFrom(std::uint32_t first, const std::vector<Named<Row>>& named,
                          const Row& lost) {
  std::vector<Row> rows;
  for (const auto& [id, row] : named) {
    if (id < first) continue;
    if (id - first > rows.size()) rows.resize(id - first, lost);
    rows.push_back(row);
  }
  return rows;
}

DictionaryRows RowsFrom(const DictionaryCursor& cursor, const Names& names) {
  DictionaryRows rows;
  for (const auto& frames : RowsFrom(cursor.stack, names.stacks, {kLostId})) {
    rows.stacks.push_back({static_cast<std::uint32_t>(rows.stack_frames.size()),
                           static_cast<std::uint32_t>(frames.size())});
    rows.stack_frames.insert(rows.stack_frames.end(), frames.begin(), frames.end());
  }
  FrameRow lost_frame;
  lost_frame.lines.push_back({.function = kLostId});
  FunctionRow lost_function;
  lost_function.name = profile::kNameLost;
  rows.frames = RowsFrom(cursor.frame, names.frames, lost_frame);
  rows.functions = RowsFrom(cursor.function, names.functions, lost_function);
  rows.mappings = RowsFrom(cursor.mapping, names.mappings, {});
  return rows;
}

std::size_t BytesOf(const DictionaryRows& rows) {
  return rows.functions.size() * sizeof(FunctionRow) + rows.mappings.size() * sizeof(MappingRow) +
         rows.frames.size() * sizeof(FrameRow) + rows.stack_frames.size() * sizeof(std::uint32_t) +
         rows.stacks.size() * sizeof(profile::Range);
}

bool HasRows(const Names& names) {
  return !names.stacks.empty() || !names.frames.empty() || !names.functions.empty() ||
         !names.mappings.empty();
}

}  // namespace

Result<DictionaryRows> MemoryReader::Dictionary(const DictionaryKey& dictionary,
                                                const DictionaryCursor& cursor,
                                                const CancelToken& cancel) {
  ReaderLock lock(mutex_);
  WHEREFORE_RETURN_IF_ERROR(cancel.Check());
  const auto names = tables_.names.find(dictionary);
  if (names == tables_.names.end()) return DictionaryRows{};
  DictionaryRows rows = RowsFrom(cursor, names->second);
  WHEREFORE_RETURN_IF_ERROR(cancel.Charge(BytesOf(rows)));
  return rows;
}

Result<std::map<DictionaryKey, DictionaryRows>> MemoryReader::Dictionaries(
    const std::vector<DictionaryKey>& dictionaries, const CancelToken& cancel) {
  ReaderLock lock(mutex_);
  WHEREFORE_RETURN_IF_ERROR(cancel.Check());
  std::map<DictionaryKey, DictionaryRows> all;
  for (const DictionaryKey& key : dictionaries) {
    const auto names = tables_.names.find(key);
    if (names == tables_.names.end() || !HasRows(names->second)) continue;
    DictionaryRows rows = RowsFrom({}, names->second);
    WHEREFORE_RETURN_IF_ERROR(cancel.Charge(BytesOf(rows)));
    all.insert_or_assign(key, std::move(rows));
  }
  return all;
}

Result<std::map<DictionaryKey, std::uint64_t>> MemoryReader::FramesOf(
    const std::vector<DictionaryKey>& dictionaries, const CancelToken& cancel) {
  ReaderLock lock(mutex_);
  WHEREFORE_RETURN_IF_ERROR(cancel.Check());
  std::map<DictionaryKey, std::uint64_t> all;
  for (const DictionaryKey& key : dictionaries) {
    const auto names = tables_.names.find(key);
    if (names == tables_.names.end() || names->second.stacks.empty()) continue;
    std::uint64_t frames = 0;
    for (const auto& [id, stack] : names->second.stacks) frames += stack.size() + 1;
    all[key] = frames;
  }
  return all;
}

Result<bool> MemoryReader::NamesFile(const std::vector<DictionaryKey>& dictionaries,
                                     const std::string& file, const CancelToken& cancel) {
  ReaderLock lock(mutex_);
  WHEREFORE_RETURN_IF_ERROR(cancel.Check());
  for (const DictionaryKey& key : dictionaries) {
    const auto names = tables_.names.find(key);
    if (names == tables_.names.end()) continue;
    for (const auto& [id, function] : names->second.functions) {
      if (function.file == file) return true;
    }
  }
  return false;
}

}  // namespace wherefore::store::memory
