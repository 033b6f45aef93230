// Reader: the names behind stacks: of one dictionary from where a reader has read it, or of many
// small ones at once.
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "profile/frame_name.h"
#include "store/dictionary.h"
#include "store/number_rows.h"
#include "store/reader.h"
#include "store/schema.h"

namespace wherefore::store {
namespace {

using Columns = std::vector<NativeColumn>;

// Puts `lost` into the places before `id`, so that no other row takes them; `rows` begins with id
// `first`.
template <typename Row>
void FillUpTo(std::uint32_t id, std::uint32_t first, std::vector<Row>& rows, const Row& lost) {
  if (id > first + rows.size()) rows.resize(id - first, lost);
}

Result<> ExpectId(Table table, const DictionaryKey& key, std::uint32_t id, std::size_t want) {
  if (id == want) return {};
  return Error(Code::kCorrupt,
               fmt::format("{} of service {:016x} in bucket {}: id {} where {} was expected",
                           Definition(table).name, key.service, key.bucket, id, want));
}

// A row of an answer whose columns begin at `at` with the id; `rows` begin with id `first`.
struct Place {
  const Columns& c;
  std::size_t at;
  std::size_t row;
  std::uint32_t first;
  const DictionaryKey& key;

  [[nodiscard]] const NativeColumn& operator[](std::size_t i) const { return c[at + i]; }
  [[nodiscard]] std::uint32_t id() const { return c[at].U32(row); }
};

Result<> AddStack(const Place& p, DictionaryRows& rows) {
  while (p.first + rows.stacks.size() < p.id()) {
    rows.stacks.push_back({static_cast<std::uint32_t>(rows.stack_frames.size()), 1});
    rows.stack_frames.push_back(kLostId);
  }
  const auto begin = static_cast<std::uint32_t>(rows.stack_frames.size());
  for (std::size_t i = p[1].ArrayBegin(p.row); i < p[1].ArrayEnd(p.row); ++i)
    rows.stack_frames.push_back(p[1].U32(i));
  rows.stacks.push_back({begin, static_cast<std::uint32_t>(rows.stack_frames.size()) - begin});
  return ExpectId(Table::kStacks, p.key, p.id(), p.first + rows.stacks.size() - 1);
}

Result<> AddFrame(const Place& p, DictionaryRows& rows) {
  FrameRow lost;
  lost.lines.push_back({.function = kLostId});
  FillUpTo(p.id(), p.first, rows.frames, lost);
  FrameRow& frame = rows.frames.emplace_back();
  frame.mapping = p[1].U32(p.row);
  frame.address = p[2].Uint(p.row);
  for (std::size_t i = p[3].ArrayBegin(p.row); i < p[3].ArrayEnd(p.row); ++i)
    frame.lines.push_back({p[3].U32(i), p[4].U32(i), p[5].U32(i)});
  frame.attributes = p[6].Text(p.row);
  return ExpectId(Table::kFrames, p.key, p.id(), p.first + rows.frames.size() - 1);
}

Result<> AddFunction(const Place& p, DictionaryRows& rows) {
  FillUpTo(p.id(), p.first, rows.functions, {.name = std::string(profile::kNameLost)});
  rows.functions.push_back({std::string(p[1].Text(p.row)), std::string(p[2].Text(p.row)),
                            std::string(p[3].Text(p.row)), p[4].Int(p.row)});
  return ExpectId(Table::kFunctions, p.key, p.id(), p.first + rows.functions.size() - 1);
}

Result<> AddMapping(const Place& p, DictionaryRows& rows) {
  FillUpTo(p.id(), p.first, rows.mappings, {});
  rows.mappings.push_back({p[1].Uint(p.row), p[2].Uint(p.row), p[3].Uint(p.row),
                           std::string(p[4].Text(p.row)), std::string(p[5].Text(p.row)),
                           std::string(p[6].Text(p.row))});
  return ExpectId(Table::kMappings, p.key, p.id(), p.first + rows.mappings.size() - 1);
}

struct NameTable {
  Table table;
  std::string_view id;
  std::string_view columns;
  std::size_t count;  // of columns, the id's included
  std::uint32_t DictionaryCursor::* first;
  Result<> (*add)(const Place&, DictionaryRows&);
};
// What refers comes before what it refers to: rows written meanwhile then only add names nobody
// asks for.
constexpr NameTable kNames[] = {
    {Table::kStacks, "stack", "frames", 2, &DictionaryCursor::stack, AddStack},
    {Table::kFrames, "frame", "mapping, address, functions, lines, columns, attributes", 7,
     &DictionaryCursor::frame, AddFrame},
    {Table::kFunctions, "function", "name, system_name, file, start_line", 5,
     &DictionaryCursor::function, AddFunction},
    {Table::kMappings, "mapping", "start, `limit`, file_offset, file, build_id, attributes", 7,
     &DictionaryCursor::mapping, AddMapping}};

}  // namespace

std::string InDictionaries(const std::vector<DictionaryKey>& keys) {
  std::set<std::uint32_t> buckets;
  NumberRows rows{"UInt32", "UInt64", "UInt32", "UInt32"};
  for (const DictionaryKey& key : keys) {
    buckets.insert(key.bucket);
    rows.Add({key.tenant, key.service, key.bucket, key.writer});
  }
  return fmt::format("bucket IN ({}) AND (tenant, service, bucket, writer) IN {}",
                     fmt::join(buckets, ","), rows.Sql());
}

Result<DictionaryRows> ReaderImpl::Dictionary(const DictionaryKey& key,
                                              const DictionaryCursor& cursor,
                                              const CancelToken& cancel) {
  DictionaryRows rows;
  for (const NameTable& t : kNames) {
    const std::uint32_t first = cursor.*t.first;
    WHEREFORE_RETURN_IF_ERROR(Run(
        fmt::format("SELECT {0}, {1} FROM {2} WHERE {3} AND {0} >= {4} ORDER BY {0}", t.id,
                    t.columns, PhysicalName(t.table), KeyCondition(key), first),
        t.count, cancel,
        [&](const Columns& c, std::size_t row) { return t.add({c, 0, row, first, key}, rows); }));
  }
  return rows;
}

Result<std::map<DictionaryKey, DictionaryRows>> ReaderImpl::Dictionaries(
    const std::vector<DictionaryKey>& keys, const CancelToken& cancel) {
  std::map<DictionaryKey, DictionaryRows> all;
  if (keys.empty()) return all;
  const std::string where = InDictionaries(keys);
  for (const NameTable& t : kNames) {
    WHEREFORE_RETURN_IF_ERROR(Run(
        fmt::format("SELECT tenant, service, bucket, writer, {0}, {1} FROM {2} WHERE {3} "
                    "ORDER BY tenant, service, bucket, writer, {0}",
                    t.id, t.columns, PhysicalName(t.table), where),
        t.count + 4, cancel, [&](const Columns& c, std::size_t row) {
          const DictionaryKey key = {c[0].U32(row), c[1].Uint(row), c[2].U32(row), c[3].U32(row)};
          return t.add({c, 4, row, 1, key}, all[key]);
        }));
  }
  return all;
}

Result<std::map<DictionaryKey, std::uint64_t>> ReaderImpl::FramesOf(
    const std::vector<DictionaryKey>& keys, const CancelToken& cancel) {
  std::map<DictionaryKey, std::uint64_t> frames;
  if (keys.empty()) return frames;
  WHEREFORE_RETURN_IF_ERROR(
      Run(fmt::format("SELECT tenant, service, bucket, writer, sum(length(frames) + 1) FROM {} "
                      "WHERE {} GROUP BY tenant, service, bucket, writer",
                      PhysicalName(Table::kStacks), InDictionaries(keys)),
          5, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
            frames[{c[0].U32(row), c[1].Uint(row), c[2].U32(row), c[3].U32(row)}] = c[4].Uint(row);
            return {};
          }));
  return frames;
}

}  // namespace wherefore::store
