#include "gateway/profiling/reduce.h"

#include <algorithm>

#include "formats/link_labels.h"
#include "gateway/profiling/sample_sums.h"
#include "profile/observations.h"
#include "profile/reduced.h"
#include "profile/unused.h"

namespace wherefore::gateway {
namespace {

using profile::Batch;
using profile::Id;

// Which entries of the attribute table tie samples to spans.
std::vector<bool> LinkLabels(const Batch& batch) {
  std::vector<bool> found(batch.attributes.size());
  for (std::size_t i = 1; i < found.size(); ++i) {
    found[i] = formats::IsLinkLabel(batch.Text(batch.attributes[i].key));
  }
  return found;
}

class Reduction {
 public:
  Reduction(const Batch& batch, const std::vector<bool>& keeps)
      : batch_(batch), keeps_(keeps), labels_(LinkLabels(batch)), goes_(batch.samples.size()) {}

  // Marks what goes of a profile; false: nothing.
  bool Mark(const profile::Profile& p) {
    bool any = false;
    for (std::size_t i = p.first_sample; i < p.first_sample + p.sample_count; ++i) {
      const Id link = batch_.samples.link[i];
      goes_[i] = link == 0 || !keeps_[link];
      any |= goes_[i] && HasDetail(i);
    }
    return any;
  }
  [[nodiscard]] bool Goes(std::size_t sample) const { return goes_[sample]; }
  [[nodiscard]] std::vector<Id> Rest(profile::Range attributes) const {
    std::vector<Id> rest;
    for (const Id id : batch_.AttributeRefs(attributes)) {
      if (id >= labels_.size() || !labels_[id]) rest.push_back(id);
    }
    return rest;
  }

 private:
  [[nodiscard]] bool HasDetail(std::size_t i) const {
    if (batch_.samples.link[i] != 0 || batch_.samples.times[i].count > 0) return true;
    return std::ranges::any_of(batch_.AttributeRefs(batch_.samples.attributes[i]),
                               [this](Id id) { return labels_[id]; });
  }

  const Batch& batch_;
  const std::vector<bool>& keeps_;
  const std::vector<bool> labels_;
  std::vector<bool> goes_;
};

}  // namespace

bool ReduceDetail(Batch& batch, const std::vector<bool>& keeps, std::string_view why) {
  Reduction reduction(batch, keeps);
  std::vector<bool> reduced(batch.profiles.size());
  for (std::size_t p = 0; p < reduced.size(); ++p) reduced[p] = reduction.Mark(batch.profiles[p]);
  if (std::ranges::find(reduced, true) == reduced.end()) return false;
  const profile::Samples old = batch.samples;
  SampleSums sums(batch);
  for (std::size_t p = 0; p < reduced.size(); ++p) {
    profile::Profile& profile = batch.profiles[p];
    const std::size_t first = profile.first_sample;
    sums.BeginProfile(profile);
    for (std::size_t i = first; i < first + profile.sample_count; ++i) {
      if (reduced[p] && reduction.Goes(i)) {
        sums.Add(i, old.stack[i], reduction.Rest(old.attributes[i]));
      } else {
        sums.Keep(i);
      }
    }
    sums.EndProfile();
  }
  sums.Finish();
  for (std::size_t p = 0; p < reduced.size(); ++p) {
    if (!reduced[p]) continue;
    profile::Profile& profile = batch.profiles[p];
    SetProfileAttribute(batch, profile, profile::kReducedKey, why);
    profile.payload = {};  // the original file has everything
    profile.payload_format = 0;
  }
  profile::RemoveUnused(batch);
  return true;
}

}  // namespace wherefore::gateway
