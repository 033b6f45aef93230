// Profile types: the five-part id that is stored, the short names people use, and how counts are
// converted to CPU time.
//
// A five-part id is name:sample_type:sample_unit:period_type:period_unit, as Pyroscope writes it
// ("process_cpu:cpu:nanoseconds:cpu:nanoseconds"). A short name ("cpu") stands for a set of ids.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profile/batch.h"

namespace wherefore::profile {

// How the number of observations follows from a sample's value. It is stored only where it does not
// follow.
enum class CountRule : std::uint8_t {
  kStored = 0,          // as sent (one per timestamp), or 1
  kValue = 1,           // the value is a count of samples
  kValuePerPeriod = 2,  // value / period
};

// The properties that all samples of a profile share and that decide how to read their values.
struct ProfileType {
  std::string name;
  std::string sample_type;
  std::string sample_unit;
  std::string period_type;
  std::string period_unit;
  std::int64_t period = 0;
  CountRule count_rule = CountRule::kStored;
  // Counts with a CPU period whose sender does not also send cpu/nanoseconds: `cpu` shows value x
  // period.
  bool stands_for_cpu = false;

  [[nodiscard]] std::string Id() const;  // the five parts
  // A stable 64-bit hash of all fields, used as the `type` column.
  [[nodiscard]] std::uint64_t Hash() const;
  bool operator==(const ProfileType&) const = default;
};

// The type of a decoded profile. Derives the name if the sender's format has none.
[[nodiscard]] ProfileType TypeOf(const Batch& batch, const Profile& profile);

// OTLP profile attribute with the first part of the id, where it does not follow from the rest.
inline constexpr std::string_view kProfileNameKey = "wherefore.profile.name";
// The first part of the id where it does not follow from the other four; else empty.
[[nodiscard]] std::string_view OwnName(const Batch& batch, const Profile& profile);

// How a stored type answers a query.
struct TypeMatch {
  std::int64_t multiplier = 1;  // to apply to stored values
  std::string unit;             // of the result
};
// Whether `type` answers a query for `wanted` (short name, five-part id, or "sample_type" alone).
// Counts that stand for CPU time answer "cpu", with their period as multiplier.
[[nodiscard]] std::optional<TypeMatch> MatchType(const ProfileType& type, std::string_view wanted);

// The five-part ids a type answers to: its own, and the CPU id if it stands for CPU time.
[[nodiscard]] std::vector<std::string> IdsOf(const ProfileType& type);

// The short name of a type for people ("cpu", "inuse_space"), or its five-part id.
[[nodiscard]] std::string ShortName(const ProfileType& type);
[[nodiscard]] const std::vector<std::string_view>& ShortNames();

// Waiting time measured by looks: each look at a thread stands for the time until the next. Over
// many requests they add up to the time waited; for one request they may add up to more than it
// took.
[[nodiscard]] bool IsByLooks(const ProfileType& type);

// Snapshots (in use, goroutines, threads) are averaged over time, everything else is added up.
[[nodiscard]] bool IsSnapshot(const ProfileType& type);

}  // namespace wherefore::profile
