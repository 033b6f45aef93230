// Encoder, part 1: content hashes of a request's tables, each computed once.
#include "store/encode_rows.h"

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

void Encoder::ResetMemo(const Batch& batch) {
  text_hashes_.assign(batch.strings.size(), {});
  function_hashes_.assign(batch.functions.size(), {});
  mapping_hashes_.assign(batch.mappings.size(), {});
  frame_hashes_.assign(batch.frames.size(), {});
  stack_hashes_.assign(batch.stacks.size(), {});
  frame_attribute_hashes_.assign(batch.attributes.size(), {});
  mapping_attribute_hashes_.assign(batch.attributes.size(), {});
}

const Hash128& Encoder::TextHash(const Batch& batch, Id text) {
  Hash128& hash = text_hashes_[text];
  if (hash == kUnknown) hash = HashString(batch.Text(text));
  return hash;
}

const Hash128& Encoder::FunctionHash(const Batch& batch, Id function) {
  Hash128& hash = function_hashes_[function];
  if (function != 0 && hash == kUnknown) {
    const profile::Function& f = batch.functions[function];
    hash = HashOf(FunctionContent{TextHash(batch, f.name), TextHash(batch, f.system_name),
                                  TextHash(batch, f.filename), f.start_line});
  }
  return hash;
}

const Hash128& Encoder::MappingHash(const Batch& batch, Id mapping) {
  Hash128& hash = mapping_hashes_[mapping];
  if (mapping != 0 && hash == kUnknown) {
    const profile::Mapping& m = batch.mappings[mapping];
    hash = HashOf(MappingContent{m.start, m.limit, m.file_offset, TextHash(batch, m.filename),
                                 AttributesHash(batch, m.attributes, AttributePlace::kMapping)});
  }
  return hash;
}

const Hash128& Encoder::FrameHash(const Batch& batch, Id frame) {
  Hash128& hash = frame_hashes_[frame];
  if (frame != 0 && hash == kUnknown) {
    const profile::Frame& f = batch.frames[frame];
    line_scratch_.clear();
    for (const profile::Line& line : batch.FrameLines(f)) {
      line_scratch_.push_back(
          {FunctionHash(batch, line.function), Clamp32(line.line), Clamp32(line.column)});
    }
    hash = HashOf(FrameHead{MappingHash(batch, f.mapping),
                            AttributesHash(batch, f.attributes, AttributePlace::kFrame), f.address},
                  line_scratch_, byte_scratch_);
  }
  return hash;
}

const Hash128& Encoder::StackHash(const Batch& batch, Id stack) {
  Hash128& hash = stack_hashes_[stack];
  if (stack != 0 && hash == kUnknown) {
    const auto frames = batch.StackFrames(stack);
    std::vector<Hash128>& hashes = hash_scratch_;
    hashes.clear();
    for (const Id frame : frames) {
      const Hash128 one = FrameHash(batch, frame);
      hashes.push_back(one);
    }
    hash = HashOfStack(hashes);
  }
  return hash;
}

Hash128 Encoder::AttributesHash(const Batch& batch, profile::Range range, AttributePlace place) {
  if (range.count == 0) return {};
  auto& memo =
      place == AttributePlace::kFrame ? frame_attribute_hashes_ : mapping_attribute_hashes_;
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
