// Identities: which requests were stored in the last ten minutes, and what their senders were told.
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
  std::int64_t time_ns = 0;
  std::uint64_t rejected = 0;
  std::string message;
  std::uint64_t service = 0;  // whose data it was; 0: of several services
};

void AppendIdentity(std::string& out, const IdentityRecord& record);
// Takes one record off the front; false when there is no whole, undamaged one.
[[nodiscard]] bool TakeIdentity(std::string_view& in, IdentityRecord& record);

class Identities {
 public:
  static constexpr std::int64_t kLifetimeNs = 600'000'000'000;
  static constexpr std::size_t kMaxEntries = 1'000'000;

  // What the first one was told.
  [[nodiscard]] std::optional<profile::WriteAnswer> Find(const Hash128& identity,
                                                         std::int64_t now_ns) const;
  void Add(IdentityRecord record);
  // Requests of these services may be sent again: their data was deleted.
  void ForgetServices(const std::set<std::uint64_t>& services);
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::int64_t time_ns = 0;
    std::uint64_t service = 0;
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
  // Reads the file, forgets what is too old, writes it anew, and returns what is left, oldest
  // first.
  Result<std::vector<IdentityRecord>> Open(const std::string& path, std::int64_t now_ns);
  // Makes records of an inserted segment durable; rewrites the file now and then without the old
  // ones.
  Result<> Append(std::span<const IdentityRecord> records, std::int64_t now_ns);
  Result<> ForgetServices(const std::set<std::uint64_t>& services);

 private:
  std::string path_;
  std::uint64_t file_bytes_ = 0;
  std::int64_t rewritten_ns_ = 0;
};

}  // namespace wherefore::store
