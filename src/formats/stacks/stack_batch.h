// StackBatch: builds a Batch from stacks of bare names (folded lines, tries, trees, speedscope
// files). Equal names share a frame. One thread; Finish() gives the Batch away.
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
  // The same for a name outside `bytes`: copied, and not shared.
  [[nodiscard]] profile::Id OwnFrame(std::string_view name);
  // Frames leaf first. Empty: a sample without a stack.
  void Add(std::span<const profile::Id> frames, std::int64_t value);
  // "root;child;leaf"
  void AddFolded(std::string_view names, std::int64_t value);
  // A deep chain with a value at every node is small on the wire and quadratic in memory.
  [[nodiscard]] bool TooLarge() const { return batch_.stack_frames.size() > max_frames_; }
  [[nodiscard]] std::size_t size() const { return batch_.samples.size(); }

  // Makes one profile of everything added since the last call. Values are multiplied by
  // context.multiplier: kCorrupt if one overflows 64 bits. A title becomes the label
  // "profile_name".
  [[nodiscard]] Result<> EndProfile(const StacksContext& context, std::string_view title = "");
  // Calls EndProfile and returns the Batch, with the context's service and labels.
  [[nodiscard]] Result<DecodedProfiles> Finish(const StacksContext& context);
  [[nodiscard]] DecodedProfiles Take(const StacksContext& context);

 private:
  profile::Id AddFrame(profile::Id name);

  profile::Batch batch_;
  std::unordered_map<std::string_view, profile::Id> frames_;
  std::vector<profile::Id> scratch_;
  std::size_t first_sample_ = 0;  // of the current profile
  std::size_t max_frames_;
};

// Adds the resource with its service and labels as element 1 of the batch, and an unnamed scope.
void AddOrigin(profile::Batch& batch, std::string_view service, const TextLabels& labels);

}  // namespace wherefore::formats
