// See content_hash.h: the hashes of a request's tables, each computed once.
#include "store/write/content_hash.h"

#include <fmt/format.h>

#include "profile/limits.h"
#include "profile/typed_attributes.h"

namespace wherefore::store {

using profile::AttributePlace;
using profile::Batch;
using profile::Id;

namespace {
constexpr Hash128 kUnknown{};
constexpr std::size_t kRowBytes = 24;  // of a name's row, whatever is in it

std::size_t TypeBytes(const Batch& batch, const profile::Profile& profile) {
  std::size_t bytes = 0;
  for (const Id text : {profile.name, profile.sample_type.type, profile.sample_type.unit,
                        profile.period_type.type, profile.period_type.unit}) {
    bytes += batch.Text(text).size();
  }
  return bytes;
}

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
  most_row_bytes_ = profile::MaxRowBytes(batch.SourceBytes());
  row_bytes_ = 0;
  labels_.Begin(batch, most_row_bytes_);
  refused_.assign(batch.profiles.size(), false);
  problem_.clear();
  for (std::size_t i = 0; i < batch.profiles.size(); ++i) {
    std::string problem = AddProfile(batch, i);
    if (problem.empty()) continue;
    refused_[i] = true;
    if (problem_.empty()) problem_ = std::move(problem);
  }
  texts_ = {};  // never asked for again
}

std::string ContentHashes::AddProfile(const Batch& batch, std::size_t profile) {
  const profile::Profile& p = batch.profiles[profile];
  if (TypeBytes(batch, p) > profile::kMaxTypeBytes) {
    return fmt::format("profile {}: its type and units have more than {} bytes", profile,
                       profile::kMaxTypeBytes);
  }
  if (std::string problem = labels_.Add(batch, profile); !problem.empty()) {
    return fmt::format("profile {}: {}", profile, problem);
  }
  for (std::size_t i = p.first_sample; i < p.first_sample + p.sample_count; ++i) {
    const Id stack = batch.samples.stack[i];
    if (batch.stacks[stack].count > profile::kMaxStackFrames) {
      return fmt::format("profile {}, sample {}: {} frames, a stack may have {}", profile,
                         i - p.first_sample, batch.stacks[stack].count, profile::kMaxStackFrames);
    }
    Stack(batch, stack);
    if (TooLarge()) {
      return fmt::format(
          "profile {}, sample {}: with it the request would take more than {} bytes in the store",
          profile, i - p.first_sample, most_row_bytes_);
    }
  }
  return {};
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
    row_bytes_ += kRowBytes + batch.Text(f.name).size() + batch.Text(f.system_name).size() +
                  batch.Text(f.filename).size();
    hash = HashOf(FunctionContent{Text(batch, f.name), Text(batch, f.system_name),
                                  Text(batch, f.filename), f.start_line});
  }
  return hash;
}

const Hash128& ContentHashes::Mapping(const Batch& batch, Id mapping) {
  Hash128& hash = mappings_[mapping];
  if (mapping != 0 && hash == kUnknown) {
    const profile::Mapping& m = batch.mappings[mapping];
    row_bytes_ += kRowBytes + batch.Text(m.filename).size();
    hash = HashOf(MappingContent{m.start, m.limit, m.file_offset, Text(batch, m.filename),
                                 Attributes(batch, m.attributes, AttributePlace::kMapping)});
  }
  return hash;
}

const Hash128& ContentHashes::Frame(const Batch& batch, Id frame) {
  Hash128& hash = frames_[frame];
  if (frame != 0 && hash == kUnknown) {
    const profile::Frame& f = batch.frames[frame];
    row_bytes_ += kRowBytes + f.lines.count * sizeof(std::uint32_t) * 3;
    FrameHasher hasher({Mapping(batch, f.mapping),
                        Attributes(batch, f.attributes, AttributePlace::kFrame), f.address,
                        f.lines.count});
    for (const profile::Line& line : batch.FrameLines(f))
      hasher.Add({Function(batch, line.function), Clamp32(line.line), Clamp32(line.column)});
    hash = hasher.Finish();
  }
  return hash;
}

const Hash128& ContentHashes::Stack(const Batch& batch, Id stack) {
  Hash128& hash = stacks_[stack];
  if (stack != 0 && hash == kUnknown) {
    const auto frames = batch.StackFrames(stack);
    row_bytes_ += kRowBytes + frames.size() * sizeof(std::uint32_t);
    StackHasher hasher(frames.size());
    for (const Id frame : frames) hasher.Add(Frame(batch, frame));
    hash = hasher.Finish();
  }
  return hash;
}

Hash128 ContentHashes::Attributes(const Batch& batch, profile::Range range, AttributePlace place) {
  if (range.count == 0) return {};
  auto& memo = place == AttributePlace::kFrame ? frame_attributes_ : mapping_attributes_;
  std::vector<Hash128> hashes;
  std::string one;
  for (const Id id : batch.AttributeRefs(range)) {
    const profile::Attribute& attribute = batch.attributes[id];
    row_bytes_ += batch.Text(attribute.key).size() + batch.Text(attribute.value.text).size();
    if (TooLarge()) return {};  // whatever is hashed now is not stored
    if (memo[id] == kUnknown) {
      one.clear();
      profile::AppendTyped(one, place, batch, attribute);
      memo[id] = HashString(one);
    }
    hashes.push_back(memo[id]);
  }
  return HashOfAttributes(hashes);
}

}  // namespace wherefore::store
