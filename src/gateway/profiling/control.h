// ProfilingControl: whether and how services are to be profiled, and who says so:
//
//   the configuration's `profiling:`  <  the API's word for all services  <  its word for one
//
// The API's words are kept over restarts in a small file. A word with an end (`for`) holds until
// then, and what was said before holds again.
//
// Threads: any.
// Always:  Set returns after the file is synced; on failure nothing changes.
// Failure: a file that cannot be read is set aside (".bad") and logged: everything is on again.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/metrics.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/status.h"
#include "gateway/config/profiling_settings.h"

namespace wherefore::gateway {

// What the API said.
struct ProfilingWord {
  bool enabled = true;
  std::optional<double> sample_rate;              // Hz, of CPU profiles
  std::optional<std::vector<std::string>> types;  // libwherefore's names
  std::int64_t until_ns = 0;                      // 0: for ever
};

class ProfilingControl {
 public:
  // `path`: the file; empty: nothing is kept.
  explicit ProfilingControl(std::string path);

  // Reads what an earlier run kept.
  void Open();
  // What the configuration says from now on.
  void SetFile(std::optional<ProfilingSettings> settings);
  // The API's word for a service, or for all (an empty name). kLimit: too many services.
  Result<> Set(const std::string& tenant, const std::string& service, ProfilingWord word);
  // Under pressure SDKs are asked for half of the rate (`adaptive`).
  void SetPressure(bool pressure) { pressure_.store(pressure, std::memory_order_relaxed); }

  // Cheap while nothing is off.
  [[nodiscard]] bool IsOn(const std::string& tenant, std::string_view service) const;
  // Services with a word of their own, in order; the first is for all and has no name.
  [[nodiscard]] std::vector<std::pair<std::string, ProfilingWord>> Words(
      const std::string& tenant) const;
  // The `profiling:` block for a service; empty if nobody said anything.
  [[nodiscard]] std::string Block(const std::string& tenant, std::string_view service) const;

  // Profiles of a service that is off were left out.
  void CountDropped(std::string_view service, std::size_t profiles, std::size_t samples);
  [[nodiscard]] Status status() const;

 private:
  struct Said {
    std::optional<ProfilingWord> lasting;
    std::optional<ProfilingWord> passing;  // with an end
  };
  using Key = std::pair<std::string, std::string>;  // tenant, service
  using All = std::map<Key, Said>;

  [[nodiscard]] const ProfilingWord* Find(const std::string& tenant, std::string_view service) const
      REQUIRES(mutex_);
  // Of one key, without those that are wider.
  [[nodiscard]] const ProfilingWord* FindOwn(const std::string& tenant,
                                             std::string_view service) const REQUIRES(mutex_);
  Result<> Save(const All& all) const;
  void UpdateSaysOff() REQUIRES(mutex_);

  const std::string path_;
  Counter& dropped_profiles_;
  Counter& dropped_samples_;
  std::atomic<bool> says_off_{false};  // somebody says that something is off
  std::atomic<bool> pressure_{false};
  mutable Mutex mutex_;
  std::optional<ProfilingSettings> file_ GUARDED_BY(mutex_);
  All words_ GUARDED_BY(mutex_);
  std::map<std::string, std::uint64_t, std::less<>> dropped_ GUARDED_BY(mutex_);  // by service
};

// The block as YAML: the file's settings with what the API says on top. `pressure`: half of the
// CPU rate, where `adaptive` is on.
[[nodiscard]] std::string ProfilingBlock(const ProfilingSettings& file, const ProfilingWord* word,
                                         bool pressure);

// {"sample_rate": 100, "types": ["cpu"], "for": "10m"}; empty: {}. Errors name the key.
struct ProfilingRequest {
  ProfilingWord word;
  std::int64_t for_ns = 0;  // 0: not said
};
[[nodiscard]] Result<ProfilingRequest> ReadProfilingRequest(std::string_view body);

}  // namespace wherefore::gateway
