#include "gateway/profiling/sample_sums.h"

#include <algorithm>
#include <utility>

#include "profile/observations.h"

namespace wherefore::gateway {
namespace {

using profile::Batch;
using profile::Id;
using profile::Range;

// Observations follow from times, among others, so they are noted before those go.
profile::Samples WithCounts(Batch& batch) {
  if (batch.samples.count.empty()) {
    std::vector<std::uint32_t> counts(batch.samples.size());
    for (const profile::Profile& p : batch.profiles) {
      for (std::size_t i = p.first_sample; i < p.first_sample + p.sample_count; ++i) {
        counts[i] = static_cast<std::uint32_t>(
            std::clamp<std::int64_t>(profile::Observations(batch, p, i), 0, UINT32_MAX));
      }
    }
    batch.samples.count = std::move(counts);
  }
  return std::move(batch.samples);
}

Range AddRefs(Batch& batch, std::span<const Id> ids) {
  if (ids.empty()) return {};
  const Range range{static_cast<std::uint32_t>(batch.attribute_refs.size()),
                    static_cast<std::uint32_t>(ids.size())};
  batch.attribute_refs.insert(batch.attribute_refs.end(), ids.begin(), ids.end());
  return range;
}

}  // namespace

SampleSums::SampleSums(Batch& batch) : batch_(batch), old_(WithCounts(batch)) {}

void SampleSums::BeginProfile(profile::Profile& profile) {
  profile_ = &profile;
  profile.first_sample = static_cast<std::uint32_t>(samples_.size());
  sums_.clear();
}

void SampleSums::Keep(std::size_t i) {
  samples_.Append(old_.stack[i], old_.attributes[i], old_.link[i], old_.value[i], old_.times[i],
                  old_.values[i]);
  samples_.count.push_back(old_.count[i]);
}

void SampleSums::Add(std::size_t i, Id stack, std::span<const Id> attributes) {
  const Hash128 key = HashSpan(attributes, stack);
  const auto [known, fresh] = sums_.try_emplace(key, samples_.size());
  if (!fresh) {
    std::int64_t value = 0;
    std::uint32_t count = 0;
    const std::size_t sum = known->second;
    if (!__builtin_add_overflow(samples_.value[sum], old_.value[i], &value) &&
        !__builtin_add_overflow(samples_.count[sum], old_.count[i], &count)) {
      samples_.value[sum] = value;
      samples_.count[sum] = count;
      return;
    }
    known->second = samples_.size();
  }
  const bool same = std::ranges::equal(attributes, batch_.AttributeRefs(old_.attributes[i]));
  // `attributes` may be part of the pool that grows here.
  const std::vector<Id> ids(attributes.begin(), attributes.end());
  samples_.Append(stack, same ? old_.attributes[i] : AddRefs(batch_, ids), 0, old_.value[i], {},
                  {});
  samples_.count.push_back(old_.count[i]);
}

void SampleSums::EndProfile() {
  profile_->sample_count = static_cast<std::uint32_t>(samples_.size()) - profile_->first_sample;
  // Sums have neither times nor values as they were sent.
  for (std::size_t i = profile_->first_sample; i < samples_.size(); ++i) {
    if (samples_.times[i].count > 0 || samples_.values[i].count > 0) continue;
    samples_.values[i] = {static_cast<std::uint32_t>(batch_.values.size()), 1};
    batch_.values.push_back(samples_.value[i]);
  }
}

void SampleSums::Finish() {
  batch_.samples = std::move(samples_);
  const auto is_old = [this](Id id) {
    return batch_.Text(batch_.attributes[id].key) == profile::kObservationsKey;
  };
  for (profile::Profile& p : batch_.profiles) {
    const auto refs = batch_.AttributeRefs(p.attributes);
    if (std::ranges::none_of(refs, is_old)) continue;
    std::vector<Id> others(refs.begin(), refs.end());
    std::erase_if(others, is_old);
    p.attributes = AddRefs(batch_, others);
  }
}

void SetProfileAttribute(Batch& batch, profile::Profile& profile, std::string_view key,
                         std::string_view value) {
  std::vector<Id> refs;
  for (const Id id : batch.AttributeRefs(profile.attributes)) {
    if (batch.Text(batch.attributes[id].key) != key) refs.push_back(id);
  }
  // Profiles of one request get the same one.
  const auto says = [&](const profile::Attribute& a) {
    return a.value.kind == profile::Value::Kind::kString && batch.Text(a.key) == key &&
           batch.Text(a.value.text) == value;
  };
  if (!says(batch.attributes.back())) {
    batch.attributes.push_back(
        {.key = batch.AddText(key),
         .value = {.kind = profile::Value::Kind::kString, .text = batch.AddText(value)}});
  }
  refs.push_back(static_cast<Id>(batch.attributes.size() - 1));
  profile.attributes = AddRefs(batch, refs);
}

}  // namespace wherefore::gateway
