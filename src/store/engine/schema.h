// The tables: one description that CREATE statements, the log's rows and inserts are all made from.
//
// Physical tables carry their own version in their names (samples_v1); views with the plain names
// are for people's SQL. Layout of the data directory and of every table: docs/format.md.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/engine/transport.h"

namespace wherefore::store {

// Of the data directory as a whole: the files beside the engine, and which tables there are. Older
// ones are opened, newer ones refused. A table whose columns change gets a version of its own, so
// that the others stay where they are.
// 2: tenants in identities, checksums of headers in the log, names of tenants. 3: events of alerts.
// 4: sums by hour, pins, events of regressions.
inline constexpr int kDirectoryVersion = 4;

// In the order rows are inserted: names before what refers to them. Saved in the log: never
// renumber.
enum class Table : std::uint8_t {
  kServices,
  kTypes,
  kSeries,
  kMappings,
  kFunctions,
  kFrames,
  kStacks,
  kProfiles,
  kPayloads,
  kSamples,
  kLinks,
  kDetails,
  kSpans,
  kTraceIndex,
  kAlertEvents,
  kStackHours,
  kFunctionNames,
  kFunctionHours,
  kHourRolls,  // after what they speak of
  kPins,
  kRegressionEvents,
};
inline constexpr std::size_t kTableCount = 21;

// How a column is held in memory and in the log (rows.h).
enum class Layout : std::uint8_t {
  kFixed,      // `width` bytes a row
  kRuns,       // (u32 count, u64 value) pairs: columns that repeat, expanded only for the engine
  kText,       // varint length, bytes
  kArray,      // u32 size a row, then elements of `width` bytes
  kTextArray,  // u32 size a row, then texts
};

struct ColumnDef {
  std::string_view name;
  std::string_view type;
  Layout layout;
  std::uint8_t width;      // bytes of a value; 0 for text
  std::string_view codec;  // for servers that have codecs
};

struct TableDef {
  Table id;
  std::string_view name;  // plain
  std::span<const ColumnDef> columns;
  std::string_view order_by;
  bool is_dictionary;  // names, not measurements
  int version = 1;
};

[[nodiscard]] std::span<const TableDef> Tables();
[[nodiscard]] const TableDef& Definition(Table table);
// "samples_v1"
[[nodiscard]] std::string PhysicalName(Table table);

// Creates tables and views that are missing. `ids` says under which id the engine knew each table:
// one whose definition is gone and whose files are there gets them back. Afterwards it has the ids
// of all.
[[nodiscard]] Result<> CreateTables(Transport& transport, const std::string& engine_directory,
                                    std::map<std::string, std::string>& ids);
// The same for a new directory.
[[nodiscard]] Result<> CreateTables(Transport& transport);

// Where the engine keeps a table.
struct TableFolder {
  std::string table;  // physical name
  std::string folder;
};
[[nodiscard]] Result<std::vector<TableFolder>> TableFolders(Transport& transport);

// `bucket` of a time: the day (20261115) for the 60 days before `now_ns`, the month (202611) before
// that.
[[nodiscard]] std::uint32_t BucketOf(std::int64_t time_ns, std::int64_t now_ns);
// "2026-11-15", "2026-11"
[[nodiscard]] std::string BucketName(std::uint32_t bucket);
// First and one-past-last nanosecond of a bucket.
struct BucketSpan {
  std::int64_t from_ns = 0;
  std::int64_t to_ns = 0;
};
[[nodiscard]] BucketSpan SpanOf(std::uint32_t bucket);
// The buckets of what starts in [from_ns, to_ns): days and months between two days.
struct BucketRange {
  std::uint32_t first_day = 0;
  std::uint32_t last_day = 0;

  [[nodiscard]] bool Has(std::uint32_t bucket) const {
    return (bucket >= first_day && bucket <= last_day) ||
           (bucket >= first_day / 100 && bucket <= last_day / 100);
  }
};
[[nodiscard]] BucketRange BucketsOf(std::int64_t from_ns, std::int64_t to_ns);
// The same as a condition on `bucket`.
[[nodiscard]] std::string BucketCondition(std::int64_t from_ns, std::int64_t to_ns);

}  // namespace wherefore::store
