// Opening, closing and reporting.
#include "store/store.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "store/engine/embedded_transport.h"
#include "store/engine/query_rows.h"
#include "store/engine/schema.h"
#include "store/read/reader.h"
#include "store/store_impl.h"
#include "store/write/writer_number.h"

namespace wherefore::store {
namespace {

// Which version of the directory's layout wrote it.
Result<std::uint64_t> ReadSchemaVersion(const std::string& path) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::string text, journal::ReadWholeFile(path));
  const auto version = ParseUint(text.substr(0, text.find('\n')));
  if (version) return *version;
  return Error(Code::kCorrupt,
               fmt::format("{} does not begin with a number; if no later version of this program "
                           "has used the directory, write {} into it",
                           path, kDirectoryVersion));
}

}  // namespace

DataPaths::DataPaths(const std::string& directory)
    : root(std::filesystem::absolute(directory).lexically_normal().string()),
      schema(root + "/schema"),
      lock(root + "/lock"),
      writer(root + "/writer"),
      engine(root + "/engine"),
      wal(root + "/wal"),
      identities(root + "/identities.log"),
      cumulative(root + "/cumulative"),
      tenants(root + "/tenants"),
      ledger(root + "/ledger"),
      reserve(root + "/reserve"),
      deleting(root + "/deleting") {}

Result<journal::File> LockDirectory(const DataPaths& paths) {
  std::error_code error;
  std::filesystem::create_directories(paths.root, error);
  if (error) return journal::ErrnoError(error.value(), "cannot create", paths.root);
  WHEREFORE_ASSIGN_OR_RETURN(journal::File file, journal::File::Open(paths.lock, O_RDWR | O_CREAT));
  // A server that was just killed holds its lock until the kernel has taken it apart, which takes a
  // moment; a restart right after should just work.
  bool locked = false;
  const std::int64_t deadline = MonotonicNs() + 2 * kNsPerSecond;
  while (!(locked = flock(file.fd(), LOCK_EX | LOCK_NB) == 0) && MonotonicNs() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  if (!locked) {
    auto holder = journal::ReadWholeFile(paths.lock);
    std::string who = holder && !holder->empty() ? *holder : "an unknown process";
    std::ranges::replace(who, '\n', ' ');
    return Error(Code::kUnavailable,
                 fmt::format("data directory {} is in use by {}", paths.root, who));
  }
  // The holder's name is best effort: a full disk must not keep anybody from opening the store. The
  // program's name alone: its arguments may hold secrets.
  (void)file.Truncate(0);
  (void)file.WriteAt(0, fmt::format("pid {} ({})", getpid(), program_invocation_short_name));
  if (const Result<> made = journal::MakePrivate(paths.root); !made) {
    Log(LogLevel::kWarn, "other users of this machine may read what is stored",
        {{"error", made.error().message()}});
  }
  return file;
}

Result<> CheckSchemaFile(const DataPaths& paths) {
  const std::string current =
      fmt::format("{}\nwherefore data directory, embedded\n", kDirectoryVersion);
  if (!std::filesystem::exists(paths.schema)) return journal::ReplaceFile(paths.schema, current);
  WHEREFORE_ASSIGN_OR_RETURN(const std::uint64_t version, ReadSchemaVersion(paths.schema));
  if (version > kDirectoryVersion) {
    return Error(
        Code::kUnsupported,
        fmt::format(
            "data directory {} was written by a newer version (schema {}, this program knows "
            "up to {}); use that version or another directory",
            paths.root, version, kDirectoryVersion));
  }
  if (version == 0) return Error(Code::kUnsupported, "schema version 0 is not known");
  // Steps from one version to the next come here, oldest first. From 1 to 2, 3 and 4 nothing has to
  // be rewritten: each file says which form it has, and is replaced in its own time; tables that
  // are missing are made. But a program that knows the old version only must not come back to it.
  return version < kDirectoryVersion ? journal::ReplaceFile(paths.schema, current) : Result<>();
}

StoreMetrics::StoreMetrics()
    : commit_seconds(Metrics::Global().GetHistogram(
          "wherefore_store_commit_seconds", "Time to intern, log and sync a group of requests.")),
      insert_seconds(Metrics::Global().GetHistogram("wherefore_store_insert_seconds",
                                                    "Time to insert one log segment.")),
      queue_bytes(Metrics::Global().GetGauge("wherefore_store_queue_bytes",
                                             "Memory held by requests that wait to be stored.")),
      segments(Metrics::Global().GetGauge("wherefore_store_segments",
                                          "Closed log segments not inserted yet.")),
      repeated(Metrics::Global().GetCounter("wherefore_store_repeated_requests_total",
                                            "Requests that had been stored before.")),
      rolled_hours(Metrics::Global().GetCounter("wherefore_store_rolled_hours_total",
                                                "Hours of a service that were summed up.")),
      roll_seconds(Metrics::Global().GetHistogram("wherefore_store_roll_seconds",
                                                  "Time to sum up an hour of a service.")) {
  for (const TableDef& table : Tables()) {
    inserted_rows.push_back(&Metrics::Global().GetCounter("wherefore_store_inserted_rows_total",
                                                          "Rows inserted into the engine.",
                                                          {{"table", std::string(table.name)}}));
  }
}

Result<std::unique_ptr<Store>> Store::Open(StoreOptions options) {
  auto store = std::make_unique<StoreImpl>(std::move(options));
  if (auto started = store->Start(); !started)
    return std::move(started).error().Within("open store");
  return std::unique_ptr<Store>(std::move(store));
}

StoreImpl::StoreImpl(StoreOptions options)
    : options_(std::move(options)),
      paths_(options_.directory),
      counter_files_(paths_.cumulative),
      named_functions_([this](const DictionaryKey& key) {
        return QueryColumn<std::uint64_t>(
            *transport_,
            fmt::format("SELECT DISTINCT function FROM {} WHERE tenant = {} AND "
                        "service = {} AND bucket = {}",
                        PhysicalName(Table::kFunctionNames), key.tenant, key.service, key.bucket));
      }),
      counter_bases_(counter_files_) {}

Result<> StoreImpl::Start(std::unique_ptr<Transport> transport) {
  WHEREFORE_ASSIGN_OR_RETURN(lock_, LockDirectory(paths_));
  WHEREFORE_RETURN_IF_ERROR(CheckSchemaFile(paths_));
  WHEREFORE_RETURN_IF_ERROR(tenant_names_.Open(paths_.tenants));
  transport_ = std::move(transport);
  {
    MutexLock insert(insert_mutex_);
    WHEREFORE_RETURN_IF_ERROR(ledger_.Open(paths_.ledger));
    tiers_.SetSamplesGone(ledger_.gone());
    if (!transport_) {
      SetDamagedDefinitionsAside(paths_.engine, ledger_.definitions(), ledger_.table_ids());
    }
  }
  if (!transport_) {
    WHEREFORE_ASSIGN_OR_RETURN(
        transport_, OpenEmbedded({.path = paths_.engine, .memory_bytes = options_.engine_bytes}));
  }
  transport_->OnSetAside([this](const BrokenPart& part) { NoteSetAside(part); });
  {
    MutexLock insert(insert_mutex_);
    WHEREFORE_RETURN_IF_ERROR(CreateTables(*transport_, paths_.engine, ledger_.table_ids()));
    if (auto hashes = HashDefinitions(paths_.engine); hashes != ledger_.definitions()) {
      ledger_.definitions() = std::move(hashes);
      (void)ledger_.Save();  // on a full disk later
    }
  }
  WHEREFORE_ASSIGN_OR_RETURN(const std::uint32_t writer, OwnWriterNumber(paths_, *transport_));
  reader_ = MakeReader(*transport_, {options_.query_timeout_ns, options_.query_memory_bytes},
                       generation_, tiers_);
  people_sql_ = std::make_unique<PeopleSql>(
      *transport_, QueryLimits{options_.query_timeout_ns, options_.query_memory_bytes});
  WHEREFORE_RETURN_IF_ERROR(wal_.Open(paths_.wal, writer));
  {
    MutexLock lock(writer_mutex_);
    claimed_writer_ = writer;
  }
  {
    MutexLock lock(intern_mutex_);
    dictionaries_ = std::make_unique<Dictionaries>(*transport_, writer, next_writer_);
    encoder_ = std::make_unique<Encoder>(
        *dictionaries_, EncodeOptions{options_.max_series_per_service, options_.retention,
                                      options_.keep_payload, &tiers_});
    MutexLock insert(insert_mutex_);
    WHEREFORE_RETURN_IF_ERROR(LoadRequests());
  }
  counter_files_.ForgetOld();
  Replay();
  (void)FindPins();
  writer_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "store-write");
    RunWriter();
  });
  inserter_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "store-insert");
    RunInserter();
  });
  upkeep_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "store-upkeep");
    RunUpkeep();
  });
  return {};
}

void StoreImpl::Replay() {
  constexpr std::uint64_t kAtOnceBytes = 4u << 20;
  if (wal_.closed_bytes() <= kAtOnceBytes) InsertClosedSegments();
  {
    MutexLock lock(state_mutex_);
    if (replayed_) return;
  }
  // The inserter goes on with it; queries wait for it, senders do not have to: names that are
  // in the log only belong to the writer number of then.
  MutexLock lock(intern_mutex_);
  const auto number = ClaimWriter();
  if (!number) return;  // a full disk
  SwitchWriter(*number);
  MutexLock state(state_mutex_);
  new_names_ = true;
}

StoreImpl::~StoreImpl() {
  {
    MutexLock lock(state_mutex_);
    stopping_ = true;
    queue_changed_.NotifyAll();
    work_changed_.NotifyAll();
    upkeep_changed_.NotifyAll();
  }
  if (upkeep_.joinable()) upkeep_.join();
  if (writer_.joinable()) writer_.join();
  {
    MutexLock lock(state_mutex_);
    writer_done_ = true;
    work_changed_.NotifyAll();
  }
  if (inserter_.joinable()) inserter_.join();
  reader_.reset();
  people_sql_.reset();
  transport_.reset();
}

std::string StoreImpl::NotReadyReason() const {
  MutexLock lock(state_mutex_);
  if (!log_error_.empty()) return log_error_;
  if (!insert_error_.empty()) return insert_error_;
  if (!replayed_ && !new_names_)
    return "what was logged before the restart is not in the engine yet";
  return {};
}

namespace {

void AddDisk(const std::string& root, std::int64_t low_bytes, Status& status) {
  struct statvfs disk{};
  if (statvfs(root.c_str(), &disk) != 0) return;
  const auto free =
      static_cast<std::int64_t>(disk.f_bavail) * static_cast<std::int64_t>(disk.f_frsize);
  status.facts.emplace_back("free disk", FormatBytes(free));
  if (free >= low_bytes) return;
  status.problems.push_back(
      {fmt::format("only {} are left on the disk of {}", FormatBytes(free), root),
       "free some space, or set a retention so that old data is dropped", false});
}

}  // namespace

double StoreImpl::QueueShare() const {
  MutexLock lock(state_mutex_);
  return static_cast<double>(queued_bytes_) /
         static_cast<double>(std::max<std::size_t>(options_.max_queued_bytes, 1));
}

Status StoreImpl::status(std::uint32_t tenant) const {
  Status status{.part = "store", .facts = {}, .problems = {}};
  status.facts.emplace_back("data directory", paths_.root);
  AddDisk(paths_.root, options_.low_disk_bytes, status);
  status.facts.emplace_back("retention", options_.retention.Of(tenant).Text());
  status.facts.emplace_back(
      "log waiting to be inserted",
      FormatBytes(static_cast<std::int64_t>(wal_.closed_bytes() + wal_.current_bytes())));
  MutexLock lock(state_mutex_);
  status.facts.emplace_back("queue", FormatBytes(static_cast<std::int64_t>(queued_bytes_)));
  AddWriteProblems(status);
  AddDataProblems(tenant, status);
  return status;
}

void StoreImpl::AddWriteProblems(Status& status) const {
  if (!log_error_.empty()) {
    status.problems.push_back(
        {fmt::format("requests cannot be logged: {}", log_error_),
         "free some space or make the data directory writable; it is tried again every second",
         true});
  }
  if (!insert_error_.empty()) {
    const bool memory = insert_error_.find(ShortOfMemory().message()) != std::string::npos;
    status.problems.push_back({fmt::format("logged rows cannot be inserted: {}", insert_error_),
                               memory ? "give the server more memory; it is tried again by itself"
                                      : "free some space on the disk; it is tried again by itself",
                               !replayed_});
  }
}

void StoreImpl::AddDataProblems(std::uint32_t tenant, Status& status) const {
  if (!deleting_step_.empty()) {
    status.facts.emplace_back("deleting",
                              fmt::format("{}, {} files to be rewritten", deleting_step_,
                                          FormatCount(static_cast<std::int64_t>(deleting_parts_))));
  } else if (std::filesystem::exists(paths_.deleting)) {
    status.problems.push_back(
        {"a delete is not finished: names it should remove may still be there",
         "free some space on the disk, if it is full; it is tried again by itself", false});
  }
  if (!retention_held_.empty()) {
    status.problems.push_back(
        {fmt::format("old data is kept although the retention is {}: {}",
                     options_.retention.Of(tenant).Text(), retention_held_),
         "look at the machine's clock; if it is right, wherefore doctor --repair drops the data",
         false});
  }
  for (const DamagedData& data : LostRows()) {
    status.problems.push_back(
        {data.For(tenant), "wherefore doctor --repair says what can be brought back", false});
  }
  for (const std::string& damage : damage_)
    status.problems.push_back({damage, "keep the .bad file for inspection, or remove it", false});
}

}  // namespace wherefore::store
