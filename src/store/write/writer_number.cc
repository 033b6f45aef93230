// See writer_number.h.
#include "store/write/writer_number.h"

#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "base/log.h"
#include "base/text.h"
#include "journal/file.h"
#include "journal/wal.h"
#include "store/engine/query_rows.h"
#include "store/engine/schema.h"
#include "store/store_impl.h"

namespace wherefore::store {
namespace {

Result<std::uint32_t> HighestStored(Transport& transport) {
  std::uint32_t highest = 0;
  for (const TableDef& table : Tables()) {
    if (std::ranges::find(table.columns, "writer", &ColumnDef::name) == table.columns.end())
      continue;
    WHEREFORE_ASSIGN_OR_RETURN(
        const auto writer,
        QueryValue<std::uint32_t>(
            transport, fmt::format("SELECT max(writer) FROM {}", PhysicalName(table.id))));
    highest = std::max(highest, writer);
  }
  return highest;
}

// A file that has no header, or is not one of the log, has no rows either.
std::uint32_t HighestLogged(const std::string& log) {
  std::uint32_t highest = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(log, error)) {
    if (!entry.is_regular_file(error)) continue;
    const auto file = journal::File::Open(entry.path().string(), O_RDONLY);
    if (!file) continue;
    const auto bytes = file->ReadAt(0, journal::kSegmentHeaderBytes);
    if (!bytes) continue;
    if (const auto segment = journal::ParseSegment(*bytes))
      highest = std::max(highest, segment->header.writer);
  }
  return highest;
}

}  // namespace

Result<std::uint32_t> OwnWriterNumber(const DataPaths& paths, Transport& transport) {
  std::error_code error;
  const bool missing = !std::filesystem::exists(paths.writer, error);
  if (!missing) {
    WHEREFORE_ASSIGN_OR_RETURN(const std::string text, journal::ReadWholeFile(paths.writer));
    const auto number = ParseUint(text.substr(0, text.find('\n')));
    if (number && *number > 0 && *number < UINT32_MAX) return static_cast<std::uint32_t>(*number);
  }
  WHEREFORE_ASSIGN_OR_RETURN(std::uint32_t highest, HighestStored(transport));
  highest = std::max(highest, HighestLogged(paths.wal));
  if (!missing || highest > 0) {
    Log(LogLevel::kError,
        "the number this server writes under is lost; it goes on under one that was never used",
        {{"file", paths.writer}, {"number", highest + 1}});
  }
  WHEREFORE_RETURN_IF_ERROR(journal::ReplaceFile(paths.writer, fmt::format("{}\n", highest + 1)));
  return highest + 1;
}

}  // namespace wherefore::store
