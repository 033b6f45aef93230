// The inside of the store, shared by the files that implement it: store.cc (open, threads),
// write/store_write.cc (group commit), write/store_insert.cc (log -> engine), and in upkeep/
// retention.cc, delete.cc, delete_names.cc, delete_spans.cc, backup.cc, damage.cc, lost_names.cc,
// repair.cc, roll_hours.cc, upkeep.cc.
//
// Threads: callers; one writer thread (takes the queue, interns, logs, answers); one inserter
//          thread (closes segments, inserts them, drops old buckets, retries what failed); one for
//          upkeep (finishes what a restart interrupted).
// Locks:   taken in this order: upkeep_mutex_ (held over a delete or a backup, and while hours are
//          rolled), pin_changes_mutex_, intern_mutex_
//          (dictionaries, identities, carry_; senders wait for it), insert_mutex_ (held while rows
//          go into the engine), state_mutex_ or pins_mutex_, then the log's own and the
//          transport's own.
#pragma once

#include <atomic>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/memory_budget.h"
#include "base/metrics.h"
#include "base/mutex.h"
#include "journal/counter_bases.h"
#include "journal/file.h"
#include "journal/identities.h"
#include "journal/wal.h"
#include "store/engine/mutations.h"
#include "store/hours/functions.h"
#include "store/sql/people_sql.h"
#include "store/store.h"
#include "store/upkeep/ledger.h"
#include "store/write/encode_rows.h"
#include "store/write/tenant_names.h"

namespace wherefore::store {

// Paths inside a data directory.
struct DataPaths {
  explicit DataPaths(const std::string& directory);
  std::string root;
  std::string schema;
  std::string lock;
  std::string writer;
  std::string engine;
  std::string wal;
  std::string identities;
  std::string cumulative;  // bases of counters
  std::string tenants;     // names
  std::string ledger;
  std::string reserve;   // room for a delete on a full disk
  std::string deleting;  // while a delete runs
};

// Holds the directory's lock as long as it lives; the error of a second one names the first.
[[nodiscard]] Result<journal::File> LockDirectory(const DataPaths& paths);
// Version of the schema file, written if it is missing; a newer one is refused.
[[nodiscard]] Result<> CheckSchemaFile(const DataPaths& paths);

struct StoreMetrics {
  StoreMetrics();
  Histogram& commit_seconds;
  Histogram& insert_seconds;
  Gauge& queue_bytes;
  Gauge& segments;
  Counter& repeated;
  Counter& rolled_hours;
  Histogram& roll_seconds;
  std::vector<Counter*> inserted_rows;  // by table
};

// Conditions on rows, by the bucket they are about; any of them may hold.
using ByBucket = std::map<std::uint32_t, std::vector<std::string>>;
// WHERE condition that selects the rows of these dictionaries.
[[nodiscard]] std::string InKeys(const std::set<DictionaryKey>& keys);

class StoreImpl final : public Store {
 public:
  explicit StoreImpl(StoreOptions options);
  ~StoreImpl() override;
  // With the embedded engine, or with another transport (tests, a cluster).
  Result<> Start(std::unique_ptr<Transport> transport = nullptr);

  void Write(profile::WriteRequest request,
             std::function<void(Result<profile::WriteAnswer>)> done) override;
  Result<> WriteAlertEvents(std::span<const AlertEvent> events) override
      EXCLUDES(intern_mutex_, state_mutex_);
  Result<> WriteRegressionEvents(std::span<const RegressionEvent> events) override
      EXCLUDES(intern_mutex_, state_mutex_);
  Result<> Flush() override;
  Result<> CatchUp(const CancelToken& cancel) override;
  Result<> RollHours() override EXCLUDES(upkeep_mutex_, intern_mutex_, insert_mutex_, state_mutex_);
  Reader& reader() override { return *reader_; }
  Result<SqlAnswer> Ask(const SqlQuestion& question, const CancelToken& cancel) override {
    return people_sql_->Ask(question, cancel);
  }
  [[nodiscard]] Result<> CheckTenant(const profile::Tenant& tenant) const override {
    return tenant_names_.Check(tenant);
  }
  Result<DeleteResult> Delete(const DeleteRequest& request) override;
  Result<std::string> Backup(const std::string& target_directory) override;
  Result<std::vector<std::string>> Repair(bool really) override;
  Result<Pin> SetPin(Pin pin) override
      EXCLUDES(pin_changes_mutex_, pins_mutex_, intern_mutex_, state_mutex_);
  Result<> RemovePin(std::uint32_t tenant, const std::string& id) override
      EXCLUDES(pin_changes_mutex_, pins_mutex_, intern_mutex_, state_mutex_);
  [[nodiscard]] Result<std::vector<Pin>> Pins(std::uint32_t tenant) const override
      EXCLUDES(pins_mutex_);
  [[nodiscard]] Result<std::vector<KeptBucket>> Kept(std::uint32_t tenant) const override;
  [[nodiscard]] std::vector<DamagedData> Damaged() const override;
  [[nodiscard]] Status status(std::uint32_t tenant) const override;
  [[nodiscard]] double QueueShare() const override;
  [[nodiscard]] std::string NotReadyReason() const override;

 private:
  struct Pending {
    profile::WriteRequest request;
    ContentHashes hashes;
    profile::CounterReadings counters;
    std::function<void(Result<profile::WriteAnswer>)> done;
    std::size_t bytes = 0;
  };
  using Answers = std::vector<Result<profile::WriteAnswer>>;

  // store.cc: what is wrong with writing, and with what is stored.
  void AddWriteProblems(Status& status) const REQUIRES(state_mutex_);
  void AddDataProblems(std::uint32_t tenant, Status& status) const REQUIRES(state_mutex_);

  // What an earlier run left in the log: at once if it is little, else beside senders.
  void Replay() EXCLUDES(intern_mutex_, insert_mutex_, state_mutex_);
  // store_write.cc
  void RunWriter();
  std::vector<Pending> TakeGroup() EXCLUDES(state_mutex_);
  // What a group adds to the log beside rows_.
  struct Additions {
    std::vector<journal::IdentityRecord> identities;
    std::vector<profile::CounterMove> moves;
  };
  using FirstRequests = std::unordered_map<Hash128, std::size_t>;  // of a group, by identity
  Answers CommitGroup(std::vector<Pending>& group) EXCLUDES(intern_mutex_);
  // Finishes what is due before the next group; why there can be none, empty: it may come.
  std::string MakeReady() REQUIRES(intern_mutex_) EXCLUDES(state_mutex_);
  // The group's rows into rows_, and what each sender is told if they can be logged.
  Answers EncodeGroup(std::vector<Pending>& group, FirstRequests& first, Additions& additions)
      REQUIRES(intern_mutex_);
  // rows_ could not be logged. Ids given to new names are in use from now on: their rows go first
  // into the next frame.
  void CarryNames() REQUIRES(intern_mutex_);
  // The same; kUnavailable for all of them when the memory for it is not there.
  Answers CommitOrRefuse(std::vector<Pending>& group) EXCLUDES(intern_mutex_);
  // Ids were given to names that are not in the log: none of them is used again.
  void ForgetUnloggedNames() REQUIRES(intern_mutex_);
  profile::CounterDifferences TakeCounters(Pending& pending, std::uint64_t segment)
      REQUIRES(intern_mutex_);
  // What one request adds to rows_ and `additions`.
  Result<profile::WriteAnswer> CommitOne(Pending& pending, Additions& additions)
      REQUIRES(intern_mutex_);
  Result<> LogRows(const RowSet& rows, const Additions& additions) REQUIRES(intern_mutex_);
  Result<> LogCarriedRows() REQUIRES(intern_mutex_);
  // What the server itself writes.
  Result<> LogEvents(const RowSet& rows) EXCLUDES(intern_mutex_, state_mutex_);
  void TrimMemory(std::size_t bytes) REQUIRES(intern_mutex_);
  // The next writer number, durably ours.
  Result<std::uint32_t> ClaimWriter() EXCLUDES(writer_mutex_);
  // Names that were given ids are lost: the next group goes on under the next writer number.
  Result<> DistrustNames() EXCLUDES(writer_mutex_);
  // Goes on under the next writer number: no dictionary that there is now is written to again.
  Result<> RetireWriter() REQUIRES(intern_mutex_);
  void SwitchWriter(std::uint32_t writer) REQUIRES(intern_mutex_);
  // Why nothing can be stored now; empty: it can.
  [[nodiscard]] std::string RefusalReason() const EXCLUDES(state_mutex_);
  void SetLogError(const Result<>& result) EXCLUDES(state_mutex_);

  // store_insert.cc
  void RunInserter();
  bool WaitForWork() EXCLUDES(state_mutex_);
  // The last segment that has rows of what was acknowledged before now.
  [[nodiscard]] std::uint64_t LastLogged() const {
    return wal_.current_bytes() > 0 ? wal_.current_number() : wal_.current_number() - 1;
  }
  void InsertClosedSegments() EXCLUDES(insert_mutex_, state_mutex_);
  void SetInsertError(const std::string& problem) REQUIRES(state_mutex_);
  Result<> InsertSegment(const journal::Wal::Segment& segment) REQUIRES(insert_mutex_);
  Result<> InsertRows(const RowSet& rows, const journal::SegmentHeader& header)
      REQUIRES(insert_mutex_);
  // What is remembered of requests, also of those that are in the log only.
  Result<> LoadRequests() REQUIRES(intern_mutex_, insert_mutex_);
  void ProbeLog() EXCLUDES(intern_mutex_);

  // pins.cc
  // Those of earlier runs, once their log is in the engine; false: not yet.
  bool FindPins() EXCLUDES(pin_changes_mutex_, pins_mutex_, state_mutex_);
  Result<> LoadPins() EXCLUDES(pin_changes_mutex_, pins_mutex_);
  Result<> LogPin(const Pin& pin, std::string_view state) REQUIRES(pin_changes_mutex_)
      EXCLUDES(intern_mutex_, state_mutex_);
  [[nodiscard]] Result<> PinsAreKnown() const REQUIRES(pins_mutex_);
  [[nodiscard]] bool IsPinned(std::uint32_t bucket) const EXCLUDES(pins_mutex_);
  // retention.cc
  Result<> DropOldBuckets(std::int64_t now_ns) EXCLUDES(intern_mutex_, insert_mutex_, state_mutex_);
  // What a table has in a bucket and is too old.
  struct Outdated {
    TableBucket where;
    std::vector<std::uint32_t> tenants;  // whose it is; where there is no --tenant-retention: 0
    bool whole = false;                  // nobody else has rows in it
  };
  // Of what there is.
  Result<std::vector<Outdated>> FindOutdated(const BucketRows& there, std::int64_t now_ns)
      REQUIRES(insert_mutex_);
  // Leaves of them what may go by itself; says why the rest is kept.
  void KeepIfInDoubt(const BucketRows& there, std::int64_t now_ns, std::vector<Outdated>& outdated)
      EXCLUDES(state_mutex_);
  // Samples go once the sums of their hours are made, where those stay: takes out what is not
  // ready.
  Result<> WaitForHours(std::uint64_t logged, std::int64_t now_ns, std::vector<Outdated>& outdated)
      REQUIRES(insert_mutex_) EXCLUDES(state_mutex_);
  Result<bool> HoursAreMade(const Outdated& samples) REQUIRES(insert_mutex_) EXCLUDES(state_mutex_);
  Result<> Drop(const Outdated& outdated) REQUIRES(insert_mutex_);
  // delete.cc
  // A part of a delete.
  struct DeletePart {
    DeleteRequest request;
    // Of dictionaries without samples: hashes of the versions that go; not listed: all.
    std::map<DictionaryKey, std::vector<std::uint64_t>> versions;
  };
  // delete_hours.cc: what has its samples, and what is left as sums by hour.
  Result<std::vector<DeletePart>> SplitByTier(const DeleteRequest& request);
  // Makes a selection without samples one of hours.
  Result<> MakeItOfHours(const DeleteRequest& request, SeriesSelection selection, DeletePart& part);
  // Before profiles or samples of these go: hours that overlap the range are read from samples
  // again, or, where there are none, forgotten.
  Result<> ForgetHours(const DeletePart& part, std::set<DictionaryKey>& touched)
      REQUIRES(upkeep_mutex_);
  // Sums that no note speaks of, and names of functions that no sum speaks of.
  Result<> DropForgottenHours(const std::set<DictionaryKey>& dictionaries) REQUIRES(upkeep_mutex_);
  Result<> DeleteMeasurements(const DeletePart& part, DeleteResult& result,
                              std::set<DictionaryKey>& touched) REQUIRES(upkeep_mutex_);
  // Counts what matches, notes whose it is, and queues its removal; drops whole buckets at once.
  Result<std::uint64_t> DeleteRows(Table table, const ByBucket& where,
                                   std::set<DictionaryKey>& touched) REQUIRES(upkeep_mutex_);
  Result<bool> DropWholeBucket(Table table, std::uint32_t bucket, std::uint64_t rows)
      EXCLUDES(insert_mutex_);
  // Queues a mutation if there is a row for it.
  Result<> Queue(Mutation mutation) REQUIRES(upkeep_mutex_);
  Result<> RunPending() REQUIRES(upkeep_mutex_);
  Result<> Mutate(std::span<const Mutation> mutations);
  Result<> ForgetRequestsOf(const std::set<DictionaryKey>& dictionaries)
      EXCLUDES(intern_mutex_, insert_mutex_);
  // Totals of profiles that lost samples but stay.
  Result<> RecountProfiles(const std::set<DictionaryKey>& keys);
  Result<> RecountProfiles(const DictionaryKey& key, std::vector<Mutation>& mutations);
  Result<std::uint64_t> CountRows(const std::string& sql);
  // An aggregate of a table's rows, by dictionary.
  Result<std::map<DictionaryKey, std::uint64_t>> ByDictionary(const std::string& what, Table table,
                                                              const std::string& where);
  // What a delete is at; nothing: the same step goes on.
  void SetDeleteProgress(std::optional<std::string> step, std::uint64_t parts_left)
      EXCLUDES(state_mutex_);
  [[nodiscard]] StillWaiting StillDeleting();
  // delete_spans.cc
  Result<std::uint64_t> DeleteSpans(const DeleteRequest& request, std::set<DictionaryKey>& touched)
      REQUIRES(upkeep_mutex_);
  Result<ByBucket> MatchingSpans(std::uint32_t bucket, const std::string& where,
                                 const SpanPredicate& matches);
  // delete_names.cc
  Result<> WriteDeleteJournal(const std::set<DictionaryKey>& dictionaries);
  [[nodiscard]] Result<std::set<DictionaryKey>> ReadDeleteJournal() const;
  // After the rows: names of these dictionaries that nothing uses, old bytes, the journal.
  Result<> FinishDelete(const std::set<DictionaryKey>& dictionaries) REQUIRES(upkeep_mutex_)
      EXCLUDES(intern_mutex_, insert_mutex_, state_mutex_);
  Result<> FinishInterruptedDelete() EXCLUDES(upkeep_mutex_);
  // From when it returns nobody writes to them, and everything that was is in the engine. Returns
  // the number new names are written under.
  Result<std::uint32_t> StopWritingTo(const std::set<DictionaryKey>& dictionaries)
      EXCLUDES(intern_mutex_);
  Result<> DropUnusedNames(const std::set<DictionaryKey>& keys, std::uint32_t writer)
      REQUIRES(upkeep_mutex_);
  Result<> DropSpanServices(std::uint32_t bucket, const std::set<DictionaryKey>& keys,
                            std::uint32_t writer) REQUIRES(upkeep_mutex_);
  Result<> PurgeOldParts();
  // damage.cc
  // Parts that queries would pass over: what they hold counts as missing.
  Result<> SetWrongRangesAside();
  Result<BucketRows> CountParts();
  Result<> CompareWithLedger() REQUIRES(insert_mutex_) EXCLUDES(state_mutex_);
  // Compares, and finds out whose data it is. False: not now.
  bool LookForDamage() EXCLUDES(insert_mutex_, state_mutex_);
  Result<LackingByTenant> ServicesLackingSamples(std::uint32_t bucket);
  void ReportDamage(const std::map<std::uint32_t, LackingByTenant>& details) REQUIRES(insert_mutex_)
      EXCLUDES(state_mutex_);
  // What is stored and cannot be read, by day.
  [[nodiscard]] std::vector<DamagedData> LostRows() const REQUIRES(state_mutex_);
  void NoteSetAside(const BrokenPart& part) EXCLUDES(state_mutex_, writer_mutex_);
  // lost_names.cc
  // Gives services and types that are in use a name again.
  Result<> RestoreLostNames() REQUIRES(insert_mutex_);
  // The same; true while some have none.
  Result<bool> RestoreNames() REQUIRES(insert_mutex_);
  Result<> RestoreNames(const std::string& table, const std::string& missing,
                        const std::string& insert, const std::string& from);
  // repair.cc
  Result<> BringBackParts(bool really, std::vector<std::string>& steps) REQUIRES(insert_mutex_);
  Result<> CopyFromAnyPart(const std::string& table, const std::filesystem::path& folder,
                           const std::string& file);
  Result<bool> TryToAttach(const std::string& table, const std::string& folder,
                           const std::string& part, std::uint32_t bucket);
  // roll_hours.cc
  // Rolls hours that are due until all are or the time is over; true: there are more.
  Result<bool> RollHours(std::int64_t for_ns)
      EXCLUDES(upkeep_mutex_, intern_mutex_, insert_mutex_, state_mutex_);
  // The buckets whose profiles changed since they were looked into, or of which an hour is due.
  std::vector<std::uint32_t> BucketsToRoll(std::int64_t now_ns) REQUIRES(upkeep_mutex_)
      EXCLUDES(insert_mutex_);
  // What is due of a bucket; notes when it is to be looked into again.
  Result<std::vector<HourRow>> DueHours(std::uint32_t bucket, std::int64_t now_ns)
      REQUIRES(upkeep_mutex_) EXCLUDES(insert_mutex_);
  // Whether it is rolled, or cannot be.
  [[nodiscard]] bool IsSettled(const HourRow& hour) const EXCLUDES(state_mutex_);
  Result<> Roll(const HourRow& hour) REQUIRES(upkeep_mutex_)
      EXCLUDES(intern_mutex_, insert_mutex_, state_mutex_);
  // upkeep.cc
  void RunUpkeep();
  // What one round leaves for the next.
  struct Upkeep {
    bool look_for_damage = false;
    std::int64_t next_names_ns = 0;
    std::int64_t names_wait_ns = kNsPerSecond;
    std::int64_t next_roll_ns = 0;
    std::string roll_said;
    std::string said;
  };
  void DoUpkeep(Upkeep& upkeep);
  void RollSome(Upkeep& upkeep);
  // Some room kept for a disk that is full: a delete needs a little to free much.
  void KeepReserve();
  void UseReserve();

  const StoreOptions options_;
  const DataPaths paths_;
  StoreMetrics metrics_;
  journal::File lock_;
  std::unique_ptr<Transport> transport_;
  std::atomic<std::uint64_t> generation_{1};  // of names, for readers' caches
  Tiers tiers_;
  std::unique_ptr<Reader> reader_;
  std::unique_ptr<PeopleSql> people_sql_;
  journal::Wal wal_;
  TenantNames tenant_names_;
  journal::IdentityClock identity_clock_;  // set before the threads start
  journal::CounterFiles counter_files_;    // written under insert_mutex_

  Mutex upkeep_mutex_;  // one delete or backup at a time
  std::vector<Mutation> pending_ GUARDED_BY(upkeep_mutex_);
  struct LookedForHours {
    std::uint64_t profiles = 0;  // rows there were
    std::int64_t next_ns = 0;    // when an hour is due, if nothing changes
  };
  NamedFunctions named_functions_ GUARDED_BY(upkeep_mutex_);
  std::map<std::uint32_t, LookedForHours> looked_for_hours_ GUARDED_BY(upkeep_mutex_);  // by bucket

  Mutex pin_changes_mutex_;  // one change at a time
  std::uint64_t last_pin_event_ GUARDED_BY(pin_changes_mutex_) = 0;
  mutable Mutex pins_mutex_;
  std::map<std::pair<std::uint32_t, std::string>, Pin> pins_ GUARDED_BY(pins_mutex_);
  bool pins_known_ GUARDED_BY(pins_mutex_) = false;  // those of earlier runs

  Mutex intern_mutex_;
  std::unique_ptr<Dictionaries> dictionaries_ GUARDED_BY(intern_mutex_);
  std::unique_ptr<Encoder> encoder_ GUARDED_BY(intern_mutex_);
  journal::Identities identities_ GUARDED_BY(intern_mutex_);
  journal::CounterBases counter_bases_ GUARDED_BY(intern_mutex_);
  std::uint64_t commits_ GUARDED_BY(intern_mutex_) = 0;
  std::size_t committed_bytes_ GUARDED_BY(intern_mutex_) = 0;  // since memory was trimmed
  MemoryHold names_memory_ GUARDED_BY(intern_mutex_);
  bool retire_writer_ GUARDED_BY(intern_mutex_) = false;  // before anything else is interned
  RowSet rows_ GUARDED_BY(intern_mutex_);                 // of the group being committed
  RowSet carry_
      GUARDED_BY(intern_mutex_);  // names whose ids are in use but whose rows could not be logged

  Mutex writer_mutex_;
  std::uint32_t claimed_writer_ GUARDED_BY(writer_mutex_) = 1;
  std::atomic<std::uint32_t> next_writer_{0};  // to go on under, when it is above the current one

  Mutex insert_mutex_;
  journal::IdentityLog identity_log_ GUARDED_BY(insert_mutex_);
  Ledger ledger_ GUARDED_BY(insert_mutex_);
  bool compared_ GUARDED_BY(insert_mutex_) = false;  // with the ledger, since the start
  std::uint64_t distrusted_segment_ GUARDED_BY(insert_mutex_) = 0;  // the last damaged one
  // Samples that are too old, by the last segment that may have some of them.
  std::map<TableBucket, std::uint64_t> closing_ GUARDED_BY(insert_mutex_);
  // Where tenants have a retention of their own: how many rows a bucket had, and for how many of
  // the rules it was too old, when nothing in it was.
  std::map<TableBucket, std::pair<std::uint64_t, std::size_t>> looked_into_
      GUARDED_BY(insert_mutex_);

  mutable Mutex state_mutex_;
  CondVar queue_changed_;
  CondVar work_changed_;   // for the inserter
  CondVar flush_changed_;  // for callers of Flush
  CondVar upkeep_changed_;
  std::deque<Pending> queue_ GUARDED_BY(state_mutex_);
  std::size_t queued_bytes_ GUARDED_BY(state_mutex_) = 0;
  bool stopping_ GUARDED_BY(state_mutex_) = false;  // no new requests
  bool writer_done_ GUARDED_BY(state_mutex_) = false;
  bool replayed_ GUARDED_BY(state_mutex_) = false;   // what an earlier run left is in the engine
  bool new_names_ GUARDED_BY(state_mutex_) = false;  // none that an earlier run logged is in use
  bool flush_asked_ GUARDED_BY(state_mutex_) = false;
  bool catch_up_asked_ GUARDED_BY(state_mutex_) = false;
  std::int64_t next_catch_up_ns_ GUARDED_BY(state_mutex_) = 0;  // not earlier for queries alone
  std::uint64_t rounds_ GUARDED_BY(state_mutex_) = 0;           // of the inserter
  std::uint64_t inserted_through_ GUARDED_BY(state_mutex_) = 0;
  std::int64_t first_unflushed_ns_ GUARDED_BY(state_mutex_) = 0;  // 0: nothing waits
  std::string log_error_ GUARDED_BY(state_mutex_);
  std::string insert_error_ GUARDED_BY(state_mutex_);
  std::vector<std::string> damage_ GUARDED_BY(state_mutex_);  // segments set aside
  std::map<std::uint32_t, DamagedData> damaged_
      GUARDED_BY(state_mutex_);                              // by bucket: what is lost
  std::set<BrokenPart> uncounted_ GUARDED_BY(state_mutex_);  // set aside, and not in damaged_ yet
  bool look_for_damage_ GUARDED_BY(state_mutex_) = false;
  std::atomic<bool> names_lost_{false};  // of services or types
  // Hours that could not be rolled as they are: samples are missing, or sums do not fit.
  std::map<std::pair<DictionaryKey, std::uint32_t>, HourContent> unrolled_ GUARDED_BY(state_mutex_);
  std::string retention_held_ GUARDED_BY(state_mutex_);  // why old data stays; empty: it goes
  bool retention_confirmed_ GUARDED_BY(state_mutex_) = false;
  std::string deleting_step_ GUARDED_BY(state_mutex_);  // empty: no delete runs
  std::uint64_t deleting_parts_ GUARDED_BY(state_mutex_) = 0;

  std::thread writer_;
  std::thread inserter_;
  std::thread upkeep_;
};

}  // namespace wherefore::store
