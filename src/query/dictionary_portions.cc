#include "query/dictionary_portions.h"

namespace wherefore::query {

namespace {

constexpr std::size_t kPortionDictionaries = 2000;

}  // namespace

Result<std::vector<Portion>> PortionsOf(store::Reader& reader,
                                        std::span<const store::DictionaryKey> dictionaries,
                                        std::uint64_t most_frames, const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto frames,
                             reader.FramesOf({dictionaries.begin(), dictionaries.end()}, cancel));
  std::vector<Portion> portions;
  std::uint64_t in_portion = 0;
  for (std::size_t i = 0; i < dictionaries.size(); ++i) {
    const auto found = frames.find(dictionaries[i]);
    const std::uint64_t size = found == frames.end() ? 0 : found->second;
    if (size > most_frames) continue;
    if (portions.empty() || in_portion + size > kPortionFrames ||
        portions.back().size() == kPortionDictionaries) {
      portions.emplace_back();
      in_portion = 0;
    }
    portions.back().push_back(i);
    in_portion += size;
  }
  return portions;
}

std::vector<store::DictionaryKey> KeysOf(std::span<const store::DictionaryKey> dictionaries,
                                         const Portion& portion) {
  std::vector<store::DictionaryKey> keys;
  keys.reserve(portion.size());
  for (const std::size_t i : portion) keys.push_back(dictionaries[i]);
  return keys;
}

Result<RowsByDictionary> ReadPortion(store::Reader& reader,
                                     std::span<const store::DictionaryKey> dictionaries,
                                     const Portion& portion, MemoryClaim& held,
                                     const CancelToken& cancel) {
  RowsByDictionary rows;
  std::size_t bytes = 0;
  {
    const MemoryScope scope(cancel);
    const auto before = cancel.memory_used();
    WHEREFORE_ASSIGN_OR_RETURN(rows, reader.Dictionaries(KeysOf(dictionaries, portion), cancel));
    bytes = static_cast<std::size_t>(cancel.memory_used() - before);
  }
  WHEREFORE_RETURN_IF_ERROR(held.Resize(bytes));
  return rows;
}

Result<> EachDictionary(store::Reader& reader, std::span<const store::DictionaryKey> dictionaries,
                        const std::function<Result<>(std::size_t, store::DictionaryRows&&)>& visit,
                        const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto portions,
                             PortionsOf(reader, dictionaries, kAnyFrames, cancel));
  for (const Portion& portion : portions) {
    WHEREFORE_RETURN_IF_ERROR(cancel.Check());
    MemoryClaim held(cancel);
    WHEREFORE_ASSIGN_OR_RETURN(auto rows, ReadPortion(reader, dictionaries, portion, held, cancel));
    for (const std::size_t i : portion)
      WHEREFORE_RETURN_IF_ERROR(visit(i, std::move(rows[dictionaries[i]])));
  }
  return {};
}

}  // namespace wherefore::query
