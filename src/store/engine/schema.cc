// See schema.h. Codecs were chosen by store_bench on the load of docs/performance.md.
#include "store/engine/schema.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>

#include <fmt/format.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "store/engine/query_rows.h"

namespace wherefore::store {
namespace {

constexpr std::string_view kZstd = "ZSTD(1)";
constexpr std::string_view kDelta4 = "Delta(4), ZSTD(1)";
constexpr std::string_view kDelta8 = "Delta(8), ZSTD(1)";
constexpr std::string_view kT64 = "T64, ZSTD(1)";
constexpr std::string_view kNone = "NONE";  // random bytes

constexpr ColumnDef Run(std::string_view name, std::string_view type, std::uint8_t width,
                        std::string_view codec = kZstd) {
  return {name, type, Layout::kRuns, width, codec};
}
constexpr ColumnDef U32(std::string_view name, std::string_view codec = kZstd) {
  return {name, "UInt32", Layout::kFixed, 4, codec};
}
constexpr ColumnDef U64(std::string_view name, std::string_view codec = kZstd) {
  return {name, "UInt64", Layout::kFixed, 8, codec};
}
constexpr ColumnDef I64(std::string_view name, std::string_view codec = kZstd) {
  return {name, "Int64", Layout::kFixed, 8, codec};
}
constexpr ColumnDef F64(std::string_view name) {
  return {name, "Float64", Layout::kFixed, 8, kZstd};
}
constexpr ColumnDef U8(std::string_view name) {
  return {name, "UInt8", Layout::kFixed, 1, kZstd};
}
constexpr ColumnDef Bytes(std::string_view name, std::string_view type, std::uint8_t width,
                          std::string_view codec) {
  return {name, type, Layout::kFixed, width, codec};
}
constexpr ColumnDef Text(std::string_view name) {
  return {name, "String", Layout::kText, 0, kZstd};
}
constexpr ColumnDef Texts(std::string_view name) {
  return {name, "Array(String)", Layout::kTextArray, 0, kZstd};
}
constexpr ColumnDef Array(std::string_view name, std::string_view type, std::uint8_t width,
                          std::string_view codec = kZstd) {
  return {name, type, Layout::kArray, width, codec};
}

constexpr ColumnDef kBucket = Run("bucket", "UInt32", 4);
constexpr ColumnDef kTenant = Run("tenant", "UInt32", 4);
constexpr ColumnDef kService = Run("service", "UInt64", 8);
constexpr ColumnDef kWriter = Run("writer", "UInt32", 4);
constexpr ColumnDef kTraceId = Bytes("trace", "FixedString(16)", 16, kNone);
constexpr ColumnDef kSpanId = Bytes("span", "FixedString(8)", 8, kNone);

constexpr std::array kServices = {kBucket, kTenant, kService, kWriter, U8("signal"), Text("name")};
constexpr std::array kTypes = {kBucket,
                               kTenant,
                               kService,
                               kWriter,
                               U64("type"),
                               Text("name"),
                               Text("sample_type"),
                               Text("sample_unit"),
                               Text("period_type"),
                               Text("period_unit"),
                               I64("period"),
                               U8("count_rule"),
                               U8("stands_for_cpu")};
constexpr std::array kSeries = {kBucket,        kTenant,         kService,
                                kWriter,        U32("series"),   U32("parent"),
                                Texts("names"), Texts("values"), Text("encoded")};
constexpr std::array kMappings = {
    kBucket,        kTenant,          kService,          kWriter,
    U32("mapping"), U64("start"),     U64("limit"),      U64("file_offset"),
    Text("file"),   Text("build_id"), Text("attributes")};
constexpr std::array kFunctions = {kBucket,
                                   kTenant,
                                   kService,
                                   kWriter,
                                   U32("function", kDelta4),
                                   Text("name"),
                                   Text("system_name"),
                                   Text("file"),
                                   I64("start_line")};
constexpr std::array kFrames = {kBucket,
                                kTenant,
                                kService,
                                kWriter,
                                U32("frame", kDelta4),
                                U32("mapping"),
                                U64("address"),
                                Array("functions", "Array(UInt32)", 4),
                                Array("lines", "Array(UInt32)", 4),
                                Array("columns", "Array(UInt32)", 4),
                                Text("attributes")};
constexpr std::array kStacks = {kBucket,
                                kTenant,
                                kService,
                                kWriter,
                                U32("stack", kDelta4),
                                Array("frames", "Array(UInt32)", 4)};
constexpr std::array kProfiles = {kBucket,
                                  kTenant,
                                  kService,
                                  Run("type", "UInt64", 8),
                                  U32("series"),
                                  I64("time", kDelta8),
                                  I64("duration"),
                                  U32("number", kDelta4),
                                  Bytes("id", "FixedString(16)", 16, kNone),
                                  I64("total", kT64),
                                  I64("n", kT64),
                                  U32("samples", kT64),
                                  kWriter,
                                  Text("attributes")};
constexpr std::array kPayloads = {kBucket,       kTenant,        kService,       kWriter,
                                  U32("number"), Text("format"), Text("payload")};
constexpr std::array kSamples = {kBucket,
                                 kTenant,
                                 kService,
                                 Run("type", "UInt64", 8),
                                 Run("time", "Int64", 8, kDelta8),
                                 Run("profile", "UInt32", 4, kDelta4),
                                 Run("series", "UInt32", 4, kDelta4),
                                 U32("stack", kDelta4),
                                 kWriter,
                                 I64("value", kT64),
                                 Run("n", "UInt32", 4, kT64)};
constexpr std::array kLinks = {kBucket,
                               kTenant,
                               kTraceId,
                               kSpanId,
                               kService,
                               Run("type", "UInt64", 8),
                               Run("profile", "UInt32", 4, kT64),
                               Run("series", "UInt32", 4, kT64),
                               U32("stack", kT64),
                               I64("value", kT64),
                               Run("n", "UInt32", 4, kT64),
                               kWriter};
constexpr std::array kDetails = {kBucket,
                                 kTenant,
                                 kService,
                                 Run("type", "UInt64", 8),
                                 Run("time", "Int64", 8, kDelta8),
                                 Run("profile", "UInt32", 4, kDelta4),
                                 U32("series"),
                                 U32("stack"),
                                 I64("value", kT64),
                                 U32("n", kT64),
                                 Bytes("trace", "FixedString(16)", 16, kZstd),
                                 Bytes("span", "FixedString(8)", 8, kZstd),
                                 Array("times", "Array(UInt64)", 8, kDelta8),
                                 Array("values", "Array(Int64)", 8),
                                 Text("attributes"),
                                 kWriter};
constexpr std::array kSpans = {kBucket,
                               kTenant,
                               kService,
                               I64("start", kDelta8),
                               Bytes("trace", "FixedString(16)", 16, kZstd),
                               kSpanId,
                               Bytes("parent", "FixedString(8)", 8, kZstd),
                               Text("name"),
                               U8("kind"),
                               U8("status"),
                               Text("status_message"),
                               I64("duration", kT64),
                               Texts("names"),
                               Texts("values"),
                               Texts("resource_names"),
                               Texts("resource_values"),
                               Text("encoded"),
                               kWriter};
constexpr std::array kTraceIndex = {kBucket,  kTenant,      kTraceId,
                                    kService, I64("start"), I64("last")};

constexpr std::array kAlertEvents = {
    kBucket,         kTenant,         I64("time", kDelta8), U64("number"),
    Text("kind"),    Text("state"),   U64("fingerprint"),   I64("starts"),
    I64("ends"),     Text("id"),      Text("rule_group"),   Text("alert"),
    Text("service"), F64("value"),    F64("low"),           F64("high"),
    Texts("names"),  Texts("values"), Text("detail")};
constexpr std::array kRegressionEvents = {kBucket,
                                          kTenant,
                                          I64("time", kDelta8),
                                          U64("number"),
                                          Text("kind"),
                                          Text("event"),
                                          Text("state"),
                                          U64("id"),
                                          Text("service"),
                                          Text("type"),
                                          Text("function"),
                                          Text("module"),
                                          Text("label"),
                                          Text("version_before"),
                                          Text("version"),
                                          I64("since"),
                                          I64("until"),
                                          F64("value"),
                                          F64("low"),
                                          F64("high"),
                                          Text("why"),
                                          Texts("names"),
                                          Texts("values")};

constexpr ColumnDef kHour = Run("hour", "UInt32", 4, kT64);
constexpr ColumnDef kRevision = Run("revision", "UInt32", 4, kT64);
constexpr std::array kStackHours = {kBucket,
                                    kTenant,
                                    kService,
                                    Run("type", "UInt64", 8),
                                    kHour,
                                    Text("version"),
                                    kWriter,
                                    U32("stack", kDelta4),
                                    I64("value", kT64),
                                    I64("n", kT64),
                                    kRevision};
constexpr std::array kFunctionNames = {kBucket,         kTenant,      kService,
                                       U64("function"), Text("name"), Text("module")};
constexpr std::array kFunctionHours = {kBucket,
                                       kTenant,
                                       kService,
                                       Run("type", "UInt64", 8),
                                       kHour,
                                       Text("version"),
                                       kWriter,
                                       U64("function"),
                                       I64("self", kT64),
                                       I64("total", kT64),
                                       I64("self_n", kT64),
                                       I64("total_n", kT64),
                                       U32("groups", kT64),
                                       F64("self_xx"),
                                       F64("self_xe"),
                                       F64("total_xx"),
                                       F64("total_xe"),
                                       F64("ee"),
                                       kRevision};
constexpr std::array kHourRolls = {kBucket,        kTenant,     kService,        kWriter,
                                   kHour,          kRevision,   U64("profiles"), U32("through"),
                                   U64("samples"), U64("rows"), I64("time")};
constexpr std::array kPins = {kBucket,    kTenant,       I64("time"),     U64("number"),
                              Text("id"), Text("state"), Text("service"), I64("from"),
                              I64("to"),  I64("until"),  Text("why")};

constexpr std::string_view kDictionaryOrder = "tenant, service, writer";
constexpr std::array<TableDef, kTableCount> kTables = {{
    {Table::kServices, "services", kServices, kDictionaryOrder, true},
    {Table::kTypes, "types", kTypes, kDictionaryOrder, true},
    {Table::kSeries, "series", kSeries, "tenant, service, writer, series", true},
    {Table::kMappings, "mappings", kMappings, "tenant, service, writer, mapping", true},
    {Table::kFunctions, "functions", kFunctions, "tenant, service, writer, function", true},
    {Table::kFrames, "frames", kFrames, "tenant, service, writer, frame", true},
    {Table::kStacks, "stacks", kStacks, "tenant, service, writer, stack", true},
    {Table::kProfiles, "profiles", kProfiles, "tenant, service, type, time, series", false},
    {Table::kPayloads, "payloads", kPayloads, "tenant, service, writer, number", false},
    {Table::kSamples, "samples", kSamples, "tenant, service, type, time, series, stack", false},
    {Table::kLinks, "links", kLinks, "tenant, trace, span", false},
    {Table::kDetails, "details", kDetails, "tenant, service, type, time, profile", false},
    {Table::kSpans, "spans", kSpans, "tenant, service, start", false},
    {Table::kTraceIndex, "trace_index", kTraceIndex, "tenant, trace", false},
    {Table::kAlertEvents, "alert_events", kAlertEvents, "tenant, time, number", false},
    {Table::kStackHours, "stack_hours", kStackHours,
     "tenant, service, type, hour, version, writer, stack", false},
    {Table::kFunctionNames, "function_names", kFunctionNames, "tenant, service, function", false},
    {Table::kFunctionHours, "function_hours", kFunctionHours,
     "tenant, service, type, hour, version, writer, function", false},
    {Table::kHourRolls, "hour_rolls", kHourRolls, "tenant, service, hour, writer", false},
    {Table::kPins, "pins", kPins, "tenant, number", false},
    {Table::kRegressionEvents, "regression_events", kRegressionEvents, "tenant, time, number",
     false},
}};

// `begin`: "CREATE TABLE IF NOT EXISTS name", or the same for one that has files already.
std::string CreateStatement(const TableDef& table, ServerVersion version, std::string_view begin) {
  std::string sql = fmt::format("{} (", begin);
  for (const ColumnDef& column : table.columns) {
    if (&column != table.columns.data()) sql += ", ";
    sql += fmt::format("`{}` {}", column.name, column.type);
    if (version >= kHasCodecs) sql += fmt::format(" CODEC({})", column.codec);
  }
  sql += fmt::format(
      ") ENGINE = MergeTree PARTITION BY bucket ORDER BY ({}) SETTINGS index_granularity = {}",
      table.order_by, table.id == Table::kTraceIndex || table.id == Table::kLinks ? 1024 : 8192);
  if (version >= kHasInsertTokens) {
    // Only the segment being inserted ever repeats a token: 1,000 blocks a table are plenty. Parts
    // are not synced one by one: the store syncs the file system once before it lets a segment go.
    sql += ", non_replicated_deduplication_window = 1000";
  }
  if (version >= kHasSmallPartsHeuristic) {
    // While people ask, an insert of a few rows comes every few seconds. Merging two or three such
    // parts at a time took as much CPU time as everything else about them.
    sql += ", merge_selector_enable_heuristic_to_remove_small_parts_at_right = 0";
    sql += ", min_parts_to_merge_at_once = 6";
  }
  return sql;
}

constexpr std::array kViews = {
    "CREATE VIEW IF NOT EXISTS services AS SELECT * FROM services_v1",
    "CREATE VIEW IF NOT EXISTS types AS SELECT * FROM types_v1",
    "CREATE VIEW IF NOT EXISTS series AS SELECT * FROM series_v1",
    "CREATE VIEW IF NOT EXISTS mappings AS SELECT * FROM mappings_v1",
    "CREATE VIEW IF NOT EXISTS functions AS SELECT * FROM functions_v1",
    "CREATE VIEW IF NOT EXISTS frames AS SELECT * FROM frames_v1",
    "CREATE VIEW IF NOT EXISTS stacks AS SELECT * FROM stacks_v1",
    "CREATE VIEW IF NOT EXISTS details AS SELECT * FROM details_v1",
    "CREATE VIEW IF NOT EXISTS links AS SELECT * FROM links_v1",
    "CREATE VIEW IF NOT EXISTS alert_events AS SELECT * FROM alert_events_v1",
    "CREATE VIEW IF NOT EXISTS regression_events AS SELECT * FROM regression_events_v1",
    "CREATE VIEW IF NOT EXISTS stack_hours AS SELECT * FROM stack_hours_v1",
    "CREATE VIEW IF NOT EXISTS function_names AS SELECT * FROM function_names_v1",
    "CREATE VIEW IF NOT EXISTS function_hours AS SELECT * FROM function_hours_v1",
    "CREATE VIEW IF NOT EXISTS hour_rolls AS SELECT * FROM hour_rolls_v1",
    "CREATE VIEW IF NOT EXISTS pins AS SELECT * FROM pins_v1",
    // Names are looked up here so that people can write service_name = '...'; one join a query is
    // what old servers can do, and both tables hold one row a key.
    "CREATE VIEW IF NOT EXISTS samples AS SELECT * FROM samples_v1 ANY LEFT JOIN (SELECT tenant, "
    "service, "
    "any(name) AS service_name FROM services_v1 GROUP BY tenant, service) AS names USING (tenant, "
    "service)",
    "CREATE VIEW IF NOT EXISTS profiles AS SELECT * FROM profiles_v1 ANY LEFT JOIN (SELECT tenant, "
    "service, "
    "any(name) AS service_name FROM services_v1 GROUP BY tenant, service) AS names USING (tenant, "
    "service)",
    "CREATE VIEW IF NOT EXISTS spans AS SELECT * FROM spans_v1 ANY LEFT JOIN (SELECT tenant, "
    "service, "
    "any(name) AS service_name FROM services_v1 GROUP BY tenant, service) AS names USING (tenant, "
    "service)",
};

constexpr std::int64_t kDayBuckets = 60;

std::chrono::year_month_day DateOf(std::int64_t time_ns) {
  std::int64_t days = time_ns / kNsPerDay;
  if (time_ns % kNsPerDay < 0) --days;
  return std::chrono::sys_days(std::chrono::days(days));
}

std::uint32_t DayBucket(std::int64_t time_ns) {
  const auto date = DateOf(time_ns);
  return static_cast<std::uint32_t>(static_cast<int>(date.year()) * 10'000 +
                                    static_cast<int>(static_cast<unsigned>(date.month())) * 100 +
                                    static_cast<int>(static_cast<unsigned>(date.day())));
}

std::int64_t StartOf(std::chrono::year_month_day date) {
  return std::chrono::sys_days(date).time_since_epoch().count() * kNsPerDay;
}

}  // namespace

std::span<const TableDef> Tables() {
  return kTables;
}
const TableDef& Definition(Table table) {
  return kTables[static_cast<std::size_t>(table)];
}
std::string PhysicalName(Table table) {
  return fmt::format("{}_v{}", Definition(table).name, Definition(table).version);
}

Result<std::vector<TableFolder>> TableFolders(Transport& transport) {
  constexpr auto kColumns = Columns<TableFolder>(
      Col("name", &TableFolder::table), Col("arrayElement(data_paths, 1)", &TableFolder::folder));
  std::vector<TableFolder> folders;
  WHEREFORE_RETURN_IF_ERROR(
      QueryRows(transport, kColumns,
                "FROM system.tables WHERE database = currentDatabase() AND engine = 'MergeTree'",
                [&](TableFolder&& found) { folders.push_back(std::move(found)); }));
  return folders;
}

namespace {

Result<std::map<std::string, std::string>> TableIds(Transport& transport) {
  std::map<std::string, std::string> ids;
  WHEREFORE_ASSIGN_OR_RETURN(const std::vector<TableFolder> folders, TableFolders(transport));
  for (const auto& [table, folder] : folders) {
    // .../store/dd5/dd5614a6-3fd2-4b66-bf36-84ed3d38f2b6/
    std::string_view path = folder;
    while (path.ends_with('/')) path.remove_suffix(1);
    ids[table] = path.substr(path.rfind('/') + 1);
  }
  return ids;
}

// Gives a table without a definition its files back, where they are.
Result<bool> BringBack(Transport& transport, const TableDef& table,
                       const std::string& engine_directory, const std::string& id) {
  const std::string folder = fmt::format("{}/store/{}/{}", engine_directory, id.substr(0, 3), id);
  std::error_code error;
  if (id.empty() || !std::filesystem::is_directory(folder, error)) return false;
  WHEREFORE_RETURN_IF_ERROR(transport.Execute(
      CreateStatement(table, transport.version(),
                      fmt::format("ATTACH TABLE {} UUID '{}'", PhysicalName(table.id), id))));
  Log(LogLevel::kWarn, "the definition of a table was missing; it is there again, with its rows",
      {{"table", table.name}});
  return true;
}

}  // namespace

Result<> CreateTables(Transport& transport, const std::string& engine_directory,
                      std::map<std::string, std::string>& ids) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto there, TableIds(transport));
  for (const TableDef& table : kTables) {
    const std::string name = PhysicalName(table.id);
    if (there.contains(name)) continue;
    WHEREFORE_ASSIGN_OR_RETURN(const bool back,
                               BringBack(transport, table, engine_directory, ids[name]));
    if (back) continue;
    WHEREFORE_RETURN_IF_ERROR(transport.Execute(CreateStatement(
        table, transport.version(), fmt::format("CREATE TABLE IF NOT EXISTS {}", name))));
  }
  for (const char* view : kViews) WHEREFORE_RETURN_IF_ERROR(transport.Execute(view));
  WHEREFORE_ASSIGN_OR_RETURN(ids, TableIds(transport));
  return {};
}

Result<> CreateTables(Transport& transport) {
  std::map<std::string, std::string> ids;
  return CreateTables(transport, "", ids);
}

std::uint32_t BucketOf(std::int64_t time_ns, std::int64_t now_ns) {
  const std::uint32_t day = DayBucket(time_ns);
  return time_ns >= now_ns - kDayBuckets * kNsPerDay ? day : day / 100;
}

std::string BucketName(std::uint32_t bucket) {
  const bool day = bucket > 1'000'000;
  const std::uint32_t month = day ? bucket / 100 : bucket;
  std::string name = fmt::format("{:04}-{:02}", month / 100, month % 100);
  if (day) name += fmt::format("-{:02}", bucket % 100);
  return name;
}

BucketSpan SpanOf(std::uint32_t bucket) {
  using std::chrono::day;
  using std::chrono::month;
  using std::chrono::months;
  using std::chrono::year;
  using std::chrono::year_month;
  using std::chrono::year_month_day;
  if (bucket > 1'000'000) {
    const year_month_day date(year(static_cast<int>(bucket / 10'000)), month(bucket / 100 % 100),
                              day(bucket % 100));
    return {StartOf(date), StartOf(date) + kNsPerDay};
  }
  const year_month first(year(static_cast<int>(bucket / 100)), month(bucket % 100));
  return {StartOf(first / 1), StartOf((first + months(1)) / 1)};
}

BucketRange BucketsOf(std::int64_t from_ns, std::int64_t to_ns) {
  // The range may be anything a caller typed; buckets lie between 2000 and 2261.
  constexpr std::int64_t kFirst = 946'684'800 * kNsPerSecond;
  const std::int64_t from = std::max(from_ns, kFirst);
  const std::int64_t to = std::max(to_ns, from);
  return {DayBucket(from - kNsPerDay), DayBucket(to)};
}

std::string BucketCondition(std::int64_t from_ns, std::int64_t to_ns) {
  const BucketRange days = BucketsOf(from_ns, to_ns);
  return fmt::format("((bucket >= {} AND bucket <= {}) OR (bucket >= {} AND bucket <= {}))",
                     days.first_day, days.last_day, days.first_day / 100, days.last_day / 100);
}

}  // namespace wherefore::store
