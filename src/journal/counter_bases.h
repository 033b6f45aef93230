// The bases of counters (profile/counters.h), kept so that neither a restart of this server, nor a
// request that was not stored, nor one sent twice makes a value count twice or never.
//
// A base moves with the commit that used it: the moves of a group are logged in its frame, under
// the same sync as its rows. Before a segment goes (into the engine, or because its requests are
// sent) its moves go into the files of CounterFiles; done again, they lead to the same place.
//
// Threads: in the store CounterBases belongs to whoever holds the intern mutex, CounterFiles to
// whoever holds the insert mutex, but for Load; in a queue both belong to the writer thread. A base
// leaves memory only when every segment that moved it has gone, so nobody writes its file while it
// is read again.
#pragma once

#include <cstdint>
#include <list>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "profile/counters.h"

namespace wherefore::journal {

// One file a series, replaced whole (docs/format.md, "Bases of counters").
class CounterFiles {
 public:
  explicit CounterFiles(std::string directory) : directory_(std::move(directory)) {}

  // A series without a file, or with a damaged one, has never been seen.
  [[nodiscard]] profile::CounterBase Load(const Hash128& series) const;
  // In two steps with a sync of the file system between them, so that a crash at any moment leaves
  // every file whole, old or new: writes the new ones beside the old, then puts them in their
  // place.
  Result<> Write(std::span<const profile::CounterMove> moves);
  Result<> Publish();
  // Series nobody has sent for a month.
  void ForgetOld();

 private:
  [[nodiscard]] std::string Path(const Hash128& series) const;

  const std::string directory_;
  std::vector<std::string> written_;  // not published yet
};

class CounterBases {
 public:
  explicit CounterBases(const CounterFiles& files) : files_(files) {}

  // The base, to be moved on; it can be put back until Keep.
  profile::CounterBase& Change(const Hash128& series, std::uint64_t segment);
  // For PutBack: everything changed from here on, or some series of it, is as it was.
  [[nodiscard]] std::size_t Mark() const { return before_.size(); }
  void PutBack(std::size_t mark);
  void PutBack(std::size_t mark, std::set<Hash128> series);
  void Keep() { before_.clear(); }
  // Drops the least recently used whose moves are all inserted, until `max_bytes` are left.
  void Trim(std::uint64_t inserted_through, std::size_t max_bytes);

 private:
  struct Entry {
    profile::CounterBase base;
    std::uint64_t last_segment = 0;  // newest that may hold moves of it
    std::list<Hash128>::iterator use;
  };
  using Before = std::pair<Hash128, profile::CounterBase>;

  const CounterFiles& files_;
  std::unordered_map<Hash128, Entry> entries_;
  std::list<Hash128> uses_;     // most recent first
  std::vector<Before> before_;  // oldest first
};

void AppendMoves(std::string& out, std::span<const profile::CounterMove> moves);
// Takes them off the front; false when they are not whole.
[[nodiscard]] bool TakeMoves(std::string_view& in, std::vector<profile::CounterMove>& moves);

}  // namespace wherefore::journal
