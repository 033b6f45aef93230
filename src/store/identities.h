// Identities: which requests were stored in the last ten minutes, and what their senders were told.
//
// Ten minutes of this server's life: its clock (IdentityClock) stands still while no server runs,
// so that a sender's retry after a long downtime is still known.
//
// A sender whose answer got lost sends again; the repeat gets the first answer and stores nothing.
// Identities live in the frames of the log first, and in identities.log once their segment is gone
// (docs/format.md, "Identities").
//
// Threads: Identities belongs to whoever holds the store's intern mutex, IdentityLog to the
// inserter.
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

namespace wherefore::store {

struct IdentityRecord {
  Hash128 identity;
  std::int64_t time_ns = 0;  // of IdentityClock
  std::uint64_t rejected = 0;
  std::string message;
  std::uint64_t service = 0;  // whose data it was; 0: of several services
  std::uint32_t tenant = 0;
};

// Saved on disk: never change. The first form knows no tenant.
enum class IdentityForm : std::uint8_t { kWithoutTenant, kWithTenant };
void AppendIdentity(std::string& out, const IdentityRecord& record);
// Takes one record off the front; false when there is no whole, undamaged one.
[[nodiscard]] bool TakeIdentity(std::string_view& in, IdentityForm form, IdentityRecord& record);

// A service of a tenant, as deletes name them.
struct TenantService {
  std::uint32_t tenant = 0;
  std::uint64_t service = 0;
  auto operator<=>(const TenantService&) const = default;
};

// The time that passes while a server runs on this directory. It began as the time of day, goes on
// from the newest identity that was kept, and takes no notice when the clock of the machine is set.
class IdentityClock {
 public:
  // Before the first Now: where it stood.
  void GoOnFrom(std::int64_t newest_ns);
  [[nodiscard]] std::int64_t Now() const;

 private:
  std::int64_t stood_at_ns_ = 0;  // 0: a new directory
  std::int64_t started_ns_ = 0;   // monotonic
};

class Identities {
 public:
  static constexpr std::int64_t kLifetimeNs = 600'000'000'000;
  static constexpr std::size_t kMaxEntries = 1'000'000;

  // What the first one was told.
  [[nodiscard]] std::optional<profile::WriteAnswer> Find(const Hash128& identity,
                                                         std::int64_t now_ns) const;
  void Add(IdentityRecord record);
  // Requests of these services may be sent again: their data was deleted.
  void ForgetServices(const std::set<TenantService>& services);
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::int64_t time_ns = 0;
    std::uint64_t service = 0;
    std::uint32_t tenant = 0;
    std::uint32_t answer = 0;  // into answers_, 0: nothing rejected, no message
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
  // What the file holds, oldest first. A file in an older form, or one with a damaged end, is
  // written anew before the next record goes into it, not here: a full disk must not keep anybody
  // from reading.
  Result<std::vector<IdentityRecord>> Open(const std::string& path);
  // Makes records of an inserted segment durable; rewrites the file now and then without the old
  // ones.
  Result<> Append(std::span<const IdentityRecord> records, std::int64_t now_ns);
  Result<> ForgetServices(const std::set<TenantService>& services);

 private:
  // The file with the records `keep` is true for, and `more` behind them.
  template <typename Keep>
  Result<> Rewrite(Keep&& keep, std::string_view more);

  std::string path_;
  bool stale_ = false;  // to be written anew before anything is added
  std::uint64_t file_bytes_ = 0;
  std::int64_t rewritten_ns_ = 0;
};

}  // namespace wherefore::store
