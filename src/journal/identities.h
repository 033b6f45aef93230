// Identities: which requests were stored in the last ten minutes, and what their senders were told.
//
// The ten minutes count only while a server runs (IdentityClock), so a retry after a long downtime
// is still recognised.
//
// A sender whose answer got lost sends again; the repeat gets the first answer and stores nothing.
// Identities are first in the frames of the log, and move to identities.log when their segment is
// removed (docs/format.md, "Identities").
//
// Threads: Identities is guarded by the store's intern mutex, IdentityLog belongs to the inserter.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "profile/sink.h"

namespace wherefore::journal {

struct IdentityRecord {
  Hash128 identity;
  std::int64_t time_ns = 0;  // by IdentityClock
  std::uint64_t rejected = 0;
  std::string message;
  std::uint64_t service = 0;  // whose data it was; 0: several services
  std::uint32_t tenant = 0;
};

// Stored on disk: never change. The first format has no tenant.
enum class IdentityForm : std::uint8_t { kWithoutTenant, kWithTenant };
void AppendIdentity(std::string& out, const IdentityRecord& record);
// Removes one record from the front; false if there is no complete, undamaged one.
[[nodiscard]] bool TakeIdentity(std::string_view& in, IdentityForm form, IdentityRecord& record);

// A service of a tenant, as in deletes.
struct TenantService {
  std::uint32_t tenant = 0;
  std::uint64_t service = 0;
  auto operator<=>(const TenantService&) const = default;
};

// A clock that runs only while a server uses this directory. It starts as wall time, continues from
// the newest stored identity, and ignores changes of the machine's clock.
class IdentityClock {
 public:
  // Call before the first Now(): the time it had reached.
  void ResumeFrom(std::int64_t newest_ns);
  [[nodiscard]] std::int64_t Now() const;

 private:
  std::int64_t resumed_at_ns_ = 0;  // 0: a new directory
  std::int64_t started_ns_ = 0;     // monotonic
};

class Identities {
 public:
  static constexpr std::int64_t kLifetimeNs = 600'000'000'000;
  static constexpr std::size_t kMaxEntries = 1'000'000;

  // The first request's answer, if this one is a repeat.
  [[nodiscard]] std::optional<profile::WriteAnswer> Find(const Hash128& identity,
                                                         std::int64_t now_ns) const;
  void Add(IdentityRecord record);
  // Lets requests of these services be stored again: their data was deleted.
  void ForgetServices(const std::set<TenantService>& services);
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::int64_t time_ns = 0;
    std::uint64_t service = 0;
    std::uint32_t tenant = 0;
    std::uint32_t answer = 0;  // index in answers_; 0: nothing rejected, no message
  };
  void Forget(std::int64_t now_ns);

  std::unordered_map<Hash128, Entry> entries_;
  std::deque<Hash128> order_;  // oldest first
  std::unordered_map<std::uint32_t, profile::WriteAnswer> answers_;
  std::uint32_t next_answer_ = 1;
};

// The file identities.log.
class IdentityLog {
 public:
  // Returns the records, oldest first. A file in an old format or with a damaged end is rewritten
  // before the next Append, not here: reading must work on a full disk.
  Result<std::vector<IdentityRecord>> Open(const std::string& path);
  // Makes the records of an inserted segment durable. Sometimes rewrites the file without expired
  // ones.
  Result<> Append(std::span<const IdentityRecord> records, std::int64_t now_ns);
  Result<> ForgetServices(const std::set<TenantService>& services);

 private:
  // Rewrites the file with the records for which `keep` is true, followed by `more`.
  template <typename Keep>
  Result<> Rewrite(Keep&& keep, std::string_view more);

  std::string path_;
  bool stale_ = false;  // rewrite before the next record
  std::uint64_t file_bytes_ = 0;
  std::int64_t rewritten_ns_ = 0;
};

}  // namespace wherefore::journal
