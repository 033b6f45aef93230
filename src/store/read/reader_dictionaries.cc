// Reader: the names behind stacks: of one dictionary from where a reader has read it, or of many
// small ones at once.
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "profile/frame_name.h"
#include "store/engine/schema.h"
#include "store/read/key_columns.h"
#include "store/read/number_rows.h"
#include "store/read/reader.h"
#include "store/write/dictionary.h"

namespace wherefore::store {
namespace {

// The four tables of names. Each says what a row is, how it is selected, and how it is added to a
// dictionary, in whose list it comes next but for rows that are lost.

struct StackNames {
  static constexpr Table kTable = Table::kStacks;
  static constexpr std::string_view kId = "stack";
  static constexpr auto kFirst = &DictionaryCursor::stack;

  std::uint32_t id = 0;
  NativeArray<std::uint32_t> frames;

  static constexpr auto List() {
    return Columns<StackNames>(Col(kId, &StackNames::id), Col("frames", &StackNames::frames));
  }
  static std::size_t Size(const DictionaryRows& rows) { return rows.stacks.size(); }
  static void AddLost(DictionaryRows& rows) {
    rows.stacks.push_back({static_cast<std::uint32_t>(rows.stack_frames.size()), 1});
    rows.stack_frames.push_back(kLostId);
  }
  void AddTo(DictionaryRows& rows) const {
    rows.stacks.push_back({static_cast<std::uint32_t>(rows.stack_frames.size()),
                           static_cast<std::uint32_t>(frames.size())});
    for (std::size_t i = 0; i < frames.size(); ++i) rows.stack_frames.push_back(frames[i]);
  }
};

struct FrameNames {
  static constexpr Table kTable = Table::kFrames;
  static constexpr std::string_view kId = "frame";
  static constexpr auto kFirst = &DictionaryCursor::frame;

  std::uint32_t id = 0;
  FrameRow frame;
  NativeArray<std::uint32_t> functions;
  NativeArray<std::uint32_t> lines;
  NativeArray<std::uint32_t> columns;

  static constexpr auto List() {
    using Names = FrameNames;
    return Columns<Names>(Col(kId, &Names::id), Col("mapping", &Names::frame, &FrameRow::mapping),
                          Col("address", &Names::frame, &FrameRow::address),
                          Col("functions", &Names::functions), Col("lines", &Names::lines),
                          Col("columns", &Names::columns),
                          Col("attributes", &Names::frame, &FrameRow::attributes));
  }
  static std::size_t Size(const DictionaryRows& rows) { return rows.frames.size(); }
  static void AddLost(DictionaryRows& rows) {
    rows.frames.emplace_back().lines.push_back({.function = kLostId});
  }
  void AddTo(DictionaryRows& rows) {
    frame.lines.reserve(functions.size());
    for (std::size_t i = 0; i < functions.size(); ++i)
      frame.lines.push_back({functions[i], lines[i], columns[i]});
    rows.frames.push_back(std::move(frame));
  }
};

struct FunctionNames {
  static constexpr Table kTable = Table::kFunctions;
  static constexpr std::string_view kId = "function";
  static constexpr auto kFirst = &DictionaryCursor::function;

  std::uint32_t id = 0;
  FunctionRow function;

  static constexpr auto List() {
    using Names = FunctionNames;
    return Columns<Names>(Col(kId, &Names::id), Col("name", &Names::function, &FunctionRow::name),
                          Col("system_name", &Names::function, &FunctionRow::system_name),
                          Col("file", &Names::function, &FunctionRow::file),
                          Col("start_line", &Names::function, &FunctionRow::start_line));
  }
  static std::size_t Size(const DictionaryRows& rows) { return rows.functions.size(); }
  static void AddLost(DictionaryRows& rows) {
    rows.functions.push_back({.name = std::string(profile::kNameLost)});
  }
  void AddTo(DictionaryRows& rows) { rows.functions.push_back(std::move(function)); }
};

struct MappingNames {
  static constexpr Table kTable = Table::kMappings;
  static constexpr std::string_view kId = "mapping";
  static constexpr auto kFirst = &DictionaryCursor::mapping;

  std::uint32_t id = 0;
  MappingRow mapping;

  static constexpr auto List() {
    using Names = MappingNames;
    return Columns<Names>(Col(kId, &Names::id), Col("start", &Names::mapping, &MappingRow::start),
                          Col("`limit`", &Names::mapping, &MappingRow::limit),
                          Col("file_offset", &Names::mapping, &MappingRow::file_offset),
                          Col("file", &Names::mapping, &MappingRow::file),
                          Col("build_id", &Names::mapping, &MappingRow::build_id),
                          Col("attributes", &Names::mapping, &MappingRow::attributes));
  }
  static std::size_t Size(const DictionaryRows& rows) { return rows.mappings.size(); }
  static void AddLost(DictionaryRows& rows) { rows.mappings.emplace_back(); }
  void AddTo(DictionaryRows& rows) { rows.mappings.push_back(std::move(mapping)); }
};

// `rows` begins with id `first`. What is lost gets its place, so that no other row takes it.
template <typename Names>
Result<> AddRow(Names&& row, const DictionaryKey& key, std::uint32_t first, DictionaryRows& rows) {
  while (first + Names::Size(rows) < row.id) Names::AddLost(rows);
  const std::size_t want = first + Names::Size(rows);
  if (row.id != want) {
    return Error(
        Code::kCorrupt,
        fmt::format("{} of service {:016x} in bucket {}: id {} where {} was expected",
                    Definition(Names::kTable).name, key.service, key.bucket, row.id, want));
  }
  row.AddTo(rows);
  return {};
}

// Calls `ask.template operator()<Names>()` for each table. What refers comes before what it refers
// to: rows written meanwhile then only add names nobody asks for.
template <typename Ask>
Result<> AskForNames(const Ask& ask) {
  WHEREFORE_RETURN_IF_ERROR(ask.template operator()<StackNames>());
  WHEREFORE_RETURN_IF_ERROR(ask.template operator()<FrameNames>());
  WHEREFORE_RETURN_IF_ERROR(ask.template operator()<FunctionNames>());
  return ask.template operator()<MappingNames>();
}

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
  WHEREFORE_RETURN_IF_ERROR(AskForNames([&]<typename Names>() {
    const std::uint32_t first = cursor.*Names::kFirst;
    return Run(Names::List(),
               fmt::format("FROM {0} WHERE {1} AND {2} >= {3} ORDER BY {2}",
                           PhysicalName(Names::kTable), KeyCondition(key), Names::kId, first),
               cancel, [&](Names&& row) { return AddRow(std::move(row), key, first, rows); });
  }));
  return rows;
}

Result<std::map<DictionaryKey, DictionaryRows>> ReaderImpl::Dictionaries(
    const std::vector<DictionaryKey>& keys, const CancelToken& cancel) {
  std::map<DictionaryKey, DictionaryRows> all;
  if (keys.empty()) return all;
  const std::string where = InDictionaries(keys);
  WHEREFORE_RETURN_IF_ERROR(AskForNames([&]<typename Names>() {
    using Row = std::pair<DictionaryKey, Names>;
    return Run(Columns<Row>(In(&Row::first, kKeyColumns), In(&Row::second, Names::List())),
               fmt::format("FROM {} WHERE {} ORDER BY tenant, service, bucket, writer, {}",
                           PhysicalName(Names::kTable), where, Names::kId),
               cancel, [&](Row&& row) {
                 return AddRow(std::move(row.second), row.first, 1, all[row.first]);
               });
  }));
  return all;
}

Result<std::map<DictionaryKey, std::uint64_t>> ReaderImpl::FramesOf(
    const std::vector<DictionaryKey>& keys, const CancelToken& cancel) {
  using Row = std::pair<DictionaryKey, std::uint64_t>;
  std::map<DictionaryKey, std::uint64_t> frames;
  if (keys.empty()) return frames;
  WHEREFORE_RETURN_IF_ERROR(
      Run(Columns<Row>(In(&Row::first, kKeyColumns), Col("sum(length(frames) + 1)", &Row::second)),
          fmt::format("FROM {} WHERE {} GROUP BY tenant, service, bucket, writer",
                      PhysicalName(Table::kStacks), InDictionaries(keys)),
          cancel, [&](const Row& row) { frames.insert(row); }));
  return frames;
}

}  // namespace wherefore::store
