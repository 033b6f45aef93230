// Cumulative profiles (Go's heap, mutex and block profiles count since the process began) turned
// into what happened since the last one of their series.
//
// A series is a tenant, a set of resource attributes and a profile type. Its last values are kept
// per stack, in memory and (least recently used ones only) in a directory, so that neither a
// restart of this server nor many series make values count twice. They are written before the data
// goes to the sink: a crash in between loses one difference that nobody was promised, it never
// doubles one.
//
// What the numbers mean:
// - The first profile of a series counts whole (it says what happened since the process began), or
//   only sets the base, as the caller says.
// - A restart of the process is seen by values that went: if more than a tenth of the last total is
//   gone, everything in the new profile happened since. Go estimates values from samples and so
//   takes a little back now and then: a stack that went down by less counts 0 until it is above its
//   highest value again, so that the differences add up to the counter.
// - A gap is one long interval: the difference covers it, the profile's duration says so. Its time
//   stays the sender's, which is when it was taken.
// - A clock may be wrong or set back: what counts is whether the counter went on. A profile that is
//   older than the last one of its series and has less is one that comes late: it is left out with
//   a reason. When the next one goes on from it, it was a restart, and both count.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/mutex.h"
#include "formats/formats.h"
#include "profile/batch.h"

namespace wherefore::gateway {

// Whether values of this type only ever grow where Go writes them.
[[nodiscard]] bool CanBeCumulative(std::string_view sample_type);

class Cumulative {
 public:
  struct Options {
    std::string directory;  // empty: memory only
    std::size_t max_bytes = 64u << 20;
  };
  enum class First : std::uint8_t { kCountsWhole, kSetsBase };

  explicit Cumulative(Options options);

  // What was taken off the counters for one request, to be given back if it is not stored.
  struct Taken {
    struct FromSeries {
      Hash128 key;
      std::uint64_t time_before_ns = 0;
      std::vector<std::pair<std::uint64_t, std::int64_t>> values;
    };
    std::vector<FromSeries> series;
  };
  // Replaces the values of every profile whose type can be cumulative; samples that did not change
  // go. Profiles that cannot be used are taken out and counted as rejected.
  Taken Convert(formats::DecodedProfiles& decoded, std::uint32_t tenant, First first);
  // The request was not stored: the next profile of the series counts this again.
  void GiveBack(const Taken& taken);

 private:
  using Values = std::vector<std::pair<std::uint64_t, std::int64_t>>;  // by stack, sorted
  struct Series {
    std::uint64_t time_ns = 0;  // of the last profile; 0: never seen
    Values values;
    Values late;  // of a profile that seemed to come late; empty: none
    std::list<Hash128>::iterator use;
  };

  Series& Find(const Hash128& key) REQUIRES(mutex_);
  void Save(const Hash128& key, const Series& series) REQUIRES(mutex_);
  void Evict() REQUIRES(mutex_);
  [[nodiscard]] std::string Path(const Hash128& key) const;
  // False: the profile is to be left out.
  bool ConvertProfile(profile::Batch& batch, profile::Profile& profile,
                      const std::vector<std::uint64_t>& keys, std::uint32_t tenant, First first,
                      Taken& taken) REQUIRES(mutex_);

  const Options options_;
  Mutex mutex_;
  std::unordered_map<Hash128, Series> series_ GUARDED_BY(mutex_);
  std::list<Hash128> uses_ GUARDED_BY(mutex_);  // most recent first
  std::size_t bytes_ GUARDED_BY(mutex_) = 0;
  bool said_ GUARDED_BY(mutex_) = false;  // that the directory cannot be written
};

}  // namespace wherefore::gateway
