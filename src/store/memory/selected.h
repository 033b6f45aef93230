// Selected: which rows a query is about; SelectionCondition and SelectionNumber of read/, over
// structs instead of SQL.
//
// The query must outlive it. Immutable; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "store/memory/tables.h"
#include "store/read.h"

namespace wherefore::store::memory {

// What of a row decides whether it is meant; a table without a time or stacks leaves them out.
struct Subject {
  const DictionaryKey& key;
  std::uint64_t type = 0;
  std::uint32_t series = 0;
  std::optional<std::int64_t> time_ns = std::nullopt;
  std::optional<std::uint32_t> stack = std::nullopt;
};
inline Subject About(const StoredProfile& p) {
  return {p.row.dictionary, p.row.type, p.row.series, p.row.time_ns};
}
inline Subject About(const StoredSample& s) {
  return {s.key, s.type, s.series, s.time_ns, s.stack};
}
inline Subject About(const StoredDetail& d) {
  return {d.key, d.type, d.row.series, d.time_ns, d.row.stack};
}
inline Subject About(const StoredStackHour& s) {
  return {.key = s.key, .type = s.type, .stack = s.stack};
}
inline Subject About(const LinkRow& l) {
  return {l.dictionary, l.type, l.series, std::nullopt, l.stack};
}

class Selected {
 public:
  explicit Selected(const SampleQuery& query);

  // As a statement asks for it. Selections that want every series are told apart by neither their
  // dictionary nor their types here: any service, bucket, writer and type of any of them will do.
  [[nodiscard]] bool Matches(const Subject& row) const;
  // The selection that wants a row which matches: the first of its dictionary, if it wants the
  // type.
  [[nodiscard]] std::optional<std::uint32_t> Find(const DictionaryKey& key,
                                                  std::uint64_t type) const;
  // Both.
  template <typename Row>
  [[nodiscard]] std::optional<std::uint32_t> Of(const Row& row) const {
    const Subject subject = About(row);
    return Matches(subject) ? Find(subject.key, subject.type) : std::nullopt;
  }

 private:
  // A dictionary of the query's tenant.
  using Place = std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>;
  static Place PlaceOf(const DictionaryKey& key) { return {key.service, key.bucket, key.writer}; }
  struct Part {
    std::uint32_t selection = 0;
    std::unordered_set<std::uint32_t> series;
    std::unordered_set<std::uint32_t> stacks;
  };
  [[nodiscard]] bool Wants(const Part& part, const Subject& row) const;

  const SampleQuery& query_;
  std::set<std::uint64_t> services_;
  std::set<std::uint32_t> buckets_;
  std::set<std::uint32_t> writers_;
  std::set<std::uint64_t> types_;
  bool all_types_ = false;
  bool some_only_ = false;
  std::map<Place, std::vector<Part>> parts_;  // in the order of the selections
};

}  // namespace wherefore::store::memory
