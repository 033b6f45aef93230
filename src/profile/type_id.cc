#include "profile/type_id.h"

#include <array>

#include <fmt/format.h>

#include "base/hash.h"
#include "profile/observations.h"

namespace wherefore::profile {
namespace {

// The types of Go and similar runtimes, and of JFR ("alloc_in_new_tlab_bytes", "malloc_objects",
// "live").
bool IsHeap(std::string_view sample_type) {
  return sample_type.starts_with("alloc_") || sample_type == "inuse_objects" ||
         sample_type == "inuse_space" || sample_type.starts_with("malloc_") ||
         sample_type == "live";
}

// OTLP and pprof have no such name; these are the names Pyroscope's senders use.
std::string DeriveName(const ProfileType& t) {
  if (IsHeap(t.sample_type)) return "memory";
  if (t.sample_type == "cpu" && t.sample_unit == "nanoseconds" && t.period_type != "wall") {
    return "process_cpu";
  }
  if (t.sample_type == "samples" && t.period_type == "cpu") return "process_cpu";
  if (t.sample_type == "contentions" || t.sample_type == "delay") {
    return t.period_type == "block" ? "block" : "mutex";
  }
  if (t.sample_type == "goroutine" || t.sample_type == "goroutines") return "goroutines";
  if (t.sample_type == "wall" || t.sample_type == "off_cpu" || t.sample_type == "threads") {
    return t.sample_type;
  }
  if (!t.period_type.empty()) return t.period_type;
  return t.sample_type.empty() ? "profile" : t.sample_type;
}

// The cheapest rule that gives every sample's number of observations exactly.
CountRule ChooseRule(const Batch& batch, const Profile& profile, const ProfileType& t) {
  const bool counts = t.sample_type == "samples" && t.sample_unit == "count";
  const bool periods =
      t.sample_type == t.period_type && t.sample_unit == t.period_unit && t.period > 0;
  if (!counts && !periods) return CountRule::kStored;
  const std::int64_t divisor = counts ? 1 : t.period;
  for (std::size_t i = 0; i < profile.sample_count; ++i) {
    const std::size_t sample = profile.first_sample + i;
    const std::int64_t value = batch.samples.value[sample];
    if (value < 0 || value % divisor != 0) return CountRule::kStored;
    if (Observations(batch, profile, sample) != value / divisor) return CountRule::kStored;
  }
  return counts ? CountRule::kValue : CountRule::kValuePerPeriod;
}

struct ShortForm {
  std::string_view name;
  std::string_view profile_name;  // empty: any
  std::string_view sample_type;
};

// A short name stands for every type with this sample type (and name, where two kinds share one).
constexpr std::array kShortForms = {
    ShortForm{"cpu", "", "cpu"},
    ShortForm{"wall", "", "wall"},
    ShortForm{"off_cpu", "", "off_cpu"},
    ShortForm{"alloc_space", "", "alloc_space"},
    ShortForm{"alloc_objects", "", "alloc_objects"},
    ShortForm{"inuse_space", "", "inuse_space"},
    ShortForm{"inuse_objects", "", "inuse_objects"},
    ShortForm{"mutex", "mutex", "delay"},
    ShortForm{"mutex_count", "mutex", "contentions"},
    ShortForm{"block", "block", "delay"},
    ShortForm{"block_count", "block", "contentions"},
    ShortForm{"threads", "", "threads"},
    ShortForm{"threads", "", "goroutine"},
    ShortForm{"threads", "", "goroutines"},
    ShortForm{"samples", "", "samples"},
};

bool Fits(const ShortForm& form, const ProfileType& type) {
  return type.sample_type == form.sample_type &&
         (form.profile_name.empty() || type.name == form.profile_name);
}

}  // namespace

std::string ProfileType::Id() const {
  return fmt::format("{}:{}:{}:{}:{}", name, sample_type, sample_unit, period_type, period_unit);
}

std::uint64_t ProfileType::Hash() const {
  return Hash64(fmt::format("{}\n{}\n{}\n{}", Id(), period, static_cast<int>(count_rule),
                            stands_for_cpu ? 1 : 0));
}

namespace {

// The type as the profile states it.
ProfileType DeclaredType(const Batch& batch, const Profile& profile) {
  ProfileType t;
  t.sample_type = batch.Text(profile.sample_type.type);
  t.sample_unit = batch.Text(profile.sample_type.unit);
  t.period_type = batch.Text(profile.period_type.type);
  t.period_unit = batch.Text(profile.period_type.unit);
  t.period = profile.period;
  return t;
}

}  // namespace

std::string_view OwnName(const Batch& batch, const Profile& profile) {
  const std::string_view name = batch.Text(profile.name);
  return name == DeriveName(DeclaredType(batch, profile)) ? std::string_view() : name;
}

ProfileType TypeOf(const Batch& batch, const Profile& profile) {
  ProfileType t = DeclaredType(batch, profile);
  t.name = profile.name != 0 ? std::string(batch.Text(profile.name)) : DeriveName(t);
  t.count_rule = ChooseRule(batch, profile, t);
  t.stands_for_cpu = !profile.has_cpu_sibling && t.sample_type == "samples" &&
                     t.sample_unit == "count" && t.period_type == "cpu" &&
                     t.period_unit == "nanoseconds" && t.period > 0;
  return t;
}

namespace {
constexpr std::string_view kCpuId = "process_cpu:cpu:nanoseconds:cpu:nanoseconds";
}  // namespace

std::vector<std::string> IdsOf(const ProfileType& type) {
  std::vector<std::string> ids = {type.Id()};
  if (type.stands_for_cpu) ids.emplace_back(kCpuId);
  return ids;
}

std::optional<TypeMatch> MatchType(const ProfileType& type, std::string_view wanted) {
  TypeMatch as_is{.multiplier = 1, .unit = type.sample_unit};
  if (wanted.find(':') != std::string_view::npos) {
    if (type.Id() == wanted) return as_is;
    // Pyroscope clients ask for the CPU id even when the sender had only counts.
    if (type.stands_for_cpu && wanted == kCpuId) {
      return TypeMatch{.multiplier = type.period, .unit = "nanoseconds"};
    }
    return std::nullopt;
  }
  if (wanted == "cpu" && type.stands_for_cpu) {
    return TypeMatch{.multiplier = type.period, .unit = "nanoseconds"};
  }
  bool known = false;
  for (const ShortForm& form : kShortForms) {
    if (form.name != wanted) continue;
    known = true;
    if (Fits(form, type)) return as_is;
  }
  if (!known && type.sample_type == wanted) return as_is;
  return std::nullopt;
}

std::string ShortName(const ProfileType& type) {
  for (const ShortForm& form : kShortForms) {
    if (Fits(form, type)) return std::string(form.name);
  }
  return type.Id();
}

const std::vector<std::string_view>& ShortNames() {
  static const std::vector<std::string_view> kNames = [] {
    std::vector<std::string_view> names;
    for (const ShortForm& form : kShortForms) {
      if (names.empty() || names.back() != form.name) names.push_back(form.name);
    }
    return names;
  }();
  return kNames;
}

bool IsByLooks(const ProfileType& type) {
  return (type.sample_type == "off_cpu" || type.sample_type == "wall") &&
         type.sample_unit == "nanoseconds";
}

bool IsSnapshot(const ProfileType& type) {
  return type.sample_type.starts_with("inuse_") || type.sample_type == "goroutine" ||
         type.sample_type == "goroutines" || type.sample_type == "goroutineleak" ||
         type.sample_type == "threads" || type.sample_type == "threadcreate" ||
         type.sample_type == "live";
}

}  // namespace wherefore::profile
