// See content_hash.h: the hashes of a request's tables, each computed once.
#include "store/content_hash.h"

#include "profile/typed_attributes.h"

namespace wherefore::store {

using profile::AttributePlace;
using profile::Batch;
using profile::Id;

namespace {
constexpr Hash128 kUnknown{};

// Lines and columns are stored as 32 bits; what does not fit is not a line number.
std::uint64_t Clamp32(std::int64_t value) {
  return value < 0 || value > UINT32_MAX ? 0 : static_cast<std::uint64_t>(value);
}
}  // namespace

void ContentHashes::Compute(const Batch& batch) {
  texts_.assign(batch.strings.size(), {});
  functions_.assign(batch.functions.size(), {});
  mappings_.assign(batch.mappings.size(), {});
  frames_.assign(batch.frames.size(), {});
  stacks_.assign(batch.stacks.size(), {});
  frame_attributes_.assign(batch.attributes.size(), {});
  mapping_attributes_.assign(batch.attributes.size(), {});
  for (const Id stack : batch.samples.stack) Stack(batch, stack);
  texts_ = {};  // never asked for again
}

const Hash128& ContentHashes::Text(const Batch& batch, Id text) {
  Hash128& hash = texts_[text];
  if (hash == kUnknown) hash = HashString(batch.Text(text));
  return hash;
}

const Hash128& ContentHashes::Function(const Batch& batch, Id function) {
  Hash128& hash = functions_[function];
  if (function != 0 && hash == kUnknown) {
    const profile::Function& f = batch.functions[function];
    hash = HashOf(FunctionContent{Text(batch, f.name), Text(batch, f.system_name),
                                  Text(batch, f.filename), f.start_line});
  }
  return hash;
}

const Hash128& ContentHashes::Mapping(const Batch& batch, Id mapping) {
  Hash128& hash = mappings_[mapping];
  if (mapping != 0 && hash == kUnknown) {
    const profile::Mapping& m = batch.mappings[mapping];
    hash = HashOf(MappingContent{m.start, m.limit, m.file_offset, Text(batch, m.filename),
                                 Attributes(batch, m.attributes, AttributePlace::kMapping)});
  }
  return hash;
}

const Hash128& ContentHashes::Frame(const Batch& batch, Id frame) {
  Hash128& hash = frames_[frame];
  if (frame != 0 && hash == kUnknown) {
    const profile::Frame& f = batch.frames[frame];
    line_scratch_.clear();
    for (const profile::Line& line : batch.FrameLines(f)) {
      line_scratch_.push_back(
          {Function(batch, line.function), Clamp32(line.line), Clamp32(line.column)});
    }
    hash = HashOf(FrameHead{Mapping(batch, f.mapping),
                            Attributes(batch, f.attributes, AttributePlace::kFrame), f.address},
                  line_scratch_, byte_scratch_);
  }
  return hash;
}

const Hash128& ContentHashes::Stack(const Batch& batch, Id stack) {
  Hash128& hash = stacks_[stack];
  if (stack != 0 && hash == kUnknown) {
    const auto frames = batch.StackFrames(stack);
    std::vector<Hash128>& hashes = hash_scratch_;
    hashes.clear();
    for (const Id frame : frames) {
      const Hash128 one = Frame(batch, frame);
      hashes.push_back(one);
    }
    hash = HashOfStack(hashes);
  }
  return hash;
}

Hash128 ContentHashes::Attributes(const Batch& batch, profile::Range range, AttributePlace place) {
  if (range.count == 0) return {};
  auto& memo = place == AttributePlace::kFrame ? frame_attributes_ : mapping_attributes_;
  std::vector<Hash128> hashes;
  std::string one;
  for (const Id id : batch.AttributeRefs(range)) {
    if (memo[id] == kUnknown) {
      one.clear();
      profile::AppendTyped(one, place, batch, batch.attributes[id]);
      memo[id] = HashString(one);
    }
    hashes.push_back(memo[id]);
  }
  return HashOfAttributes(hashes);
}

}  // namespace wherefore::store
