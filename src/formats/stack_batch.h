// StackBatch: a Batch made of stacks that are nothing but names (folded lines, tries, trees,
// speedscope files). Equal names share a frame. Used on one thread, then given away by Finish().
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>

#include "formats/formats.h"

namespace wherefore::formats {

class StackBatch {
 public:
  // `bytes` holds every name that will be added; the Batch keeps it.
  explicit StackBatch(std::shared_ptr<const std::string> bytes);

  [[nodiscard]] profile::Id Frame(std::string_view name);
  // The same for a name that is elsewhere: copied, and not shared.
  [[nodiscard]] profile::Id OwnFrame(std::string_view name);
  // Frames leaf first. Empty: a sample without a stack.
  void Add(std::span<const profile::Id> frames, std::int64_t value);
  // "root;child;leaf"
  void AddFolded(std::string_view names, std::int64_t value);
  // A deep chain with a value at every node is small to send and quadratic to write out.
  [[nodiscard]] bool TooLarge() const { return batch_.stack_frames.size() > max_frames_; }
  [[nodiscard]] std::size_t size() const { return batch_.samples.size(); }

  // Everything added since the last call is one profile. Values are multiplied by
  // context.multiplier: kCorrupt when one does not fit 64 bits. A title becomes the label
  // "profile_name".
  [[nodiscard]] Result<> EndProfile(const StacksContext& context, std::string_view title = "");
  // EndProfile and the Batch, with the context's service and labels.
  [[nodiscard]] Result<DecodedProfiles> Finish(const StacksContext& context);
  [[nodiscard]] DecodedProfiles Take(const StacksContext& context);

 private:
  profile::Id AddFrame(profile::Id name);

  profile::Batch batch_;
  std::unordered_map<std::string_view, profile::Id> frames_;
  std::vector<profile::Id> scratch_;
  std::size_t first_sample_ = 0;  // of the profile being added
  std::size_t max_frames_;
};

// The resource with its service and labels, as element 1 of the batch; a scope without a name too.
void AddOrigin(profile::Batch& batch, std::string_view service, const TextLabels& labels);

}  // namespace wherefore::formats
