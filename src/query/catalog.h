// Catalog: turns a selection (selector, type, time range) into ids the store understands.
//
// Keeps services, types and label sets it has read while the store's generation lasts, so that a
// query costs one scan of samples and little else. Any thread.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/arithmetic.h"
#include "base/cancel.h"
#include "base/mutex.h"
#include "base/result.h"
#include "profile/flame_tree.h"
#include "query/selector.h"
#include "query/stored_types.h"

namespace wherefore::query {

// What every query starts with.
struct Selection {
  std::uint32_t tenant = 0;
  Selector selector;
  std::string type;  // short name, five-part id or sample type; empty: the most useful one there is
  store::TimeRange range;
  // Snapshots (in use, goroutines) are added up over time, as Pyroscope does it; our own answers
  // average them.
  bool add_up_snapshots = false;
};

// How to read the values of one stored type under one query.
struct TypeUse {
  std::int64_t multiplier = 1;
  profile::ProfileType details;

  [[nodiscard]] std::int64_t Value(std::int64_t stored) const {
    return SaturatingMultiply(stored, multiplier);
  }
  // Observations behind a sum of stored values and a sum of stored n.
  [[nodiscard]] std::int64_t Count(std::int64_t value, std::int64_t stored) const;
};

using SeriesList =
    std::shared_ptr<const std::vector<store::SeriesRow>>;  // index = id - 1; `encoded` left out

struct Resolved {
  store::SampleQuery query;
  std::unordered_map<std::uint64_t, TypeUse> types;
  std::string type;  // the one that was used
  std::string unit;
  bool snapshot = false;
  // A matcher needs labels that only samples have; then `profiles` cannot answer.
  bool needs_samples = false;
  std::vector<std::string> label_matchers;  // labels the selector names, service and type apart
  std::vector<std::string> services;        // name per selection of `query`
  std::vector<SeriesList> series;           // per selection of `query`; null when it was not needed
};

// The profile-level set a (possibly sample-level) series belongs to; null where it is not known.
[[nodiscard]] const store::SeriesRow* ProfileLevel(const SeriesList& list, std::uint32_t series);

// The value of a group-by label for a series; `list` may be null when only the service is asked
// for.
[[nodiscard]] std::string_view GroupLabel(const std::string& service, const SeriesList& list,
                                          std::uint32_t series, std::string_view name);

using TypesSeen = std::set<std::pair<store::DictionaryKey, std::uint64_t>>;

// Stored types read as the one that is asked for.
struct TypesRead {
  std::unordered_map<std::uint64_t, TypeUse> uses;  // by stored type; others do not answer it
  std::string unit;
};
[[nodiscard]] TypesRead ReadAs(const std::vector<store::TypeRow>& types, const std::string& wanted);
// What they can be asked for.
[[nodiscard]] std::set<std::string> ShortNamesOf(const std::vector<store::TypeRow>& types);

class Catalog {
 public:
  explicit Catalog(store::Reader& reader) : reader_(reader) {}

  struct Options {
    bool with_series = false;           // always fill Resolved::series
    std::vector<std::string> group_by;  // labels that must be known for grouping
    bool all_types_of_family = false;   // all types with the same profile name as the chosen one
    bool narrowed = false;              // the caller sees to Selector::narrowing() itself
  };
  Result<Resolved> Resolve(const Selection& selection, const Options& options,
                           const CancelToken& cancel);

  Result<std::vector<store::ServiceRow>> Services(std::uint32_t tenant, store::TimeRange range,
                                                  const CancelToken& cancel);
  Result<std::vector<store::TypeRow>> Types(const std::vector<store::DictionaryKey>& dictionaries,
                                            const CancelToken& cancel);
  // Only types that were seen: a default must not be one without data.
  Result<std::vector<store::TypeRow>> TypesOf(const TypesSeen& seen, const CancelToken& cancel);
  // Of many, in their order: few reads of the store, however many they are.
  Result<std::vector<SeriesList>> Series(const std::vector<store::DictionaryKey>& dictionaries,
                                         const CancelToken& cancel);

  // A sentence for people when a query found nothing: which part of it has no data.
  std::string ExplainEmpty(const Selection& selection, const CancelToken& cancel);

 private:
  void ForgetIfChanged() REQUIRES(mutex_);
  // All but the service's own name.
  Result<std::set<std::string>> LabelNames(const std::vector<store::DictionaryKey>& dictionaries,
                                           const CancelToken& cancel);

  store::Reader& reader_;
  Mutex mutex_;
  std::uint64_t generation_ GUARDED_BY(mutex_) = 0;
  using ServicesKey = std::tuple<std::uint32_t, std::int64_t, std::int64_t>;  // tenant, days
  std::map<ServicesKey, std::vector<store::ServiceRow>> services_ GUARDED_BY(mutex_);
  std::map<store::DictionaryKey, std::vector<store::TypeRow>> types_ GUARDED_BY(mutex_);
  std::map<store::DictionaryKey, SeriesList> series_ GUARDED_BY(mutex_);
};

// The type a page or command shows when nobody said: cpu, else wall, else the first by name.
[[nodiscard]] std::string DefaultType(const std::vector<store::TypeRow>& types);

}  // namespace wherefore::query
