// Dictionaries of a query over many, read together: one by one each costs four reads of the store,
// some 15 ms; hundreds together cost hardly more.
//
// Any thread. Rows are charged to the query's memory while they are held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "store/read.h"

namespace wherefore::query {

inline constexpr std::uint64_t kPortionFrames = 4'000'000;  // in memory at once
inline constexpr std::uint64_t kAnyFrames = std::numeric_limits<std::uint64_t>::max();

using Portion = std::vector<std::size_t>;  // places in a list of dictionaries
using RowsByDictionary = std::map<store::DictionaryKey, store::DictionaryRows>;

// Which of these dictionaries are read together. Those whose stacks have more frames than
// `most_frames` are in no portion; one that is larger than a portion is alone in it.
Result<std::vector<Portion>> PortionsOf(store::Reader& reader,
                                        std::span<const store::DictionaryKey> dictionaries,
                                        std::uint64_t most_frames, const CancelToken& cancel);
[[nodiscard]] std::vector<store::DictionaryKey> KeysOf(
    std::span<const store::DictionaryKey> dictionaries, const Portion& portion);
// The rows of a portion; `held` is what they take.
Result<RowsByDictionary> ReadPortion(store::Reader& reader,
                                     std::span<const store::DictionaryKey> dictionaries,
                                     const Portion& portion, MemoryClaim& held,
                                     const CancelToken& cancel);

// Hands over each dictionary's rows once, with its place in the list.
Result<> EachDictionary(store::Reader& reader, std::span<const store::DictionaryKey> dictionaries,
                        const std::function<Result<>(std::size_t, store::DictionaryRows&&)>& visit,
                        const CancelToken& cancel);

}  // namespace wherefore::query
