#include "store/engine/mend_engine.h"

#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "journal/file.h"
#include "store/engine/query_rows.h"
#include "store/engine/schema.h"

namespace wherefore::store {
namespace {

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> words;
  for (std::size_t end = 0; end != std::string_view::npos; text.remove_prefix(end + 1)) {
    end = text.find(separator);
    words.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
  }
  return words;
}

// A part's name is partition_first_last_level, perhaps with a mutation behind.
struct Part {
  std::string_view partition;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};
std::optional<Part> ParsePart(std::string_view name) {
  const std::vector<std::string_view> words = Split(name, '_');
  if (words.size() != 4 && words.size() != 5) return std::nullopt;
  const auto first = ParseUint(words[1]);
  const auto last = ParseUint(words[2]);
  if (!first || !last) return std::nullopt;
  return Part{words[0], *first, *last};
}

bool IsThere(const std::vector<std::string>& parts, const Part& wanted) {
  return std::ranges::any_of(parts, [&](const std::string& name) {
    const auto part = ParsePart(name);
    return part && part->partition == wanted.partition && part->first <= wanted.first &&
           part->last >= wanted.last;
  });
}

// The engine's files deduplication_log_N.txt (kTokenFolder): lines of operation, part, token, tab
// between them.
constexpr std::string_view kAdded = "1";
constexpr std::string_view kDropped = "2";

// Oldest first.
std::vector<std::string> TokenFiles(const std::string& folder) {
  std::map<std::uint64_t, std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string stem = entry.path().stem();
    if (const auto number = ParseUint(std::string_view(stem).substr(stem.rfind('_') + 1)))
      files[*number] = entry.path();
  }
  std::vector<std::string> out;
  out.reserve(files.size());
  for (auto& [number, path] : files) out.push_back(std::move(path));
  return out;
}

// Lines for the end of the newest file that take back every token whose part is not there.
Result<std::string> TakenBack(const std::vector<std::string>& files,
                              const std::vector<std::string>& parts) {
  std::map<std::string, std::string> noted;  // token -> part
  for (const std::string& path : files) {
    WHEREFORE_ASSIGN_OR_RETURN(const std::string text, journal::ReadWholeFile(path));
    for (const std::string_view line : Split(text, '\n')) {
      const std::vector<std::string_view> words = Split(line, '\t');
      if (words.size() != 3) continue;  // the end of the file, or a line that was being written
      if (words[0] == kAdded) noted[std::string(words[2])] = words[1];
      if (words[0] == kDropped) noted.erase(std::string(words[2]));
    }
  }
  std::string lines;
  for (const auto& [token, name] : noted) {
    const auto part = ParsePart(name);
    if (part && !IsThere(parts, *part)) lines += fmt::format("{}\t{}\t{}\n", kDropped, name, token);
  }
  return lines;
}

Result<> AppendDurably(const std::string& path, std::string_view lines) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::string text, journal::ReadWholeFile(path));
  const std::size_t whole = text.rfind('\n') + 1;  // 0 where there is none
  WHEREFORE_ASSIGN_OR_RETURN(journal::File file, journal::File::Open(path, O_RDWR));
  WHEREFORE_RETURN_IF_ERROR(file.Truncate(whole));
  WHEREFORE_RETURN_IF_ERROR(file.WriteAt(whole, lines));
  return file.SyncData();
}

struct Stored {
  std::string folder;
  std::vector<std::string> parts;  // active ones
};
using StoredTables = std::map<std::string, Stored>;

Result<StoredTables> ListTables(Transport& engine) {
  struct Row {
    std::string table;
    std::string part;
  };
  constexpr auto kColumns = Columns<Row>(Col("table", &Row::table), Col("name", &Row::part));
  StoredTables tables;
  WHEREFORE_ASSIGN_OR_RETURN(const std::vector<TableFolder> folders, TableFolders(engine));
  for (const TableFolder& found : folders) tables[found.table].folder = found.folder;
  WHEREFORE_RETURN_IF_ERROR(
      QueryRows(engine, kColumns, "FROM system.parts WHERE active AND database = currentDatabase()",
                [&](Row&& row) {
                  const auto at = tables.find(row.table);
                  if (at != tables.end()) at->second.parts.push_back(std::move(row.part));
                }));
  return tables;
}

// The engine takes a table back when the last query that was reading it has ended, not before.
Result<> Attach(Transport& engine, const std::string& table) {
  constexpr std::int64_t kPatience = 60 * kNsPerSecond;
  const std::int64_t deadline = MonotonicNs() + kPatience;
  while (true) {
    Result<> attached = engine.Execute(fmt::format("ATTACH TABLE {}", table));
    if (attached || MonotonicNs() > deadline || !IsStillUsed(attached.error().message()))
      return attached;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

// `between` runs while the engine does not know the table: it reads parts and tokens when a table
// is attached, and only then.
template <typename F>
Result<> Reattach(Transport& engine, std::set<std::string>& away, const std::string& table,
                  F&& between) {
  WHEREFORE_RETURN_IF_ERROR(engine.Execute(fmt::format("DETACH TABLE {} SYNC", table)));
  away.insert(table);
  Result<> done = between();
  WHEREFORE_RETURN_IF_ERROR(Attach(engine, table));
  away.erase(table);
  return done;
}

Result<> BringBack(Transport& engine, std::set<std::string>& away) {
  while (!away.empty()) {
    WHEREFORE_RETURN_IF_ERROR(Attach(engine, *away.begin()));
    away.erase(away.begin());
  }
  return {};
}

// Is one of these paths this folder or in it? They are real paths, without links.
bool AnyIsBelow(const std::set<std::string>& paths, const std::string& above) {
  std::error_code unreadable;
  const std::string real = std::filesystem::weakly_canonical(above, unreadable) / "";
  return std::ranges::any_of(
      paths, [&](const std::string& path) { return (path + "/").starts_with(real); });
}

Result<> CompleteTokens(const FailedWrites& failed, const std::string& table_folder) {
  for (const auto& [path, lines] : failed.token_lines) {
    if (!AnyIsBelow({path}, table_folder)) continue;
    WHEREFORE_ASSIGN_OR_RETURN(const std::string text, journal::ReadWholeFile(path));
    WHEREFORE_ASSIGN_OR_RETURN(journal::File file, journal::File::Open(path, O_RDWR));
    WHEREFORE_RETURN_IF_ERROR(file.WriteAt(text.size(), lines));
    WHEREFORE_RETURN_IF_ERROR(file.SyncData());
  }
  return {};
}

Result<> SetBrokenPartsAside(Transport& engine, const FailedWrites& failed,
                             std::set<std::string>& away) {
  WHEREFORE_ASSIGN_OR_RETURN(const StoredTables tables, ListTables(engine));
  for (const auto& [name, table] : tables) {
    const std::string& folder = table.folder;
    if (!AnyIsBelow(failed.folders, folder)) continue;
    WHEREFORE_RETURN_IF_ERROR(
        Reattach(engine, away, name, [&] { return CompleteTokens(failed, folder); }));
    Log(LogLevel::kWarn, "files that could not be written were set aside", {{"table", name}});
  }
  return {};
}

Result<> ForgetLostInserts(Transport& engine, std::set<std::string>& away) {
  WHEREFORE_ASSIGN_OR_RETURN(const StoredTables tables, ListTables(engine));
  for (const auto& [name, table] : tables) {
    const auto files = TokenFiles(fmt::format("{}/{}", table.folder, kTokenFolder));
    WHEREFORE_ASSIGN_OR_RETURN(const std::string lines, TakenBack(files, table.parts));
    if (lines.empty()) continue;
    WHEREFORE_RETURN_IF_ERROR(
        Reattach(engine, away, name, [&] { return AppendDurably(files.back(), lines); }));
    Log(LogLevel::kInfo, "inserts that were cut short are made again from the log",
        {{"table", name}, {"inserts", std::ranges::count(lines, '\n')}});
  }
  return {};
}

}  // namespace

Result<> MendEngine(Transport& engine, const FailedWrites& failed, std::set<std::string>& away) {
  WHEREFORE_RETURN_IF_ERROR(BringBack(engine, away));
  if (!failed.folders.empty()) WHEREFORE_RETURN_IF_ERROR(SetBrokenPartsAside(engine, failed, away));
  return ForgetLostInserts(engine, away);
}

}  // namespace wherefore::store
