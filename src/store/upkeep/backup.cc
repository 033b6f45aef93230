// Backup and restore: the engine's own copy of every table, what lies beside it, and a manifest
// that says how many rows each has and what they add up to. Both sides check it.
#include <filesystem>
#include <map>
#include <sstream>

#include <fmt/format.h>

#include "base/text.h"
#include "store/engine/embedded_transport.h"
#include "store/engine/query_rows.h"
#include "store/engine/schema.h"
#include "store/store_impl.h"

namespace wherefore::store {
namespace {

namespace fs = std::filesystem;

struct TableSum {
  std::uint64_t rows = 0;
  std::uint64_t checksum = 0;  // sum of row hashes: the order of rows does not matter
  bool operator==(const TableSum&) const = default;
};
constexpr auto kSum = Columns<TableSum>(Col("count()", &TableSum::rows),
                                        Col("sum(cityHash64(*))", &TableSum::checksum));
using Manifest = std::map<std::string, TableSum>;  // by physical table

Result<Manifest> SumTables(Transport& transport) {
  Manifest manifest;
  for (const TableDef& table : Tables()) {
    const std::string name = PhysicalName(table.id);
    WHEREFORE_RETURN_IF_ERROR(QueryRows(transport, kSum, "FROM " + name,
                                        [&](const TableSum& sum) { manifest[name] = sum; }));
  }
  return manifest;
}

std::string ToText(const Manifest& manifest) {
  std::string text = fmt::format("wherefore-backup 1\nschema {}\n", kDirectoryVersion);
  for (const auto& [name, sum] : manifest)
    text += fmt::format("{} {} {}\n", name, sum.rows, sum.checksum);
  return text;
}

Result<Manifest> ReadManifest(const std::string& path) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::string text, journal::ReadWholeFile(path));
  std::istringstream in(text);
  std::string word;
  int format = 0;
  int schema = 0;
  std::string schema_word;
  if (!(in >> word >> format >> schema_word >> schema) || word != "wherefore-backup" ||
      format != 1) {
    return Error(Code::kCorrupt, fmt::format("{} is not the manifest of a backup", path));
  }
  if (schema < 1 || schema > kDirectoryVersion) {
    return Error(Code::kUnsupported,
                 fmt::format("the backup has schema version {}, this program knows up to {}",
                             schema, kDirectoryVersion));
  }
  Manifest manifest;
  TableSum sum;
  while (in >> word >> sum.rows >> sum.checksum) manifest[word] = sum;
  return manifest;
}

Result<> CheckEmpty(const fs::path& directory) {
  std::error_code error;
  if (fs::exists(directory, error) && !fs::is_empty(directory, error)) {
    return Error(Code::kInvalid, fmt::format("{} is not empty", directory.string()));
  }
  fs::create_directories(directory, error);
  if (error) return journal::ErrnoError(error.value(), "cannot create", directory.string());
  return {};
}

// A directory this process makes, or finds empty, for something that may fail: unless Keep() is
// called, nothing of it is left.
class NewDirectory {
 public:
  explicit NewDirectory(fs::path path) : path_(std::move(path)) {
    std::error_code error;
    for (fs::path p = path_; !p.empty() && !fs::exists(p, error); p = p.parent_path()) made_ = p;
  }
  NewDirectory(const NewDirectory&) = delete;
  NewDirectory& operator=(const NewDirectory&) = delete;
  ~NewDirectory() {
    if (!created_) return;
    std::error_code ignored;
    if (!made_.empty()) {
      fs::remove_all(made_, ignored);
      return;
    }
    for (const auto& entry : fs::directory_iterator(path_, ignored)) {
      fs::remove_all(entry.path(), ignored);
    }
  }
  Result<> Create() {
    WHEREFORE_RETURN_IF_ERROR(CheckEmpty(path_));
    created_ = true;
    return {};
  }
  void Keep() { created_ = false; }

 private:
  const fs::path path_;
  fs::path made_;  // the topmost directory that was not there
  bool created_ = false;
};

// What belongs to the rows and is not in the engine: whose they are, and up to where cumulative
// profiles were counted. Only the writer's number is always there.
Result<> CopyBesideEngine(const DataPaths& from, const fs::path& to) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::string writer, journal::ReadWholeFile(from.writer));
  WHEREFORE_RETURN_IF_ERROR(journal::ReplaceFile(to / "writer", writer));
  for (const std::string& path : {from.tenants, from.cumulative}) {
    std::error_code error;
    if (!fs::exists(path, error)) continue;
    fs::copy(path, to / fs::path(path).filename(), fs::copy_options::recursive, error);
    if (error) return journal::ErrnoError(error.value(), "cannot copy", path);
  }
  return {};
}

std::string Summary(const Manifest& manifest) {
  std::uint64_t rows = 0;
  for (const auto& [name, sum] : manifest) rows += sum.rows;
  return fmt::format("{} rows in {} tables, verified", FormatCount(static_cast<std::int64_t>(rows)),
                     manifest.size());
}

}  // namespace

Result<std::string> StoreImpl::Backup(const std::string& target_directory) {
  const fs::path target = fs::absolute(target_directory);
  MutexLock upkeep(upkeep_mutex_);
  WHEREFORE_RETURN_IF_ERROR(Flush());
  NewDirectory directory(target);
  WHEREFORE_RETURN_IF_ERROR(directory.Create());
  // Senders go on: their rows wait in the log until the copy is done.
  MutexLock insert(insert_mutex_);
  WHEREFORE_ASSIGN_OR_RETURN(const Manifest manifest, SumTables(*transport_));
  WHEREFORE_RETURN_IF_ERROR(transport_->Execute(
      fmt::format("BACKUP DATABASE default TO File({})", Quote((target / "engine/").string()))));
  WHEREFORE_RETURN_IF_ERROR(CopyBesideEngine(paths_, target));
  WHEREFORE_RETURN_IF_ERROR(journal::SyncFileSystem(target));
  // Last: a directory without a manifest is no backup.
  WHEREFORE_RETURN_IF_ERROR(journal::ReplaceFile(target / "manifest", ToText(manifest)));
  directory.Keep();
  return Summary(manifest);
}

Result<std::string> Store::Restore(const std::string& backup_directory,
                                   const std::string& data_directory) {
  const fs::path backup = fs::absolute(backup_directory);
  WHEREFORE_ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest(backup / "manifest"));
  const DataPaths paths(fs::absolute(data_directory));
  NewDirectory directory(paths.root);
  WHEREFORE_RETURN_IF_ERROR(directory.Create());
  WHEREFORE_ASSIGN_OR_RETURN(const journal::File lock, LockDirectory(paths));
  {
    WHEREFORE_ASSIGN_OR_RETURN(const auto transport,
                               OpenEmbedded({.path = paths.engine, .read_connections = 1}));
    WHEREFORE_RETURN_IF_ERROR(transport->Execute(fmt::format(
        "RESTORE DATABASE default FROM File({})", Quote((backup / "engine/").string()))));
    WHEREFORE_RETURN_IF_ERROR(CreateTables(*transport));  // an older one lacks some
    WHEREFORE_ASSIGN_OR_RETURN(const Manifest restored, SumTables(*transport));
    for (const auto& [name, sum] : manifest) {
      const auto found = restored.find(name);
      if (found == restored.end() || found->second != sum) {
        return Error(
            Code::kCorrupt,
            fmt::format("table {} does not match the backup's manifest: {} rows instead of {}",
                        name, found == restored.end() ? 0 : found->second.rows, sum.rows));
      }
    }
  }
  WHEREFORE_RETURN_IF_ERROR(CopyBesideEngine(DataPaths(backup), paths.root));
  WHEREFORE_RETURN_IF_ERROR(journal::SyncFileSystem(paths.root));
  // Last: only a complete restore may be opened as a data directory of this version.
  WHEREFORE_RETURN_IF_ERROR(CheckSchemaFile(paths));
  directory.Keep();
  return Summary(manifest);
}

}  // namespace wherefore::store
