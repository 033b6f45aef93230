#include "gateway/profiling/limit_profiles.h"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <vector>

#include "formats/link_labels.h"
#include "gateway/profiling/sample_sums.h"
#include "profile/unused.h"

namespace wherefore::gateway {
namespace {

using profile::Batch;
using profile::Id;
using profile::Range;

constexpr std::string_view kTruncated = "[truncated]";
constexpr std::string_view kOther = "[other]";

Id AddNamedFrame(Batch& batch, std::string_view name) {
  batch.functions.push_back({.name = batch.AddText(name)});
  batch.lines.push_back({.function = static_cast<Id>(batch.functions.size() - 1)});
  batch.frames.push_back({.lines = {static_cast<std::uint32_t>(batch.lines.size() - 1), 1}});
  return static_cast<Id>(batch.frames.size() - 1);
}

bool IsNamed(const Batch& batch, Id frame, std::string_view name) {
  const auto lines = batch.FrameLines(batch.frames[frame]);
  return lines.size() == 1 && batch.Text(batch.functions[lines[0].function].name) == name;
}

// Returns the number of stacks that were cut.
std::size_t CutStacks(Batch& batch, std::uint32_t depth) {
  std::size_t cut = 0;
  Id root = 0;
  for (Range& stack : batch.stacks) {
    if (stack.count <= depth) continue;
    // Its sender cut it already: the root does not count.
    const Id last = batch.stack_frames[stack.begin + stack.count - 1];
    const bool was_cut = IsNamed(batch, last, kTruncated);
    if (was_cut && stack.count == depth + 1) continue;
    ++cut;
    if (root == 0) root = was_cut ? last : AddNamedFrame(batch, kTruncated);
    const auto begin = static_cast<std::uint32_t>(batch.stack_frames.size());
    // Frames may be shared between stacks, so they are copied.
    for (std::uint32_t i = 0; i < depth; ++i) {
      const Id frame = batch.stack_frames[stack.begin + i];
      batch.stack_frames.push_back(frame);
    }
    batch.stack_frames.push_back(root);
    stack = {begin, depth + 1};
  }
  return cut;
}

std::size_t Varint(std::uint64_t value) {
  return (static_cast<std::size_t>(std::bit_width(value | 1)) + 6) / 7;
}
std::size_t Number(std::int64_t value) {
  return value == 0 ? 0 : 1 + Varint(static_cast<std::uint64_t>(value));
}
std::size_t Text(std::size_t size) {
  return 2 + Varint(size) + size;
}
constexpr std::size_t kEntry = 5;  // tag and length of a message, generously

// What a profile takes as OTLP by itself, table entries counted where they are first used. Not less
// than the encoder writes.
class ProfileSize {
 public:
  explicit ProfileSize(const Batch& batch)
      : batch_(batch),
        stacks_(batch.stacks.size()),
        frames_(batch.frames.size()),
        mappings_(batch.mappings.size()),
        functions_(batch.functions.size()),
        attributes_(batch.attributes.size()),
        links_(batch.links.size()),
        strings_(batch.strings.size()) {}

  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  void AddProfile(const profile::Profile& p) {
    constexpr std::size_t kFixed = 128;  // times, ids, types
    bytes_ += kFixed + p.payload.size();
    for (const Id text : {p.name, p.sample_type.type, p.sample_type.unit, p.period_type.type,
                          p.period_type.unit, p.payload_format}) {
      AddString(text);
    }
    AddRefs(p.attributes);
    AddOwn(batch_.resources[p.resource].attributes);
    AddString(batch_.resources[p.resource].schema_url);
    AddString(batch_.resources[p.resource].entity_refs);
    const profile::Scope& scope = batch_.scopes[p.scope];
    for (const Id text : {scope.name, scope.version, scope.schema_url}) AddString(text);
    AddOwn(scope.attributes);
  }
  void AddSample(std::size_t i) {
    const profile::Samples& s = batch_.samples;
    constexpr std::size_t kTime = 8;
    constexpr std::size_t kObservations = 5;
    bytes_ += kEntry + kObservations + Number(s.stack[i]) + Number(s.link[i]);
    bytes_ += 2 * kEntry + kTime * s.times[i].count;
    for (std::uint32_t v = 0; v < s.values[i].count; ++v) {
      bytes_ += Number(batch_.values[s.values[i].begin + v]) + 1;
    }
    if (s.values[i].count == 0) bytes_ += Number(s.value[i]);
    AddRefs(s.attributes[i]);
    constexpr std::size_t kLink = 16 + 8 + 2 * 2 + kEntry;
    if (First(links_, s.link[i])) bytes_ += kLink;
    if (First(stacks_, s.stack[i])) AddStack(s.stack[i]);
  }
  // A sum without link and times.
  void AddSum(std::span<const Id> attributes) {
    constexpr std::size_t kSum = 40;
    bytes_ += kSum;
    AddIds(attributes);
  }

 private:
  static bool First(std::vector<bool>& table, Id id) {
    if (id == 0 || table[id]) return false;
    table[id] = true;
    return true;
  }
  void AddString(Id id) {
    if (First(strings_, id)) bytes_ += Text(batch_.Text(id).size());
  }
  void AddOwn(Range range) {
    for (const profile::Attribute& a : batch_.OwnAttributes(range)) {
      bytes_ += 3 * kEntry + Text(batch_.Text(a.key).size()) +
                Text(batch_.Text(a.value.text).size()) + 10;
    }
  }
  void AddRefs(Range range) { AddIds(batch_.AttributeRefs(range)); }
  void AddIds(std::span<const Id> ids) {
    for (const Id id : ids) {
      bytes_ += Varint(id);
      if (!First(attributes_, id)) continue;
      const profile::Attribute& a = batch_.attributes[id];
      AddString(a.key);
      AddString(a.unit);
      bytes_ += 3 * kEntry + Text(batch_.Text(a.value.text).size()) + 10;
    }
    bytes_ += kEntry;
  }
  void AddStack(Id stack) {
    bytes_ += 2 * kEntry;
    for (const Id id : batch_.StackFrames(stack)) {
      bytes_ += Varint(id);
      if (First(frames_, id)) AddFrame(batch_.frames[id]);
    }
  }
  void AddFrame(const profile::Frame& frame) {
    bytes_ += kEntry + Number(frame.mapping) + Number(static_cast<std::int64_t>(frame.address));
    AddRefs(frame.attributes);
    if (First(mappings_, frame.mapping)) {
      const profile::Mapping& m = batch_.mappings[frame.mapping];
      for (const std::uint64_t n : {m.start, m.limit, m.file_offset}) bytes_ += 1 + Varint(n);
      bytes_ += kEntry + 5;
      AddString(m.filename);
      AddRefs(m.attributes);
    }
    for (const profile::Line& line : batch_.FrameLines(frame)) {
      bytes_ += kEntry + Number(line.function) + Number(line.line) + Number(line.column);
      if (!First(functions_, line.function)) continue;
      const profile::Function& f = batch_.functions[line.function];
      bytes_ += kEntry + 3 * 6 + Number(f.start_line);
      for (const Id text : {f.name, f.system_name, f.filename}) AddString(text);
    }
  }

  const Batch& batch_;
  std::vector<bool> stacks_, frames_, mappings_, functions_, attributes_, links_, strings_;
  std::size_t bytes_ = 0;
};

std::size_t SizeOf(const Batch& batch, const profile::Profile& profile) {
  ProfileSize size(batch);
  size.AddProfile(profile);
  for (std::size_t i = 0; i < profile.sample_count; ++i) size.AddSample(profile.first_sample + i);
  return size.bytes();
}

// The stacks of a profile, largest first.
struct StackSum {
  Id stack = 0;
  double size = 0;
  std::vector<std::size_t> samples;
};
std::vector<StackSum> StacksBySize(const Batch& batch, const profile::Profile& profile) {
  std::vector<StackSum> stacks;
  std::unordered_map<Id, std::size_t> known;
  for (std::size_t i = profile.first_sample; i < profile.first_sample + profile.sample_count; ++i) {
    const Id stack = batch.samples.stack[i];
    const auto [at, fresh] = known.try_emplace(stack, stacks.size());
    if (fresh) stacks.push_back({.stack = stack, .samples = {}});
    stacks[at->second].size += std::abs(static_cast<double>(batch.samples.value[i]));
    stacks[at->second].samples.push_back(i);
  }
  std::ranges::stable_sort(stacks, std::greater(), &StackSum::size);
  return stacks;
}

// How one profile is brought below the limit.
struct Plan {
  std::vector<bool> other;   // by sample of the profile
  bool keeps_labels = true;  // of what becomes [other]
};

// Labels of a sample without those that tie it to a span.
std::vector<Id> PlainLabels(const Batch& batch, std::size_t sample) {
  std::vector<Id> ids;
  for (const Id id : batch.AttributeRefs(batch.samples.attributes[sample])) {
    if (!formats::IsLinkLabel(batch.Text(batch.attributes[id].key))) ids.push_back(id);
  }
  return ids;
}

Plan MakePlan(const Batch& batch, const profile::Profile& profile, std::size_t limit) {
  Plan plan{.other = std::vector<bool>(profile.sample_count)};
  ProfileSize size(batch);
  profile::Profile without_payload = profile;
  without_payload.payload = {};
  size.AddProfile(without_payload);
  size.AddSum({});
  const std::size_t for_stacks = limit - limit / 16;  // the rest is for what [other] has of labels
  bool full = false;
  std::vector<std::size_t> others;
  for (const StackSum& stack : StacksBySize(batch, profile)) {
    if (!full) {
      for (const std::size_t i : stack.samples) size.AddSample(i);
      full = size.bytes() > for_stacks;
    }
    if (full) others.insert(others.end(), stack.samples.begin(), stack.samples.end());
  }
  std::unordered_map<std::uint64_t, bool> sets;
  for (const std::size_t i : others) {
    plan.other[i - profile.first_sample] = true;
    const std::vector<Id> labels = PlainLabels(batch, i);
    if (sets.try_emplace(HashSpan(std::span<const Id>(labels)).low, true).second) {
      size.AddSum(labels);
    }
  }
  plan.keeps_labels = size.bytes() <= limit;  // also counts the first stack that did not fit
  return plan;
}

// Returns the number of profiles that were too large.
std::size_t ShrinkProfiles(Batch& batch, std::size_t limit) {
  std::vector<Plan> plans(batch.profiles.size());
  std::size_t shrunk = 0;
  for (std::size_t p = 0; p < plans.size(); ++p) {
    if (SizeOf(batch, batch.profiles[p]) <= limit) continue;
    plans[p] = MakePlan(batch, batch.profiles[p], limit);
    ++shrunk;
  }
  if (shrunk == 0) return 0;
  batch.stack_frames.push_back(AddNamedFrame(batch, kOther));
  batch.stacks.push_back({static_cast<std::uint32_t>(batch.stack_frames.size() - 1), 1});
  const auto other = static_cast<Id>(batch.stacks.size() - 1);
  std::vector<std::vector<Id>> labels(batch.samples.size());
  for (std::size_t p = 0; p < plans.size(); ++p) {
    if (!plans[p].keeps_labels) continue;
    for (std::size_t i = 0; i < plans[p].other.size(); ++i) {
      if (!plans[p].other[i]) continue;
      const std::size_t sample = batch.profiles[p].first_sample + i;
      labels[sample] = PlainLabels(batch, sample);
    }
  }
  SampleSums sums(batch);
  for (std::size_t p = 0; p < plans.size(); ++p) {
    profile::Profile& profile = batch.profiles[p];
    const std::size_t first = profile.first_sample;
    const std::vector<bool>& goes = plans[p].other;
    sums.BeginProfile(profile);
    for (std::size_t i = 0; i < profile.sample_count; ++i) {
      if (!goes.empty() && goes[i]) {
        sums.Add(first + i, other, labels[first + i]);
      } else {
        sums.Keep(first + i);
      }
    }
    sums.EndProfile();
  }
  sums.Finish();
  return shrunk;
}

// Above what any of its profiles takes.
std::size_t MostBytes(const Batch& batch) {
  std::size_t attribute_bytes = 0;
  for (const profile::Profile& p : batch.profiles) attribute_bytes += p.payload.size();
  return batch.SourceBytes() + batch.ApproximateBytes() + attribute_bytes +
         batch.attribute_refs.size() * sizeof(Id) + 4096;
}

}  // namespace

LimitedCounts LimitProfiles(Batch& batch, const ProfileLimits& limits) {
  LimitedCounts counts;
  if (limits.max_stack_depth) counts.stacks = CutStacks(batch, *limits.max_stack_depth);
  if (limits.max_profile_bytes &&
      MostBytes(batch) > static_cast<std::size_t>(*limits.max_profile_bytes)) {
    counts.profiles = ShrinkProfiles(batch, static_cast<std::size_t>(*limits.max_profile_bytes));
  }
  if (!counts.changed()) return counts;
  for (profile::Profile& profile : batch.profiles) {  // the original file has everything
    profile.payload = {};
    profile.payload_format = 0;
  }
  profile::RemoveUnused(batch);
  return counts;
}

}  // namespace wherefore::gateway
