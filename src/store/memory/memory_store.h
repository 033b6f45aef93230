// MemoryStore: a store for tests that need queries answered where the engine cannot be loaded
// (beside a sanitizer). Requests are interned and encoded by the writer's own Encoder, and the rows
// go into tables in memory instead of a log and an engine.
//
// Write() answers before it returns, and what it took is visible then. A repeated request gets the
// first answer. Counters that count since their process began are refused (kUnsupported): their
// bases belong to a directory. Nothing is durable, nothing is ever taken away.
//
// Threads: any; no thread of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>

#include "base/mutex.h"
#include "journal/identities.h"
#include "profile/sink.h"
#include "store/engine/transport.h"
#include "store/hours/functions.h"
#include "store/memory/memory_reader.h"
#include "store/write/dictionary.h"
#include "store/write/encode_rows.h"

namespace wherefore::store::memory {

// Where dictionaries are read back from: nothing was written before this process.
class NothingStored final : public Transport {
 public:
  Result<std::string> Query(std::string_view sql, const QueryLimits& limits,
                            const CancelToken& cancel) override;
  Result<> Execute(std::string_view sql, const Settings& settings) override;
  Result<> Insert(std::string_view table, std::string_view native_block,
                  std::string_view token) override;
  [[nodiscard]] ServerVersion version() const override { return 0; }
};

class MemoryStore final : public profile::Sink {
 public:
  explicit MemoryStore(EncodeOptions options = {});

  void Write(profile::WriteRequest request,
             std::function<void(Result<profile::WriteAnswer>)> done) override;
  Result<> WriteAlertEvents(std::span<const AlertEvent> events);
  // Every hour that ended before `now_ns` and is not what its samples are.
  Result<> RollHours(std::int64_t now_ns) EXCLUDES(mutex_);
  Result<> WriteRegressionEvents(std::span<const RegressionEvent> events);
  [[nodiscard]] Reader& reader() { return reader_; }

 private:
  Result<profile::WriteAnswer> Store(const profile::WriteRequest& request, ContentHashes& hashes)
      EXCLUDES(mutex_);

  MemoryReader reader_;
  NothingStored nothing_;
  const std::atomic<std::uint32_t> writer_{1};
  journal::IdentityClock clock_;

  Mutex mutex_;  // one request at a time, as on the writer's thread
  Dictionaries dictionaries_ GUARDED_BY(mutex_);
  Encoder encoder_ GUARDED_BY(mutex_);
  journal::Identities identities_ GUARDED_BY(mutex_);
  RowSet rows_ GUARDED_BY(mutex_);
  NamedFunctions named_functions_ GUARDED_BY(mutex_);
};

}  // namespace wherefore::store::memory
