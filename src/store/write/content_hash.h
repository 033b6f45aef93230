// What makes two functions, mappings, frames, stacks or label sets the same: hashes of their
// content.
//
// No hash is stored; after a restart they are computed again from the rows. So both sides, the
// encoder (from a Batch) and the loader (from rows), must come here. Changing a rule needs no
// migration: a dictionary then merely repeats some entries.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "profile/batch.h"
#include "profile/typed_attributes.h"
#include "store/write/label_set.h"

namespace wherefore::store {

struct FunctionContent {
  Hash128 name;
  Hash128 system_name;
  Hash128 file;
  std::int64_t start_line = 0;
};
inline Hash128 HashOf(const FunctionContent& function) {
  HashMixer mixer(1);
  mixer.Add(function.name);
  mixer.Add(function.system_name);
  mixer.Add(function.file);
  mixer.Add(static_cast<std::uint64_t>(function.start_line), 0);
  return mixer.Finish();
}

struct MappingContent {
  std::uint64_t start = 0;
  std::uint64_t limit = 0;
  std::uint64_t file_offset = 0;
  Hash128 file;
  Hash128 attributes;
};
inline Hash128 HashOf(const MappingContent& mapping) {
  HashMixer mixer(2);
  mixer.Add(mapping.start, mapping.limit);
  mixer.Add(mapping.file_offset, 0);
  mixer.Add(mapping.file);
  mixer.Add(mapping.attributes);
  return mixer.Finish();
}

// A frame: this head, then its lines, innermost first.
struct FrameHead {
  Hash128 mapping;
  Hash128 attributes;
  std::uint64_t address = 0;
  std::uint64_t lines = 0;  // how many
};
struct LineContent {
  Hash128 function;
  std::uint64_t line = 0;
  std::uint64_t column = 0;
};
class FrameHasher {
 public:
  explicit FrameHasher(const FrameHead& head) : mixer_(3) {
    mixer_.Add(head.mapping);
    mixer_.Add(head.attributes);
    mixer_.Add(head.address, head.lines);
  }
  void Add(const LineContent& line) {
    mixer_.Add(line.function);
    mixer_.Add(line.line, line.column);
  }
  [[nodiscard]] Hash128 Finish() const { return mixer_.Finish(); }

 private:
  HashMixer mixer_;
};

// Frames, leaf first.
class StackHasher {
 public:
  explicit StackHasher(std::size_t frames) : mixer_(4) { mixer_.Add(frames, 0); }
  void Add(const Hash128& frame) { mixer_.Add(frame); }
  [[nodiscard]] Hash128 Finish() const { return mixer_.Finish(); }

 private:
  HashMixer mixer_;
};

// Attributes in their order: each is hashed in its typed form, then the hashes together.
inline Hash128 HashOfAttributes(std::span<const Hash128> attributes) {
  return attributes.empty() ? Hash128{} : HashSpan(attributes, 5);
}

// A label set by its typed form; sets that extend another one differ by the parent's id.
inline Hash128 HashOfSeries(std::string_view encoded, std::uint32_t parent) {
  return HashString(encoded, 6 + parent);
}

// The hashes and label sets of everything a request's samples refer to.
//
// Computed on the thread that decoded the request, where its tables are still in the cache, so that
// the writer thread only looks ids up. That is also where limits are looked at (profile/limits.h):
// what one request costs there costs nobody else. Belongs to one thread at a time; `batch` is
// always the one it was computed from.
class ContentHashes {
 public:
  void Compute(const profile::Batch& batch);

  // Over a limit and not to be stored; the other functions may not be called for it.
  [[nodiscard]] bool Refused(std::size_t profile) const { return refused_[profile]; }
  // Why the first such profile is refused.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] const LabelSets& labels() const { return labels_; }

  const Hash128& Function(const profile::Batch& batch, profile::Id function);
  const Hash128& Mapping(const profile::Batch& batch, profile::Id mapping);
  const Hash128& Frame(const profile::Batch& batch, profile::Id frame);
  const Hash128& Stack(const profile::Batch& batch, profile::Id stack);

 private:
  std::string AddProfile(const profile::Batch& batch, std::size_t profile);
  [[nodiscard]] bool TooLarge() const { return row_bytes_ + labels_.ByteSize() > most_row_bytes_; }
  const Hash128& Text(const profile::Batch& batch, profile::Id text);
  Hash128 Attributes(const profile::Batch& batch, profile::Range range,
                     profile::AttributePlace place);

  // All-zero: not computed yet.
  std::vector<Hash128> texts_;
  std::vector<Hash128> functions_;
  std::vector<Hash128> mappings_;
  std::vector<Hash128> frames_;
  std::vector<Hash128> stacks_;
  std::vector<Hash128> frame_attributes_;
  std::vector<Hash128> mapping_attributes_;

  LabelSets labels_;
  std::vector<bool> refused_;
  std::string problem_;
  std::size_t row_bytes_ = 0;  // what the names seen so far take in the store
  std::size_t most_row_bytes_ = 0;
};

}  // namespace wherefore::store
