// See embedded_transport.h. Connections: one that writes, some that read, one that kills.
//
// Calls on one connection wait for each other inside the library, so each is used under its own
// lock or lent out by the pool. Cancelling: a statement starts with a comment that names it; the
// canceller thread sends KILL QUERY ... ASYNC until the statement has ended (SYNC hangs for ever,
// and a single KILL may come too early).
//
// The engine does not notice writes that fail. Statements that change something compare the count
// of failed writes before and after, and what failed, also in a merge that nobody asked for, is
// mended before the next insert.
#include "store/engine/embedded_transport.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/text.h"
#include "journal/file.h"
#include "store/engine/broken_parts.h"
#include "store/engine/chdb_api.h"
#include "store/engine/failed_writes.h"
#include "store/engine/leavable_run.h"
#include "store/engine/mend_engine.h"
#include "store/engine/other_allocator.h"
#include "store/engine/query_rows.h"

#ifndef WHEREFORE_CHDB_DIR
#define WHEREFORE_CHDB_DIR ""
#endif

namespace wherefore::store {
namespace {

using chdb::Api;

std::vector<std::string> LibraryCandidates() {
  if (const char* path = std::getenv("WHEREFORE_LIBCHDB"))
    return {path};  // NOLINT(concurrency-mt-unsafe)
  std::vector<std::string> candidates;
  std::error_code error;
  const auto executable = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    candidates.push_back(executable.parent_path() / "libchdb.so");
    candidates.push_back(executable.parent_path() / "../lib/wherefore/libchdb.so");
  }
  if (*WHEREFORE_CHDB_DIR != 0) candidates.emplace_back(WHEREFORE_CHDB_DIR "/libchdb.so");
  return candidates;
}

template <typename F>
bool Find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

// Its allocator keeps freed pages for seconds, as much again as is in use: too much on a small
// machine.
void GiveFreedPagesBackAtOnce() {
  setenv("JE_MALLOC_CONF", "dirty_decay_ms:0,muzzy_decay_ms:0,retain:false",
         0);  // NOLINT(concurrency-mt-unsafe)
}

Result<Api> LoadApi() {
  if (const std::string other = OtherAllocator(); !other.empty()) {
    return Error(Code::kUnsupported,
                 fmt::format("memory comes from {}, and the embedded ClickHouse would crash beside "
                             "it; start without it (env -u LD_PRELOAD, /etc/ld.so.preload)",
                             other));
  }
  std::string tried;
  for (const std::string& path : LibraryCandidates()) {
    std::error_code error;
    if (!std::filesystem::exists(path, error)) {
      tried += fmt::format("\n  {}: not there", path);
      continue;
    }
    // RTLD_LOCAL: the engine brings its own protobuf, abseil and OpenSSL.
    void* library = dlopen(path.c_str(), RTLD_LOCAL | RTLD_NOW);
    if (library == nullptr) {
      tried += fmt::format("\n  {}: {}", path, dlerror());  // NOLINT(concurrency-mt-unsafe)
      continue;
    }
    Api api{};
    const bool complete =
        Find(library, "chdb_connect", api.connect) &&
        Find(library, "chdb_close_conn", api.close_conn) &&
        Find(library, "chdb_query_n", api.query_n) &&
        Find(library, "chdb_result_buffer", api.result_buffer) &&
        Find(library, "chdb_result_length", api.result_length) &&
        Find(library, "chdb_result_error", api.result_error) &&
        Find(library, "chdb_destroy_query_result", api.destroy_query_result) &&
        Find(library, "chdb_stream_insert_n", api.stream_insert_n) &&
        Find(library, "chdb_stream_append", api.stream_append) &&
        Find(library, "chdb_stream_done", api.stream_done) &&
        Find(library, "chdb_stream_cancel_insert", api.stream_cancel_insert) &&
        Find(library, "chdb_stream_insert_error", api.stream_insert_error) &&
        Find(library, "chdb_destroy_insert_stream", api.destroy_insert_stream) &&
        Find(library, "chdb_set_signal_handlers_enabled", api.set_signal_handlers_enabled);
    if (!complete)
      return Error(Code::kUnsupported, fmt::format("{} is too old: calls are missing", path));
    api.set_signal_handlers_enabled(0);
    WatchWritesOf(reinterpret_cast<const void*>(api.connect));
    return api;
  }
  return Error(
      Code::kNotFound,
      fmt::format("libchdb.so (the embedded ClickHouse) was not found; set WHEREFORE_LIBCHDB to "
                  "its path. Tried:{}",
                  tried));
}

Result<Api> GetApi() {
  static const Result<Api> kApi = LoadApi();
  return kApi;
}

constexpr std::string_view kNative = "Native";
// What a statement that was told to stop may still take.
constexpr std::int64_t kGraceNs = 3 * kNsPerSecond;

class EmbeddedTransport final : public Transport {
 public:
  explicit EmbeddedTransport(const Api& api) : api_(api) {}
  ~EmbeddedTransport() override { Close(); }

  Result<> Open(const EmbeddedOptions& options) {
    path_ = options.path;
    memory_bytes_ = options.memory_bytes;
    std::error_code error;
    std::filesystem::create_directories(path_, error);
    // An engine directory created on a full disk could never be opened again.
    if (std::filesystem::is_empty(path_, error)) WHEREFORE_RETURN_IF_ERROR(CheckRoom());
    WHEREFORE_ASSIGN_OR_RETURN(writer_, Connect(options.path));
    WHEREFORE_ASSIGN_OR_RETURN(killer_, Connect(options.path));
    for (int i = 0; i < options.read_connections; ++i) {
      WHEREFORE_ASSIGN_OR_RETURN(chdb::Connection * reader, Connect(options.path));
      readers_.push_back(reader);
      MutexLock lock(mutex_);
      idle_.push_back(reader);
    }
    WHEREFORE_ASSIGN_OR_RETURN(const std::string answer, Run(writer_, "SELECT version()"));
    WHEREFORE_ASSIGN_OR_RETURN(const std::vector<std::string> versions,
                               ReadColumn<std::string>(answer));
    const std::string text = versions.empty() ? "0.0" : versions.front();
    const std::size_t dot = text.find('.');
    version_ = std::atoi(text.c_str()) * 1000 + std::atoi(text.c_str() + dot + 1);
    canceller_ = std::thread([this] { RunCanceller(); });
    return {};
  }

  Result<std::string> Query(std::string_view sql, const QueryLimits& limits,
                            const CancelToken& cancel) override {
    const std::uint64_t tag = next_tag_.fetch_add(1);
    const auto guard = cancel.OnCancel([this, tag] { Kill(tag); });
    chdb::Connection* connection = Borrow(tag);
    const std::string text = Limited(tag, sql, {}, limits);
    Result<std::string> result =
        RunAndMend(connection, text, kNative, [&] { return cancel.cancelled(); }, IsOdd);
    Return(connection, tag);
    return InLimits(std::move(result), limits, cancel);
  }

  Result<std::string> ReadStatement(std::string_view sql, const CancelToken& cancel) override {
    const std::uint64_t tag = next_tag_.fetch_add(1);
    const auto guard = cancel.OnCancel([this, tag] { Kill(tag); });
    chdb::Connection* connection = Borrow(tag);
    // On a line of its own, so that places in error messages are those of the statement.
    Result<std::string> result = connection == nullptr
                                     ? Result<std::string>(Error(Code::kCancelled, "cancelled"))
                                     : Run(connection, fmt::format("EXPLAIN AST\n{}", sql));
    if (!result && connection != nullptr) Drain(connection);
    Return(connection, tag);
    return result;
  }

  Result<std::string> QueryForPerson(std::string_view sql, std::string_view format,
                                     const Settings& settings, const QueryLimits& limits,
                                     const CancelToken& cancel) override {
    WHEREFORE_ASSIGN_OR_RETURN(chdb::Connection * connection, BorrowForPerson(cancel));
    const std::uint64_t tag = next_tag_.fetch_add(1);
    const auto guard = cancel.OnCancel([this, tag] { Kill(tag); });
    {
      MutexLock lock(mutex_);
      running_.push_back(tag);
    }
    const auto run =
        std::make_shared<LeavableRun>([this, connection, text = Limited(tag, sql, settings, limits),
                                       format = std::string(format), cancel] {
          return RunAndMend(
              connection, text, format, [&] { return cancel.cancelled(); }, IsOddForPerson);
        });
    const bool ended = run->WaitFor(cancel, kGraceNs);
    Return(nullptr, tag);
    MutexLock lock(mutex_);
    person_run_ = ended ? nullptr : run;
    person_busy_ = !ended;
    available_.NotifyAll();
    if (ended) return InLimits(run->TakeAnswer(), limits, cancel);
    Log(LogLevel::kWarn, "a statement does not stop although its time is over");
    return Error(Code::kLimit, "the statement ran out of time; narrow it");
  }

  Result<> Execute(std::string_view sql, const Settings& settings) override {
    std::string text(sql);
    const char* separator = " SETTINGS ";
    for (const auto& [name, value] : settings) {
      text += fmt::format("{}{}={}", separator, name, value);
      separator = ", ";
    }
    MutexLock lock(write_mutex_);
    const std::uint64_t failed = FailedWriteCount();
    WHEREFORE_RETURN_IF_ERROR(Run(writer_, text));
    return CheckWritten(failed);
  }

  Result<> Insert(std::string_view table, std::string_view native_block,
                  std::string_view token) override {
    WHEREFORE_RETURN_IF_ERROR(Mend());
    std::string sql = fmt::format(
        "INSERT INTO {} SETTINGS async_insert=0, min_insert_block_size_rows=1048449, "
        "max_partitions_per_insert_block=100",
        table);
    if (version_ >= kHasInsertTokens && !token.empty()) {
      sql += fmt::format(", insert_deduplicate=1, insert_deduplication_token={}", Quote(token));
    }
    MutexLock lock(write_mutex_);
    const std::uint64_t failed = FailedWriteCount();
    const chdb::InsertStream stream =
        api_.stream_insert_n(*writer_, sql.data(), sql.size(), kNative.data(), kNative.size());
    std::string problem;
    const auto note = [&](const char* message) {
      if (message != nullptr && problem.empty()) problem = message;
    };
    note(api_.stream_insert_error(stream));
    if (problem.empty() &&
        api_.stream_append(stream, native_block.data(), native_block.size()) != 0) {
      note(api_.stream_insert_error(stream));
      if (problem.empty()) problem = "the engine did not take the rows";
      api_.stream_cancel_insert(stream);
    } else if (problem.empty()) {
      chdb::Result* result = api_.stream_done(stream);
      if (result != nullptr) {
        note(api_.result_error(result));
        api_.destroy_query_result(result);
      } else {
        note(api_.stream_insert_error(stream));
      }
    }
    api_.destroy_insert_stream(stream);
    Result<> inserted = problem.empty() ? CheckWritten(failed) : EngineError(problem);
    if (inserted) return {};
    doubtful_.store(true);
    return std::move(inserted).error().Within(fmt::format("insert into {}", table));
  }

  Result<> Mend() override {
    MutexLock lock(mend_mutex_);
    FailedWrites failed = TakeFailedWrites();
    if (!doubtful_.load() && failed.folders.empty()) return {};
    Result<> mended = failed.folders.empty() ? Result<>() : CheckRoom();
    if (mended) mended = MendEngine(*this, failed, away_);
    if (mended) {
      doubtful_.store(false);
    } else {
      ReturnFailedWrites(std::move(failed));
    }
    return mended;
  }

  void OnSetAside(const std::function<void(const BrokenPart& part)>& noticed) override {
    noticed_ = noticed;
  }

  void CheckParts(const std::string& table) override {
    const std::uint64_t tag = next_tag_.fetch_add(1);
    chdb::Connection* connection = Borrow(tag);
    (void)SetAside(connection, table, "it does not pass the engine's check", set_aside_.load());
    Return(connection, tag);
  }

  [[nodiscard]] ServerVersion version() const override { return version_; }

 private:
  static std::string Limited(std::uint64_t tag, std::string_view sql, const Settings& settings,
                             const QueryLimits& limits) {
    std::string text =
        fmt::format("/* wherefore {} */ {} SETTINGS max_query_size=268435456", tag, sql);
    if (limits.timeout_ns > 0) {
      text +=
          fmt::format(", max_execution_time={:.3f}", static_cast<double>(limits.timeout_ns) / 1e9);
    }
    if (limits.memory_bytes > 0) {
      text += fmt::format(", max_memory_usage={}, max_result_bytes={}", limits.memory_bytes,
                          limits.answer_bytes > 0 ? limits.answer_bytes : limits.memory_bytes);
    }
    // Each only once: behind `readonly` the engine lets nothing change a second time.
    for (const auto& [name, value] : settings) text += fmt::format(", {}={}", name, value);
    return text;
  }

  // Asks again when a part that cannot be read was set aside. `connection` may be null.
  Result<std::string> RunAndMend(chdb::Connection* connection, const std::string& text,
                                 std::string_view format, const std::function<bool()>& cancelled,
                                 bool (*is_odd)(const Error&)) {
    const auto run = [&] {
      return connection == nullptr || cancelled()
                 ? Result<std::string>(Error(Code::kCancelled, "query cancelled"))
                 : Run(connection, text, format);
    };
    std::uint64_t set_aside = set_aside_.load();
    Result<std::string> result = run();
    if (!result && IsUnknownTable(result.error().message())) {
      // It may be away for a moment.
      {
        MutexLock mended(mend_mutex_);
      }
      result = run();
    }
    if (!result && connection != nullptr) Drain(connection);
    constexpr int kMostBroken = 100;
    for (int i = 0; i < kMostBroken && connection != nullptr && !result && is_odd(result.error());
         ++i) {
      if (!SetAside(connection, text, result.error().message(), set_aside)) break;
      set_aside = set_aside_.load();
      result = run();
      if (!result) Drain(connection);
    }
    return result;
  }

  static Result<std::string> InLimits(Result<std::string> result, const QueryLimits& limits,
                                      const CancelToken& cancel) {
    if (result) return result;
    WHEREFORE_RETURN_IF_ERROR(cancel.Check());
    // Where the answer has a limit of its own, who asked tells it from the others.
    if (limits.answer_bytes > 0 && result.error().message().contains(kTooLongAnAnswer))
      return std::move(result).error();
    return IsOverQueryMemory(result.error().message()) ? MemoryError(limits.memory_bytes)
                                                       : std::move(result).error();
  }

  // Neither stopped nor out of time: it may be the disk.
  static bool IsOdd(const Error& error) {
    return (error.code() == Code::kInternal || IsOverQueryMemory(error.message())) &&
           MayBeDamage(error.message());
  }

  // A person's statement can fail in any way by itself.
  static bool IsOddForPerson(const Error& error) {
    return IsOdd(error) && error.message().contains("while reading from part");
  }

  // True when something was since there were `before`, and the query may be asked again.
  bool SetAside(chdb::Connection* connection, std::string_view sql, std::string_view message,
                std::uint64_t before) {
    MutexLock lock(mend_mutex_);
    if (set_aside_.load() != before) return true;  // another query met it first
    const PlainEngine engine{
        .query = [&](const std::string& text) { return Run(connection, text); },
        .execute = [&](const std::string& text) { return Execute(text, {}); }};
    const std::vector<BrokenPart> aside = SetBrokenPartsAside(engine, sql, message);
    for (const BrokenPart& part : aside) {
      if (noticed_) noticed_(part);
    }
    set_aside_.fetch_add(aside.size());
    return !aside.empty();
  }

  Result<chdb::Connection*> Connect(const std::string& path) {
    // Caches default to gigabytes and pools to one thread a core and more; we are a guest in this
    // process.
    const std::size_t cache = std::min<std::size_t>(32u << 20, memory_bytes_ / 16);
    std::vector<std::string> arguments = {
        "clickhouse", "--path=" + path, fmt::format("--mark_cache_size={}", cache),
        fmt::format("--primary_index_cache_size={}", cache), "--uncompressed_cache_size=0",
        fmt::format("--index_mark_cache_size={}", cache / 8),
        fmt::format("--query_condition_cache_size={}", cache / 8), "--mmap_cache_size=0",
        fmt::format("--max_server_memory_usage={}", memory_bytes_),
        // On a terminal it writes lines of its own between ours; its errors come back as answers.
        "--logger.console=false",
        // Its background threads would otherwise wake up 20 times a second.
        "--memory_worker_period_ms=1000", "--background_pool_size=2",
        "--background_merges_mutations_concurrency_ratio=1", "--background_schedule_pool_size=4",
        "--background_fetches_pool_size=1", "--background_move_pool_size=1",
        "--background_common_pool_size=2", "--background_buffer_flush_schedule_pool_size=1",
        "--background_message_broker_schedule_pool_size=1",
        "--background_distributed_schedule_pool_size=1", "--tables_loader_background_pool_size=2",
        "--backups.allowed_path=/"};
    std::vector<char*> pointers;
    pointers.reserve(arguments.size());
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    chdb::Connection* connection = api_.connect(static_cast<int>(pointers.size()), pointers.data());
    if (connection == nullptr || *connection == nullptr) {
      return Error(Code::kIo,
                   fmt::format("the engine could not open {} (another engine directory may be open "
                               "in this process)",
                               path));
    }
    // Else what is no statement at all is taken for the list of a SELECT, and run: also the text
    // that ReadStatement() only wants to be read.
    WHEREFORE_RETURN_IF_ERROR(Run(connection, "SET implicit_select = 0"));
    return connection;
  }

  // `before`: FailedWriteCount() when the statement began.
  Result<> CheckWritten(std::uint64_t before) {
    if (FailedWriteCount() == before) return {};
    return Error(Code::kUnavailable, "engine: " + LastFailedWrite());
  }

  // Does the disk take bytes? Asked before the engine does what it could not undo.
  Result<> CheckRoom() {
    constexpr std::size_t kRoom = 1 << 20;
    const std::string path = path_ + "/room";
    WHEREFORE_ASSIGN_OR_RETURN(journal::File file,
                               journal::File::Open(path, O_RDWR | O_CREAT | O_TRUNC));
    Result<> written = file.WriteAt(0, std::string(kRoom, '\0'));
    if (written) written = file.SyncData();
    unlink(path.c_str());
    return written;
  }

  Result<std::string> Run(chdb::Connection* connection, std::string_view sql,
                          std::string_view format = kNative) {
    chdb::Result* result =
        api_.query_n(*connection, sql.data(), sql.size(), format.data(), format.size());
    if (result == nullptr) return Error(Code::kInternal, "engine: no answer");
    Result<std::string> answer = std::string();
    if (const char* problem = api_.result_error(result)) {
      answer = EngineError(problem);
    } else if (const std::size_t size = api_.result_length(result); size > 0) {
      answer->assign(api_.result_buffer(result), size);
    }
    api_.destroy_query_result(result);
    return answer;
  }

  // A query that ended in the middle (killed, out of memory) leaves what it had written with its
  // connection, and the engine puts that before the next answer: seen as answers with another
  // query's columns. A few throw-away queries drain it.
  void Drain(chdb::Connection* connection) {
    constexpr int kMostTries = 8;
    for (int i = 0; i < kMostTries; ++i) {
      const auto answer = Run(connection, "SELECT toUInt64(1)");
      if (!answer) continue;
      const auto ones = ReadColumn<std::uint64_t>(*answer);
      if (ones && ones->size() == 1) return;
    }
    Log(LogLevel::kWarn, "a connection to the engine still has parts of an ended query");
  }

  // A reading connection, or null when the query is cancelled while it waits for one.
  chdb::Connection* Borrow(std::uint64_t tag) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    running_.push_back(tag);
    while (idle_.empty() && std::ranges::find(doomed_, tag) == doomed_.end())
      available_.Wait(mutex_);
    if (idle_.empty()) return nullptr;
    chdb::Connection* connection = idle_.back();
    idle_.pop_back();
    return connection;
  }
  void Return(chdb::Connection* connection, std::uint64_t tag) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    std::erase(running_, tag);
    std::erase(doomed_, tag);
    if (connection != nullptr) idle_.push_back(connection);
    available_.NotifyAll();
  }
  // The connection for what people write. Gives up when the question's time is over, and sooner
  // where a statement that was left behind has it.
  Result<chdb::Connection*> BorrowForPerson(const CancelToken& cancel) EXCLUDES(mutex_) {
    const std::int64_t begun_ns = MonotonicNs();
    MutexLock lock(mutex_);
    while (person_busy_) {
      if (person_run_ != nullptr && person_run_->ended()) {
        person_run_ = nullptr;
        break;
      }
      if (person_run_ != nullptr && (cancel.cancelled() || MonotonicNs() > begun_ns + kGraceNs)) {
        return Error(Code::kUnavailable,
                     "an earlier statement does not stop although its time is over; ask again "
                     "later");
      }
      WHEREFORE_RETURN_IF_ERROR(cancel.Check());
      available_.WaitUntil(mutex_,
                           std::chrono::steady_clock::now() + std::chrono::milliseconds(50));
    }
    if (person_ == nullptr) {
      WHEREFORE_ASSIGN_OR_RETURN(person_, Connect(path_));
    }
    person_busy_ = true;
    return person_;
  }

  void Kill(std::uint64_t tag) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    doomed_.push_back(tag);
    available_.NotifyAll();
    wake_canceller_.NotifyAll();
  }

  void RunCanceller() EXCLUDES(mutex_) {
    while (true) {
      std::vector<std::uint64_t> tags;
      {
        MutexLock lock(mutex_);
        while (doomed_.empty() && !closing_) wake_canceller_.Wait(mutex_);
        if (closing_) return;
        for (const std::uint64_t tag : doomed_) {
          if (std::ranges::find(running_, tag) != running_.end()) tags.push_back(tag);
        }
      }
      for (const std::uint64_t tag : tags) {
        const auto killed =
            Run(killer_,
                fmt::format("KILL QUERY WHERE startsWith(query, '/* wherefore {} */') ASYNC", tag));
        if (!killed)
          Log(LogLevel::kWarn, "cannot cancel a query", {{"error", killed.error().message()}});
      }
      MutexLock lock(mutex_);
      if (!closing_ && !doomed_.empty()) {
        wake_canceller_.WaitUntil(mutex_,
                                  std::chrono::steady_clock::now() + std::chrono::milliseconds(10));
      }
    }
  }

  void Close() {
    if (canceller_.joinable()) {
      {
        MutexLock lock(mutex_);
        closing_ = true;
        wake_canceller_.NotifyAll();
      }
      canceller_.join();
    }
    // A process that exits with open connections aborts in the library's static destructors.
    ClosePerson();
    for (chdb::Connection* reader : readers_) api_.close_conn(reader);
    if (killer_ != nullptr) api_.close_conn(killer_);
    if (writer_ != nullptr) api_.close_conn(writer_);
  }

  // A statement that cannot be stopped does not keep the process from ending. It ends at once, as
  // by kill -9: what was acknowledged is in the log, and the engine's files are good for any end.
  void ClosePerson() EXCLUDES(mutex_) {
    std::shared_ptr<LeavableRun> run;
    {
      MutexLock lock(mutex_);
      run = std::move(person_run_);
    }
    CancelToken over;
    over.Cancel();
    if (run != nullptr && !run->WaitFor(over, kGraceNs)) {
      Log(LogLevel::kWarn, "a statement still does not stop; the process ends without it");
      std::_Exit(0);
    }
    MutexLock lock(mutex_);
    if (person_ != nullptr) api_.close_conn(person_);
  }

  Api api_;
  std::string path_;  // the engine's own directory
  std::size_t memory_bytes_ = 0;
  ServerVersion version_ = 0;
  chdb::Connection* writer_ = nullptr;
  chdb::Connection* killer_ = nullptr;
  std::vector<chdb::Connection*> readers_;
  std::thread canceller_;
  std::atomic<std::uint64_t> next_tag_{1};
  std::atomic<bool> doubtful_{true};  // an insert failed since the tokens were last looked at
  Mutex mend_mutex_;                  // held while tables may be away
  std::set<std::string> away_ GUARDED_BY(mend_mutex_);
  Mutex write_mutex_;  // one statement at a time on writer_
  std::function<void(const BrokenPart& part)> noticed_;
  std::atomic<std::uint64_t> set_aside_{0};  // how many parts were

  Mutex mutex_;
  CondVar available_;
  CondVar wake_canceller_;
  std::vector<chdb::Connection*> idle_ GUARDED_BY(mutex_);
  std::vector<std::uint64_t> running_ GUARDED_BY(mutex_);
  std::vector<std::uint64_t> doomed_ GUARDED_BY(mutex_);  // to be killed, until they end
  bool closing_ GUARDED_BY(mutex_) = false;
  // For what people write: made for the first statement.
  chdb::Connection* person_ GUARDED_BY(mutex_) = nullptr;
  bool person_busy_ GUARDED_BY(mutex_) = false;
  std::shared_ptr<LeavableRun> person_run_ GUARDED_BY(mutex_);  // left behind, may have ended
};

}  // namespace

Result<std::unique_ptr<Transport>> OpenEmbedded(const EmbeddedOptions& options) {
  constexpr std::size_t kLittle = std::size_t{1400} << 20;  // of a box of 4 GB
  if (options.memory_bytes < kLittle) GiveFreedPagesBackAtOnce();
  WHEREFORE_ASSIGN_OR_RETURN(const Api api, GetApi());
  auto transport = std::make_unique<EmbeddedTransport>(api);
  WHEREFORE_RETURN_IF_ERROR(transport->Open(options));
  // On a full disk later, before the next insert: what is stored can be read and deleted meanwhile.
  if (auto mended = transport->Mend(); !mended && mended.error().code() != Code::kUnavailable)
    return mended.error();
  return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace wherefore::store
