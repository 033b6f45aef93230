// SampleSums: rewrites the samples of a Batch, some as they are and some added up. For whoever
// takes detail out of profiles. One thread.
//
// Always: values and observations of a profile add up to what they were, to the unit. Where a sum
//         would not fit its type, samples stay apart.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "profile/batch.h"

namespace wherefore::gateway {

class SampleSums {
 public:
  explicit SampleSums(profile::Batch& batch);

  // The samples of the profiles are given in their order, each to one of the next two.
  void BeginProfile(profile::Profile& profile);
  void Keep(std::size_t sample);
  // Adds it to the profile's sample with this stack and these attributes, without link and times.
  void Add(std::size_t sample, profile::Id stack, std::span<const profile::Id> attributes);
  void EndProfile();
  // Puts the new samples in place of the old. Observations that senders gave beside their samples
  // fit no more, and are written anew by whoever encodes the batch.
  void Finish();

 private:
  struct HashOfKey {
    std::size_t operator()(const Hash128& h) const { return h.low; }
  };

  profile::Batch& batch_;
  const profile::Samples old_;
  profile::Samples samples_;
  profile::Profile* profile_ = nullptr;
  std::unordered_map<Hash128, std::size_t, HashOfKey> sums_;  // of this profile, in samples_
};

// The profile's attribute `key` is the text `value` from now on.
void SetProfileAttribute(profile::Batch& batch, profile::Profile& profile, std::string_view key,
                         std::string_view value);

}  // namespace wherefore::gateway
