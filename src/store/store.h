// The store: durable, exact, and the only place that knows SQL.
//
// Writing (Sink): a group of requests is interned, encoded as the exact rows of every table,
// appended to a write-ahead log, synced once, acknowledged. Logged rows are safe, so nothing
// hurries: they go into the engine in big inserts under tokens, dictionaries first, when there are
// 64 MB of them, when the oldest is 15 s old, or when somebody asks. See docs/architecture.md and
// docs/format.md.
//
// Reading (Reader, read.h): typed rows, never SQL text, on connections of their own, so that a
// heavy query does not hold up ingest. A query first calls CatchUp(): then it sees everything
// that was acknowledged before it was asked.
//
// Threads: everything here may be called from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/status.h"
#include "profile/sink.h"
#include "profile/tenant.h"
#include "store/alert_event.h"
#include "store/delete.h"
#include "store/hours/hours.h"
#include "store/pin.h"
#include "store/read.h"
#include "store/regression_event.h"
#include "store/retention.h"
#include "store/sql/question.h"

namespace wherefore::store {

struct StoreOptions {
  std::string directory;  // data directory; created if missing
  RetentionRules retention;
  std::size_t max_queued_bytes = 256u << 20;
  std::int64_t flush_interval_ns = 15'000'000'000;
  std::size_t flush_bytes = 64u << 20;
  std::size_t dictionary_bytes = 128u << 20;           // of names in memory
  std::size_t engine_bytes = std::size_t{4000} << 20;  // of memory, all it does together
  std::uint32_t max_series_per_service =
      20'000;  // per bucket; beyond it profiles are refused with the label that grows
  bool keep_payload = false;
  std::int64_t query_timeout_ns = 60'000'000'000;
  std::int64_t query_memory_bytes = std::int64_t{2} << 30;
  std::int64_t low_disk_bytes = std::int64_t{1} << 30;  // warn below this
  RollWaits roll_waits;
  std::int64_t retention_every_ns = 60 * kNsPerSecond;
  std::function<std::int64_t()> now = NowUnixNs;  // for what is due: hours and retention
};

// Which of a tenant's services lack what, as far as it is known; by the tenant's number.
using LackingByTenant = std::map<std::uint32_t, std::string>;

struct DamagedData {
  TimeRange range;
  std::string what;       // a sentence without its full stop, which names no service
  std::string uncounted;  // the same without numbers of rows: those are of all tenants together
  LackingByTenant lacking;

  // What this tenant may know of it, with its services.
  [[nodiscard]] std::string For(std::uint32_t tenant) const;
};

struct KeptBucket {
  std::string_view kind;
  std::uint32_t bucket = 0;
  std::int64_t bytes = 0;
  std::int64_t rows = 0;
  std::int64_t goes_ns = 0;  // 0: it stays
  bool pinned = false;
};

class Store : public profile::Sink {
 public:
  // Opens or creates; replays what is left in the log. Refuses a directory another process holds
  // (naming it) or that a newer version wrote.
  static Result<std::unique_ptr<Store>> Open(StoreOptions options);

  // Durable, all of them or none, when it returns; visible to readers as what is written otherwise.
  virtual Result<> WriteAlertEvents(std::span<const AlertEvent> events) = 0;
  virtual Result<> WriteRegressionEvents(std::span<const RegressionEvent> events) = 0;

  // Everything acknowledged before the call is visible to readers when it returns.
  virtual Result<> Flush() = 0;
  // Sums up every hour that is due, however long it takes; the store does so by itself, a little at
  // a time.
  virtual Result<> RollHours() = 0;
  // The same for a query. Queries share inserts, and inserts that only queries asked for
  // take a third of the time at most. Where rows cannot be inserted it does not fail: the rest can
  // be answered, and Damaged() says what is not there.
  virtual Result<> CatchUp(const CancelToken& cancel) = 0;
  virtual Reader& reader() = 0;
  // A statement of a person (docs/sql.md). Where it is at fault: kInvalid, with a sentence.
  virtual Result<SqlAnswer> Ask(const SqlQuestion& question, const CancelToken& cancel) = 0;

  // kInvalid when the tenant's number is that of another name, whose data a query would see.
  [[nodiscard]] virtual Result<> CheckTenant(const profile::Tenant& tenant) const = 0;

  // Rows, and the names nothing else uses, off the disk too when it returns.
  virtual Result<DeleteResult> Delete(const DeleteRequest& request) = 0;
  // Consistent copy into a new directory / from one into an empty data directory, each verified by
  // counting and summing every table. Restore works on a directory no server has open.
  virtual Result<std::string> Backup(const std::string& target_directory) = 0;
  static Result<std::string> Restore(const std::string& backup_directory,
                                     const std::string& data_directory);

  // Keeps the buckets a window touches, whole, until the pin is removed or its time is over. The
  // same window of the same service again is the same pin, with another reason; but one with an end
  // leaves one as it is that lasts as long. Durable when it returns.
  virtual Result<Pin> SetPin(Pin pin) = 0;
  virtual Result<> RemovePin(std::uint32_t tenant, const std::string& id) = 0;
  [[nodiscard]] virtual Result<std::vector<Pin>> Pins(std::uint32_t tenant) const = 0;

  // What is stored of each kind and bucket, and when it goes by this tenant's retention; oldest
  // first.
  [[nodiscard]] virtual Result<std::vector<KeptBucket>> Kept(std::uint32_t tenant) const = 0;

  // What can be done about damage, step by step; only if `really` is it done, and the steps say
  // what came of them.
  virtual Result<std::vector<std::string>> Repair(bool really) = 0;
  // What should be there and cannot be read any more, by time.
  [[nodiscard]] virtual std::vector<DamagedData> Damaged() const = 0;
  // Names services of this tenant alone.
  [[nodiscard]] virtual Status status(std::uint32_t tenant) const = 0;
  // How full the queue of requests is, 0 to 1.
  [[nodiscard]] virtual double QueueShare() const = 0;
  // Empty when writes are accepted; otherwise why not (disk full, read-only, ...), for /ready.
  [[nodiscard]] virtual std::string NotReadyReason() const = 0;
};

}  // namespace wherefore::store
