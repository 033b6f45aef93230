// See engine_files.h.
#include "store/engine/engine_files.h"

#include <bit>
#include <system_error>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"
#include "journal/file.h"
#include "store/engine/query_rows.h"

namespace wherefore::store {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSql = ".sql";
constexpr std::string_view kRangeFile = "minmax_bucket.idx";
constexpr std::string_view kFormatFile = "format_version.txt";
constexpr std::string_view kFormat = "1";  // of all tables of the engine

fs::path DefinitionsOf(const std::string& engine_directory) {
  return fs::path(engine_directory) / "metadata" / "default";
}

std::string HashOf(std::string_view text) {
  return fmt::format("{:016x}", Hash64(text));
}

// The smallest bucket of a part and the largest, which is the same: 4 bytes each, little endian.
std::string RangeOf(std::uint32_t bucket) {
  static_assert(std::endian::native == std::endian::little);
  const std::string_view bytes(reinterpret_cast<const char*>(&bucket), sizeof(bucket));
  return std::string(bytes) + std::string(bytes);
}

// A file of a table that is not in any part; empty where power was lost in the wrong moment.
void MendFormat(const std::string& engine_directory, const std::string& id) {
  const fs::path file = fs::path(engine_directory) / "store" / id.substr(0, 3) / id / kFormatFile;
  const auto content = journal::ReadWholeFile(file.string());
  if (!content || *content == kFormat) return;
  if (const auto written = journal::ReplaceFile(file.string(), kFormat); !written) {
    Log(LogLevel::kError, "a damaged file of a table cannot be written again",
        {{"file", file.string()}, {"error", written.error().message()}});
  }
}

}  // namespace

DefinitionHashes HashDefinitions(const std::string& engine_directory) {
  DefinitionHashes hashes;
  std::error_code error;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(DefinitionsOf(engine_directory), error)) {
    if (entry.path().extension() != kSql) continue;
    if (const auto text = journal::ReadWholeFile(entry.path().string()))
      hashes[entry.path().filename().string()] = HashOf(*text);
  }
  return hashes;
}

void SetDamagedDefinitionsAside(const std::string& engine_directory, const DefinitionHashes& known,
                                const std::map<std::string, std::string>& ids) {
  for (const auto& [table, id] : ids) MendFormat(engine_directory, id);
  const fs::path aside = fs::path(engine_directory) / "definitions.bad";
  for (const auto& [file, hash] : HashDefinitions(engine_directory)) {
    const auto was = known.find(file);
    if (was == known.end() || was->second == hash) continue;
    const std::string name = file.substr(0, file.size() - kSql.size());
    const bool is_table = name.rfind("_v") != std::string::npos;
    if (is_table && !ids.contains(name)) continue;
    std::error_code error;
    fs::create_directories(aside, error);
    fs::rename(DefinitionsOf(engine_directory) / file, aside / file, error);
    Log(LogLevel::kError,
        error ? "a damaged definition of a table cannot be set aside"
              : "a definition of a table is damaged; it is set aside and made again",
        {{"file", (aside / file).string()}});
  }
}

Result<std::set<std::string>> TablesWithWrongRanges(Transport& transport) {
  struct Part {
    std::string table;
    std::string path;
    std::string_view partition;
  };
  constexpr auto kParts = Columns<Part>(Col("table", &Part::table), Col("path", &Part::path),
                                        Col("partition", &Part::partition));
  std::set<std::string> tables;
  WHEREFORE_RETURN_IF_ERROR(QueryRows(
      transport, kParts, "FROM system.parts WHERE active AND database = currentDatabase()",
      [&](const Part& part) {
        const auto bucket = ParseUint(part.partition);
        if (!bucket) return;
        const auto range = journal::ReadWholeFile(fs::path(part.path) / kRangeFile);
        if (range && *range != RangeOf(static_cast<std::uint32_t>(*bucket)))
          tables.insert(part.table);
      }));
  return tables;
}

void WriteBucketRange(const fs::path& part, std::uint32_t bucket) {
  // Where it cannot be written the part does not pass the engine's check, and stays aside.
  (void)journal::ReplaceFile((part / kRangeFile).string(), RangeOf(bucket));
}

}  // namespace wherefore::store
