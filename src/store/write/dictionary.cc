// See dictionary.h.
#include "store/write/dictionary.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "profile/typed_attributes.h"
#include "store/engine/query_rows.h"
#include "store/engine/schema.h"
#include "store/write/content_hash.h"

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
  struct Row {
    std::uint32_t tenant = 0;
    std::uint64_t service = 0;
    std::uint32_t signal = 0;
  };
  constexpr auto kColumns = Columns<Row>(Col("tenant", &Row::tenant), Col("service", &Row::service),
                                         Col("signal", &Row::signal));
  std::map<DictionaryKey, unsigned> known;
  WHEREFORE_RETURN_IF_ERROR(QueryRows(
      transport_, kColumns,
      fmt::format("FROM {} WHERE bucket = {} AND writer = {}", PhysicalName(Table::kServices),
                  bucket, writer_),
      [&](const Row& row) { known[{row.tenant, row.service, bucket, writer_}] |= row.signal; }));
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

std::string AllOf(const DictionaryKey& key, Table table, std::string_view id) {
  return fmt::format("FROM {} WHERE {} ORDER BY {}", PhysicalName(table), KeyCondition(key), id);
}

Result<> AddNext(HashIds& ids, const DictionaryKey& key, Table table, std::uint32_t id,
                 const Hash128& hash) {
  if (id != ids.size() + 1) return Damaged(key, table, id, ids.size() + 1);
  ids.Add(hash);
  return {};
}

}  // namespace

Result<> Dictionaries::LoadMappings(Dictionary& d) {
  struct Row {
    std::uint32_t id = 0;
    std::uint64_t start = 0;
    std::uint64_t limit = 0;
    std::uint64_t file_offset = 0;
    std::string_view file;
    std::string_view attributes;
  };
  constexpr auto kColumns =
      Columns<Row>(Col("mapping", &Row::id), Col("start", &Row::start), Col("`limit`", &Row::limit),
                   Col("file_offset", &Row::file_offset), Col("file", &Row::file),
                   Col("attributes", &Row::attributes));
  return QueryRows(transport_, kColumns, AllOf(d.key, Table::kMappings, "mapping"),
                   [&](const Row& row) -> Result<> {
                     WHEREFORE_ASSIGN_OR_RETURN(const Hash128 attributes,
                                                HashOfEncoded(row.attributes));
                     return AddNext(d.mappings, d.key, Table::kMappings, row.id,
                                    HashOf(MappingContent{row.start, row.limit, row.file_offset,
                                                          HashString(row.file), attributes}));
                   });
}

Result<> Dictionaries::LoadFunctions(Dictionary& d) {
  struct Row {
    std::uint32_t id = 0;
    std::string_view name;
    std::string_view system_name;
    std::string_view file;
    std::int64_t start_line = 0;
  };
  constexpr auto kColumns = Columns<Row>(
      Col("function", &Row::id), Col("name", &Row::name), Col("system_name", &Row::system_name),
      Col("file", &Row::file), Col("start_line", &Row::start_line));
  return QueryRows(
      transport_, kColumns, AllOf(d.key, Table::kFunctions, "function"), [&](const Row& row) {
        return AddNext(d.functions, d.key, Table::kFunctions, row.id,
                       HashOf(FunctionContent{HashString(row.name), HashString(row.system_name),
                                              HashString(row.file), row.start_line}));
      });
}

Result<> Dictionaries::LoadFrames(Dictionary& d) {
  struct Row {
    std::uint32_t id = 0;
    std::uint32_t mapping = 0;
    std::uint64_t address = 0;
    NativeArray<std::uint32_t> functions;
    NativeArray<std::uint64_t> lines;
    NativeArray<std::uint64_t> columns;
    std::string_view attributes;
  };
  constexpr auto kColumns = Columns<Row>(
      Col("frame", &Row::id), Col("mapping", &Row::mapping), Col("address", &Row::address),
      Col("functions", &Row::functions), Col("lines", &Row::lines), Col("columns", &Row::columns),
      Col("attributes", &Row::attributes));
  return QueryRows(
      transport_, kColumns, AllOf(d.key, Table::kFrames, "frame"), [&](const Row& row) -> Result<> {
        WHEREFORE_ASSIGN_OR_RETURN(const Hash128 attributes, HashOfEncoded(row.attributes));
        FrameHasher hasher(
            {At(d.mappings, row.mapping), attributes, row.address, row.functions.size()});
        for (std::size_t i = 0; i < row.functions.size(); ++i)
          hasher.Add({At(d.functions, row.functions[i]), row.lines[i], row.columns[i]});
        return AddNext(d.frames, d.key, Table::kFrames, row.id, hasher.Finish());
      });
}

Result<> Dictionaries::LoadStacks(Dictionary& d) {
  struct Row {
    std::uint32_t id = 0;
    NativeArray<std::uint32_t> frames;
  };
  constexpr auto kColumns = Columns<Row>(Col("stack", &Row::id), Col("frames", &Row::frames));
  return QueryRows(transport_, kColumns, AllOf(d.key, Table::kStacks, "stack"),
                   [&](const Row& row) {
                     StackHasher hasher(row.frames.size());
                     for (std::size_t i = 0; i < row.frames.size(); ++i)
                       hasher.Add(At(d.frames, row.frames[i]));
                     return AddNext(d.stacks, d.key, Table::kStacks, row.id, hasher.Finish());
                   });
}

Result<> Dictionaries::LoadSeries(Dictionary& d) {
  struct Row {
    std::uint32_t id = 0;
    std::uint32_t parent = 0;
    NativeArray<std::string_view> names;
    NativeArray<std::string_view> values;
    std::string_view encoded;
  };
  constexpr auto kColumns =
      Columns<Row>(Col("series", &Row::id), Col("parent", &Row::parent), Col("names", &Row::names),
                   Col("`values`", &Row::values), Col("encoded", &Row::encoded));
  return QueryRows(transport_, kColumns, AllOf(d.key, Table::kSeries, "series"),
                   [&](const Row& row) {
                     for (std::size_t i = 0; i < row.names.size(); ++i)
                       d.label_values[std::string(row.names[i])].insert(Hash64(row.values[i]));
                     return AddNext(d.series, d.key, Table::kSeries, row.id,
                                    HashOfSeries(row.encoded, row.parent));
                   });
}

Result<> Dictionaries::LoadNumbers(Dictionary& d) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const std::vector<std::uint64_t> types,
      QueryColumn<std::uint64_t>(transport_, "SELECT type " + AllOf(d.key, Table::kTypes, "type")));
  d.types.insert(types.begin(), types.end());
  WHEREFORE_ASSIGN_OR_RETURN(
      const std::uint32_t last,
      QueryValue<std::uint32_t>(transport_,
                                fmt::format("SELECT max(number) FROM {} WHERE {}",
                                            PhysicalName(Table::kProfiles), KeyCondition(d.key))));
  d.next_profile = last + 1;
  return {};
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
