// See dictionary.h.
#include "store/dictionary.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "profile/typed_attributes.h"
#include "store/content_hash.h"
#include "store/query_rows.h"
#include "store/schema.h"

namespace wherefore::store {
namespace {

Error Damaged(const DictionaryKey& key, Table table, std::uint32_t id, std::uint32_t want) {
  return {
      Code::kCorrupt,
      fmt::format(
          "dictionary of service {:016x}, bucket {}, writer {}: {} has id {} where {} was expected",
          key.service, key.bucket, key.writer, Definition(table).name, id, want)};
}

// Typed attributes, hashed as the encoder hashes them one by one.
Result<Hash128> HashOfEncoded(std::string_view encoded) {
  if (encoded.empty()) return Hash128{};
  WHEREFORE_ASSIGN_OR_RETURN(const auto attributes, profile::ReadTyped(encoded));
  std::vector<Hash128> hashes;
  std::string one;
  for (const profile::TypedAttribute& attribute : attributes) {
    one.clear();
    profile::AppendTyped(one, attribute);
    hashes.push_back(HashString(one));
  }
  return HashOfAttributes(hashes);
}

Hash128 At(const HashIds& ids, std::uint32_t id) {
  return id == 0 || id > ids.size() ? Hash128{} : ids.HashOf(id);
}

template <typename F>
Result<> ForEachRow(Transport& transport, const std::string& sql, std::size_t columns, F&& row) {
  return QueryRows(transport, sql, columns, {}, CancelToken(), row);
}

using Columns = std::vector<NativeColumn>;

}  // namespace

std::string KeyCondition(const DictionaryKey& key) {
  return fmt::format("tenant = {} AND service = {} AND bucket = {} AND writer = {}", key.tenant,
                     key.service, key.bucket, key.writer);
}

std::size_t Dictionary::MemoryBytes() const {
  std::size_t bytes = mappings.MemoryBytes() + functions.MemoryBytes() + frames.MemoryBytes() +
                      stacks.MemoryBytes() + series.MemoryBytes() + types.size() * 32;
  for (const auto& [name, values] : label_values) bytes += name.size() + 64 + values.size() * 32;
  return bytes;
}

std::string Dictionary::WidestLabel() const {
  std::string_view widest = "none";
  std::size_t values = 0;
  for (const auto& [name, seen] : label_values) {
    if (seen.size() > values || (seen.size() == values && name < widest)) {
      widest = name;
      values = seen.size();
    }
  }
  return fmt::format("{} ({} values)", widest, FormatCount(static_cast<std::int64_t>(values)));
}

Result<Dictionary*> Dictionaries::Get(std::uint32_t tenant, std::uint64_t service,
                                      std::uint32_t bucket) {
  const DictionaryKey key{tenant, service, bucket, writer_};
  auto& slot = loaded_[key];
  if (!slot) {
    const auto forget = [&](Error error) {
      loaded_.erase(key);
      return error;
    };
    auto dictionary = std::make_unique<Dictionary>();
    dictionary->key = key;
    if (auto loaded = LoadServices(bucket); !loaded) return forget(std::move(loaded).error());
    auto& known = known_[bucket];
    if (known.contains(key)) {
      if (auto loaded = Load(*dictionary); !loaded) return forget(std::move(loaded).error());
      if (next_writer_.load() > writer_) return forget({Code::kCorrupt, "names were lost"});
      dictionary->named_for_profiles = (known[key] & 1) != 0;
      dictionary->named_for_spans = (known[key] & 2) != 0;
    }
    known.try_emplace(key, 0);  // whoever asks will write: its rows come next
    slot = std::move(dictionary);
  }
  slot->last_use = round_;
  return slot.get();
}

Result<> Dictionaries::LoadServices(std::uint32_t bucket) {
  if (known_.contains(bucket)) return {};
  std::map<DictionaryKey, unsigned> known;
  WHEREFORE_RETURN_IF_ERROR(ForEachRow(
      transport_,
      fmt::format("SELECT tenant, service, signal FROM {} WHERE bucket = {} AND writer = {}",
                  PhysicalName(Table::kServices), bucket, writer_),
      3, [&](const Columns& columns, std::size_t row) -> Result<> {
        known[{columns[0].U32(row), columns[1].Uint(row), bucket, writer_}] |= columns[2].U32(row);
        return {};
      }));
  known_[bucket] = std::move(known);
  return {};
}

Result<> Dictionaries::Load(Dictionary& dictionary) {
  WHEREFORE_RETURN_IF_ERROR(LoadMappings(dictionary));
  WHEREFORE_RETURN_IF_ERROR(LoadFunctions(dictionary));
  WHEREFORE_RETURN_IF_ERROR(LoadFrames(dictionary));
  WHEREFORE_RETURN_IF_ERROR(LoadStacks(dictionary));
  WHEREFORE_RETURN_IF_ERROR(LoadSeries(dictionary));
  return LoadNumbers(dictionary);
}

namespace {

std::string SelectAll(Table table, const DictionaryKey& key, std::string_view columns,
                      std::string_view id) {
  return fmt::format("SELECT {} FROM {} WHERE {} ORDER BY {}", columns, PhysicalName(table),
                     KeyCondition(key), id);
}

Result<> AddNext(HashIds& ids, const DictionaryKey& key, Table table, std::uint32_t id,
                 const Hash128& hash) {
  if (id != ids.size() + 1) return Damaged(key, table, id, ids.size() + 1);
  ids.Add(hash);
  return {};
}

}  // namespace

Result<> Dictionaries::LoadMappings(Dictionary& d) {
  return ForEachRow(
      transport_,
      SelectAll(Table::kMappings, d.key, "mapping, start, `limit`, file_offset, file, attributes",
                "mapping"),
      6, [&](const Columns& c, std::size_t row) -> Result<> {
        WHEREFORE_ASSIGN_OR_RETURN(const Hash128 attributes, HashOfEncoded(c[5].Text(row)));
        return AddNext(d.mappings, d.key, Table::kMappings, c[0].U32(row),
                       HashOf(MappingContent{c[1].Uint(row), c[2].Uint(row), c[3].Uint(row),
                                             HashString(c[4].Text(row)), attributes}));
      });
}

Result<> Dictionaries::LoadFunctions(Dictionary& d) {
  return ForEachRow(transport_,
                    SelectAll(Table::kFunctions, d.key,
                              "function, name, system_name, file, start_line", "function"),
                    5, [&](const Columns& c, std::size_t row) {
                      return AddNext(d.functions, d.key, Table::kFunctions, c[0].U32(row),
                                     HashOf(FunctionContent{
                                         HashString(c[1].Text(row)), HashString(c[2].Text(row)),
                                         HashString(c[3].Text(row)), c[4].Int(row)}));
                    });
}

Result<> Dictionaries::LoadFrames(Dictionary& d) {
  std::vector<LineContent> lines;
  std::vector<char> scratch;
  return ForEachRow(
      transport_,
      SelectAll(Table::kFrames, d.key,
                "frame, mapping, address, functions, lines, columns, attributes", "frame"),
      7, [&](const Columns& c, std::size_t row) -> Result<> {
        lines.clear();
        for (std::size_t i = c[3].ArrayBegin(row); i < c[3].ArrayEnd(row); ++i) {
          lines.push_back({At(d.functions, c[3].U32(i)), c[4].Uint(i), c[5].Uint(i)});
        }
        WHEREFORE_ASSIGN_OR_RETURN(const Hash128 attributes, HashOfEncoded(c[6].Text(row)));
        return AddNext(d.frames, d.key, Table::kFrames, c[0].U32(row),
                       HashOf(FrameHead{At(d.mappings, c[1].U32(row)), attributes, c[2].Uint(row)},
                              lines, scratch));
      });
}

Result<> Dictionaries::LoadStacks(Dictionary& d) {
  std::vector<Hash128> frames;
  return ForEachRow(transport_, SelectAll(Table::kStacks, d.key, "stack, frames", "stack"), 2,
                    [&](const Columns& c, std::size_t row) {
                      frames.clear();
                      for (std::size_t i = c[1].ArrayBegin(row); i < c[1].ArrayEnd(row); ++i) {
                        frames.push_back(At(d.frames, c[1].U32(i)));
                      }
                      return AddNext(d.stacks, d.key, Table::kStacks, c[0].U32(row),
                                     HashOfStack(frames));
                    });
}

Result<> Dictionaries::LoadSeries(Dictionary& d) {
  return ForEachRow(
      transport_,
      SelectAll(Table::kSeries, d.key, "series, parent, names, `values`, encoded", "series"), 5,
      [&](const Columns& c, std::size_t row) {
        for (std::size_t i = c[2].ArrayBegin(row); i < c[2].ArrayEnd(row); ++i) {
          d.label_values[std::string(c[2].Text(i))].insert(Hash64(c[3].Text(i)));
        }
        return AddNext(d.series, d.key, Table::kSeries, c[0].U32(row),
                       HashOfSeries(c[4].Text(row), c[1].U32(row)));
      });
}

Result<> Dictionaries::LoadNumbers(Dictionary& d) {
  WHEREFORE_RETURN_IF_ERROR(ForEachRow(transport_, SelectAll(Table::kTypes, d.key, "type", "type"),
                                       1, [&](const Columns& c, std::size_t row) -> Result<> {
                                         d.types.insert(c[0].Uint(row));
                                         return {};
                                       }));
  return ForEachRow(transport_,
                    fmt::format("SELECT max(number) FROM {} WHERE {}",
                                PhysicalName(Table::kProfiles), KeyCondition(d.key)),
                    1, [&](const Columns& c, std::size_t row) -> Result<> {
                      d.next_profile = c[0].U32(row) + 1;
                      return {};
                    });
}

std::size_t Dictionaries::Trim(std::uint64_t inserted_through, std::size_t max_bytes) {
  std::size_t bytes = 0;
  std::vector<Dictionary*> by_age;
  for (const auto& [key, dictionary] : loaded_) {
    bytes += dictionary->MemoryBytes();
    by_age.push_back(dictionary.get());
  }
  if (bytes <= max_bytes) return bytes;
  std::ranges::sort(by_age, {}, &Dictionary::last_use);
  for (const Dictionary* dictionary : by_age) {
    if (bytes <= max_bytes) break;
    if (dictionary->last_use >= round_ || dictionary->last_segment > inserted_through) continue;
    bytes -= std::min(bytes, dictionary->MemoryBytes());
    const DictionaryKey key = dictionary->key;
    known_[key.bucket][key] =
        (dictionary->named_for_profiles ? 1u : 0u) | (dictionary->named_for_spans ? 2u : 0u);
    loaded_.erase(key);
  }
  return bytes;
}

void Dictionaries::Restart(std::uint32_t writer) {
  writer_ = writer;
  loaded_.clear();
  known_.clear();
}

}  // namespace wherefore::store
