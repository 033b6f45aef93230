#include "profile/batch_tree.h"

#include <map>

#include <fmt/format.h>

#include "base/hash.h"
#include "profile/frame_name.h"
#include "profile/observations.h"
#include "profile/observed_time.h"

namespace wherefore::profile {
namespace {

std::string_view FrameType(const Batch& batch, const Frame& frame) {
  for (const Id ref : batch.AttributeRefs(frame.attributes)) {
    const Attribute& a = batch.attributes[ref];
    if (batch.Text(a.key) == "profile.frame.type") return batch.Text(a.value.text);
  }
  return {};
}

// A series is everything the resource and the profile's attributes say, except what differs for
// every profile.
std::uint64_t SeriesHash(const Batch& batch, const Profile& profile) {
  std::string text;
  const auto add = [&](const Attribute& a) {
    if (a.value.kind == Value::Kind::kBytes) return;
    text +=
        fmt::format("{}\n{}\n{}\n", batch.Text(a.key), batch.Text(a.value.text), a.value.number);
  };
  for (const Attribute& a : batch.OwnAttributes(batch.resources[profile.resource].attributes))
    add(a);
  for (const Id ref : batch.AttributeRefs(profile.attributes)) add(batch.attributes[ref]);
  return Hash64(text);
}

// How long each profile stands for, and the observed time.
std::vector<SeenProfile> Seen(const Batch& batch, const std::vector<const Profile*>& profiles,
                              std::int64_t unknown_ns, std::int64_t& observed_ns) {
  constexpr std::uint64_t kMost = INT64_MAX;
  std::vector<SeenProfile> seen;
  seen.reserve(profiles.size());
  for (const Profile* p : profiles) {
    seen.push_back({.series = SeriesHash(batch, *p),
                    .time_ns = static_cast<std::int64_t>(std::min(p->time_ns, kMost)),
                    .duration_ns = static_cast<std::int64_t>(std::min(p->duration_ns, kMost))});
  }
  FillLengths(seen, unknown_ns);
  ObservedTime observed;
  for (const SeenProfile& p : seen) observed.Add(p.time_ns, p.length_ns);
  observed_ns = observed.total_ns();
  return seen;
}

}  // namespace

const std::vector<std::uint32_t>& BatchNamer::FunctionsOf(Id frame_id) {
  if (frame_functions_.empty()) frame_functions_.resize(batch_.frames.size());
  std::vector<std::uint32_t>& ids = frame_functions_[frame_id];
  if (!ids.empty()) return ids;
  const Frame& frame = batch_.frames[frame_id];
  const Mapping& mapping = batch_.mappings[frame.mapping];
  FrameFacts facts{.mapping_file = batch_.Text(mapping.filename),
                   .mapping_start = mapping.start,
                   .mapping_offset = mapping.file_offset,
                   .address = frame.address,
                   .frame_type = FrameType(batch_, frame)};
  const auto lines = batch_.FrameLines(frame);
  for (std::size_t i = lines.size(); i-- > 0;) {
    const Function& function = batch_.functions[lines[i].function];
    facts.name = batch_.Text(function.name);
    facts.system_name = batch_.Text(function.system_name);
    facts.file = batch_.Text(function.filename);
    facts.start_line = function.start_line;
    facts.inlined = i + 1 < lines.size();
    ids.push_back(builder_.AddFunction(NameFrame(facts)));
  }
  if (lines.empty()) ids.push_back(builder_.AddFunction(NameFrame(facts)));
  return ids;
}

void BatchNamer::AddStack(Id stack, std::int64_t value, std::int64_t count) {
  const auto frames = batch_.StackFrames(stack);
  std::uint32_t node = 0;
  for (std::size_t i = frames.size(); i-- > 0;) {
    for (const std::uint32_t function : FunctionsOf(frames[i]))
      node = builder_.Child(node, function);
  }
  if (frames.empty()) {
    node = builder_.Child(0, builder_.AddFunction({.name = std::string(kNoStack)}));
  }
  builder_.AddValue(node, value, count);
}

BatchTreeResult BuildBatchTree(const Batch& batch, std::string_view wanted,
                               SeveralSnapshots several) {
  return *BuildBatchTree(batch, wanted, several, CancelToken());
}

Result<BatchTreeResult> BuildBatchTree(const Batch& batch, std::string_view wanted,
                                       SeveralSnapshots several, const CancelToken& cancel) {
  BatchTreeResult result;
  std::vector<const Profile*> profiles;
  std::vector<std::int64_t> multipliers;
  std::string unit;
  for (const Profile& profile : batch.profiles) {
    const ProfileType type = TypeOf(batch, profile);
    const auto match = MatchType(type, wanted);
    if (!match) continue;
    unit = match->unit;
    result.snapshot = IsSnapshot(type);
    result.observations_known = result.observations_known && ObservationsKnown(batch, profile);
    profiles.push_back(&profile);
    multipliers.push_back(match->multiplier);
  }
  result.profiles = profiles.size();
  const bool average =
      result.snapshot && profiles.size() > 1 && several == SeveralSnapshots::kAverage;
  const std::vector<SeenProfile> seen =
      Seen(batch, profiles, average ? kMomentNs : 0, result.observed_ns);
  TreeBuilder builder;
  BatchNamer namer(batch, builder);
  MemoryClaim growth(cancel);
  std::size_t frames = 0;  // since the last check
  const auto add = [&](Id stack, std::int64_t value, std::int64_t count) -> Result<> {
    constexpr std::size_t kBetweenChecks = 1u << 16;
    namer.AddStack(stack, value, count);
    frames += 1 + batch.StackFrames(stack).size();
    if (frames < kBetweenChecks) return {};
    frames = 0;
    WHEREFORE_RETURN_IF_ERROR(cancel.Check());
    return growth.Resize(builder.bytes());
  };
  std::map<Id, std::pair<double, std::int64_t>> weighed;  // by stack: value x time, observations
  for (std::size_t k = 0; k < profiles.size(); ++k) {
    const Profile& profile = *profiles[k];
    for (std::size_t i = profile.first_sample; i < profile.first_sample + profile.sample_count;
         ++i) {
      if (profile.summed && batch.samples.value[i] == 0) continue;  // present for another type
      const std::int64_t value = SaturatingMultiply(batch.samples.value[i], multipliers[k]);
      const std::int64_t count = Observations(batch, profile, i);
      if (!average) {
        WHEREFORE_RETURN_IF_ERROR(add(batch.samples.stack[i], value, count));
        continue;
      }
      auto& [sum, observations] = weighed[batch.samples.stack[i]];
      sum += static_cast<double>(value) * seen[k].Weight();
      observations += count;
    }
  }
  for (const auto& [stack, sum] : weighed) {
    WHEREFORE_RETURN_IF_ERROR(add(stack, AverageOf(sum.first, result.observed_ns), sum.second));
  }
  WHEREFORE_RETURN_IF_ERROR(cancel.Check());
  WHEREFORE_RETURN_IF_ERROR(growth.Resize(builder.bytes()));
  WHEREFORE_RETURN_IF_ERROR(cancel.Charge(builder.BuildBytes()));
  result.tree = builder.Build();
  result.tree.type = wanted;
  result.tree.unit = unit;
  result.tree.scale = average ? kAverageScale : 1;
  return result;
}

std::vector<ProfileType> BatchTypes(const Batch& batch) {
  std::vector<ProfileType> types;
  for (const Profile& profile : batch.profiles) {
    ProfileType type = TypeOf(batch, profile);
    if (std::none_of(types.begin(), types.end(),
                     [&](const ProfileType& t) { return t.Id() == type.Id(); })) {
      types.push_back(std::move(type));
    }
  }
  return types;
}

BatchTime TimeOf(const Batch& batch) {
  std::uint64_t first = UINT64_MAX;
  std::uint64_t last = 0;
  std::uint64_t longest = 0;
  for (const Profile& p : batch.profiles) {
    longest = std::max(longest, p.duration_ns);
    if (p.time_ns == 0) continue;
    first = std::min(first, p.time_ns);
    last = std::max(last, p.time_ns + p.duration_ns);
  }
  constexpr std::uint64_t kMost = INT64_MAX;
  return {.start_ns = last > 0 ? static_cast<std::int64_t>(std::min(first, kMost)) : 0,
          .duration_ns =
              static_cast<std::int64_t>(std::min(last > first ? last - first : longest, kMost))};
}

}  // namespace wherefore::profile
