#include "profile/observations.h"

#include <algorithm>

namespace wherefore::profile {

namespace {

bool CountsSamples(const Batch& batch, const Profile& profile) {
  const ValueType& type = profile.sample_type;
  return batch.Text(type.type) == "samples" && batch.Text(type.unit) == "count";
}

bool CountsPeriods(const Batch& batch, const Profile& profile) {
  const ValueType& type = profile.sample_type;
  return profile.period > 0 && batch.Text(type.type) == batch.Text(profile.period_type.type) &&
         batch.Text(type.unit) == batch.Text(profile.period_type.unit);
}

}  // namespace

std::int64_t Observations(const Batch& batch, const Profile& profile, std::size_t sample) {
  if (!batch.samples.count.empty()) return batch.samples.count[sample];
  return ImpliedObservations(batch, profile, sample);
}

std::int64_t ImpliedObservations(const Batch& batch, const Profile& profile, std::size_t sample) {
  if (batch.samples.times[sample].count > 0) return batch.samples.times[sample].count;
  const std::int64_t value = std::max<std::int64_t>(batch.samples.value[sample], 0);
  if (CountsSamples(batch, profile)) return value;
  if (CountsPeriods(batch, profile))
    return value == 0 ? 0 : std::max<std::int64_t>(value / profile.period, 1);
  return 1;
}

bool ObservationsKnown(const Batch& batch, const Profile& profile) {
  return !profile.summed || CountsSamples(batch, profile) || CountsPeriods(batch, profile);
}

std::string PackedObservations(const Batch& batch, const Profile& profile) {
  if (batch.samples.count.empty()) return {};
  const std::span counts =
      std::span(batch.samples.count).subspan(profile.first_sample, profile.sample_count);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (ImpliedObservations(batch, profile, profile.first_sample + i) != counts[i])
      return PackObservations(counts);
  }
  return {};
}

std::string PackObservations(std::span<const std::uint32_t> counts) {
  std::string packed;
  packed.reserve(counts.size());
  for (std::uint32_t count : counts) {
    for (; count >= 0x80; count >>= 7) packed += static_cast<char>((count & 0x7f) | 0x80);
    packed += static_cast<char>(count);
  }
  return packed;
}

bool UnpackObservations(std::string_view packed, std::size_t samples,
                        std::vector<std::uint32_t>& counts) {
  counts.clear();
  if (packed.size() < samples) return false;
  counts.reserve(samples);
  std::uint64_t number = 0;
  unsigned shift = 0;
  for (const char c : packed) {
    const auto byte = static_cast<std::uint8_t>(c);
    number |= std::uint64_t{byte & 0x7fU} << shift;
    if (number > UINT32_MAX || shift > 28 || counts.size() == samples) return false;
    shift += 7;
    if ((byte & 0x80U) != 0) continue;
    counts.push_back(static_cast<std::uint32_t>(number));
    number = 0;
    shift = 0;
  }
  return shift == 0 && counts.size() == samples;
}

}  // namespace wherefore::profile
