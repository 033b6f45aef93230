// Dictionaries: the names one writer has given ids to, as hash -> id maps, per (tenant, service,
// bucket).
//
// The rows are in the engine; memory holds hashes only. A dictionary is loaded on first use by
// reading this writer's rows back and hashing them again. That is right only when the engine has
// every row that was ever logged for it, which is why one is dropped from memory only after the
// segments with its rows were inserted.
//
// Threads: belongs to whoever holds the store's intern mutex.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "base/result.h"
#include "store/engine/transport.h"
#include "store/read.h"
#include "store/write/hash_ids.h"

namespace wherefore::store {

struct Dictionary {
  DictionaryKey key;
  HashIds mappings;
  HashIds functions;
  HashIds frames;
  HashIds stacks;
  HashIds series;
  std::unordered_set<std::uint64_t> types;
  bool named_for_profiles = false;  // `services` has a row that says: has profiles
  bool named_for_spans = false;
  std::uint32_t next_profile = 1;
  // Distinct values of each label, to name the one that grows.
  std::unordered_map<std::string, std::unordered_set<std::uint64_t>> label_values;

  std::uint64_t last_segment = 0;  // newest segment that may hold rows of it
  std::uint64_t last_use = 0;

  [[nodiscard]] std::size_t MemoryBytes() const;
  // "pod (19,998 values)": the label with the most distinct values.
  [[nodiscard]] std::string WidestLabel() const;
};

class Dictionaries {
 public:
  // `next_writer`: above our own number as soon as names were lost that it may have given ids to;
  // then nothing is loaded under it any more (kCorrupt).
  Dictionaries(Transport& transport, std::uint32_t writer,
               const std::atomic<std::uint32_t>& next_writer)
      : transport_(transport), next_writer_(next_writer), writer_(writer) {}

  // Loads on first use. The pointer is good until the next Trim or Restart.
  Result<Dictionary*> Get(std::uint32_t tenant, std::uint64_t service, std::uint32_t bucket);

  // Drops the least recently used until `max_bytes` are left; only those whose rows are all
  // inserted, and never one used in the latest round. Returns how many bytes are left.
  std::size_t Trim(std::uint64_t inserted_through, std::size_t max_bytes);
  // Drops all of them and goes on under another writer number, so that no id is ever given twice.
  void Restart(std::uint32_t writer);
  void NextRound() { ++round_; }

  [[nodiscard]] std::uint32_t writer() const { return writer_; }
  [[nodiscard]] std::size_t size() const { return loaded_.size(); }

 private:
  Result<> LoadServices(std::uint32_t bucket);
  Result<> Load(Dictionary& dictionary);
  Result<> LoadFunctions(Dictionary& dictionary);
  Result<> LoadMappings(Dictionary& dictionary);
  Result<> LoadFrames(Dictionary& dictionary);
  Result<> LoadStacks(Dictionary& dictionary);
  Result<> LoadSeries(Dictionary& dictionary);
  Result<> LoadNumbers(Dictionary& dictionary);

  Transport& transport_;
  const std::atomic<std::uint32_t>& next_writer_;
  std::uint32_t writer_;
  std::uint64_t round_ = 1;
  std::map<DictionaryKey, std::unique_ptr<Dictionary>> loaded_;
  // Which dictionaries have rows in the engine or in the log: the others need no reading.
  std::map<std::uint32_t, std::map<DictionaryKey, unsigned>>
      known_;  // by bucket; bit 1 profiles, 2 spans
};

// WHERE condition that selects the rows of one dictionary.
[[nodiscard]] std::string KeyCondition(const DictionaryKey& key);

}  // namespace wherefore::store
