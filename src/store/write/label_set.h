// The labels of a profile or of a sample, in the form the dictionary knows them by.
//
// Built on the thread that decoded the request, so that the writer thread only looks ids up: the
// work is linear in what was sent, and what goes over a limit (profile/limits.h) is not built at
// all. Keys are views into the request's Batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "profile/typed_attributes.h"

namespace wherefore::store {

// Attributes that would make a series of every thread, process or request are not labels.
[[nodiscard]] bool IsLabel(std::string_view key);

class LabelSet {
 public:
  using Labels = std::vector<std::pair<std::string_view, std::string>>;

  // In this order: what is added later is nearer, and wins (sample over profile over resource).
  void Add(profile::AttributePlace place, const profile::TextPool& pool,
           const profile::Attribute& attribute);
  void AddText(profile::AttributePlace place, std::string_view text);
  // Call it after the last Add and before any function below.
  void Finish();

  [[nodiscard]] const Labels& labels() const { return labels_; }  // by name, each once
  // Typed form, in one order, so that the same set sent in another order is the same series.
  [[nodiscard]] const std::string& encoded() const { return encoded_; }
  // Typed form of the attributes that are not labels.
  [[nodiscard]] const std::string& rest() const { return rest_; }
  [[nodiscard]] std::size_t ByteSize() const;

 private:
  Labels labels_;
  std::vector<std::string> entries_;  // until Finish: typed form, one each
  std::string encoded_;
  std::string rest_;
};

// The labels of both sets; where they share a name, that of `nearer` wins.
[[nodiscard]] LabelSet::Labels Merge(const LabelSet::Labels& wider, const LabelSet::Labels& nearer);

// All label sets of a request, each built once.
class LabelSets {
 public:
  void Begin(const profile::Batch& batch, std::size_t most_bytes);
  // The sets of one profile and of its samples; "" or why it cannot be stored.
  [[nodiscard]] std::string Add(const profile::Batch& batch, std::size_t profile);
  // What they will take in the store.
  [[nodiscard]] std::size_t ByteSize() const { return bytes_; }

  // Of profiles and samples that were added. 0: the sample has none.
  [[nodiscard]] const LabelSet& OfProfile(std::size_t profile) const {
    return sets_[of_profiles_[profile]];
  }
  [[nodiscard]] std::uint32_t OfSample(std::size_t sample) const {
    return of_samples_.empty() ? 0 : of_samples_[sample];
  }
  [[nodiscard]] const LabelSet& operator[](std::uint32_t set) const { return sets_[set]; }

 private:
  std::string AddProfile(const profile::Batch& batch, std::size_t profile);
  std::string AddSample(const profile::Batch& batch, std::size_t sample);
  std::uint32_t Keep(LabelSet set);

  std::deque<LabelSet> sets_;               // [0] is empty
  std::vector<std::uint32_t> of_profiles_;  // into sets_
  std::vector<std::uint32_t> of_samples_;
  std::unordered_map<Hash128, std::uint32_t> by_content_;  // attribute references -> set
  std::size_t bytes_ = 0;
  std::size_t most_bytes_ = 0;
};

}  // namespace wherefore::store
