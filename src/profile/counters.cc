#include "profile/counters.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/arithmetic.h"
#include "profile/type_id.h"

namespace wherefore::profile {
namespace {

using Values = CounterValues;

void Mix(std::uint64_t& hash, std::uint64_t with) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15ULL;
  hash = (hash ^ with) * kOdd;
  hash ^= hash >> 29;
}

// By name, not by address: addresses change when the process restarts.
std::uint64_t FrameKey(const Batch& batch, const Frame& frame) {
  std::uint64_t key = 1;
  for (const Line& line : batch.FrameLines(frame)) {
    Mix(key, Hash64(batch.Text(batch.functions[line.function].name)));
    Mix(key, static_cast<std::uint64_t>(line.line));
  }
  if (frame.lines.count == 0) Mix(key, frame.address);
  return key;
}

// One key per sample: its stack and attributes.
std::vector<std::uint64_t> SampleKeys(const Batch& batch) {
  std::vector<std::uint64_t> frames;
  frames.reserve(batch.frames.size());
  for (const Frame& frame : batch.frames) frames.push_back(FrameKey(batch, frame));
  std::vector<std::uint64_t> stacks;
  stacks.reserve(batch.stacks.size());
  for (Id stack = 0; stack < batch.stacks.size(); ++stack) {
    std::uint64_t key = 2;
    for (const Id frame : batch.StackFrames(stack)) Mix(key, frames[frame]);
    stacks.push_back(key);
  }
  std::vector<std::uint64_t> keys;
  keys.reserve(batch.samples.size());
  for (std::size_t i = 0; i < batch.samples.size(); ++i) {
    std::uint64_t key = stacks[batch.samples.stack[i]];
    for (const Id ref : batch.AttributeRefs(batch.samples.attributes[i])) {
      const Attribute& a = batch.attributes[ref];
      Mix(key, Hash64(batch.Text(a.key)));
      Mix(key, Hash64(ValueText(batch, a.value)));
    }
    keys.push_back(key);
  }
  return keys;
}

Hash128 SeriesKey(const Batch& batch, const Profile& profile, std::uint32_t tenant) {
  std::vector<std::string> labels;
  for (const Attribute& a : batch.OwnAttributes(batch.resources[profile.resource].attributes)) {
    labels.push_back(fmt::format("{}={}", batch.Text(a.key), ValueText(batch, a.value)));
  }
  std::ranges::sort(labels);
  return HashString(
      fmt::format("{}\n{}\n{}", tenant, TypeOf(batch, profile).Id(), fmt::join(labels, "\n")));
}

// The values of one profile by key, each key once.
Values Collect(const Batch& batch, const Profile& profile, const std::vector<std::uint64_t>& keys) {
  Values values;
  values.reserve(profile.sample_count);
  for (std::size_t i = profile.first_sample; i < profile.first_sample + profile.sample_count; ++i) {
    values.emplace_back(keys[i], batch.samples.value[i]);
  }
  std::ranges::sort(values);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (kept > 0 && values[kept - 1].first == values[i].first) {
      values[kept - 1].second = WrappingAdd(values[kept - 1].second, values[i].second);
    } else {
      values[kept++] = values[i];
    }
  }
  values.resize(kept);
  return values;
}

std::int64_t* FindValue(Values& values, std::uint64_t key) {
  const auto it = std::ranges::lower_bound(values, key, {}, &Values::value_type::first);
  return it != values.end() && it->first == key ? &it->second : nullptr;
}

// More than a tenth of the last total is gone: this is another process.
bool Restarted(const Values& last, Values& now) {
  double total = 0;
  double lost = 0;
  for (const auto& [key, value] : last) {
    const std::int64_t* current = FindValue(now, key);
    total += static_cast<double>(value);
    lost += std::max(
        0.0, static_cast<double>(value) - static_cast<double>(current == nullptr ? 0 : *current));
  }
  constexpr double kMost = 0.1;
  return lost > kMost * total;
}

// The increase of `now` over `last`. `last` becomes the higher of both, stack by stack.
Values Advance(Values& last, const Values& now) {
  Values more;
  Values merged;
  merged.reserve(last.size() + now.size());
  auto old = last.begin();
  for (const auto& [key, value] : now) {
    for (; old != last.end() && old->first < key; ++old) merged.push_back(*old);
    const std::int64_t before =
        old != last.end() && old->first == key ? (old++)->second : std::int64_t{0};
    merged.emplace_back(key, std::max(before, value));
    if (value > before) more.emplace_back(key, value - before);
  }
  merged.insert(merged.end(), old, last.end());
  last = std::move(merged);
  return more;
}

// The new values of the keys in `changed`.
Values NewValues(const Values& changed, Values& now) {
  Values values;
  values.reserve(changed.size());
  for (const auto& [key, more] : changed) values.emplace_back(key, *FindValue(now, key));
  return values;
}

// Gives each key's difference to the first sample that has it.
void ShareOut(Batch& batch, const Profile& profile, const std::vector<std::uint64_t>& keys,
              Values differences) {
  for (std::size_t i = profile.first_sample; i < profile.first_sample + profile.sample_count; ++i) {
    std::int64_t* value = FindValue(differences, keys[i]);
    batch.samples.value[i] = value == nullptr ? 0 : std::exchange(*value, 0);
    if (batch.samples.values[i].count > 0) {
      batch.values[batch.samples.values[i].begin] = batch.samples.value[i];
    }
  }
}

// None: the profile is to be left out.
std::optional<CounterMove> TakeDifference(Batch& batch, Profile& profile,
                                          const std::vector<std::uint64_t>& keys,
                                          const CounterReadings::Reading& reading,
                                          FirstReading first, CounterBase& base) {
  Values now = reading.values;
  const bool seen = base.time_ns != 0;
  const bool older = profile.time_ns < base.time_ns;
  const bool restarted = seen && Restarted(base.values, now);
  if (older && restarted && (base.late.empty() || Restarted(base.late, now))) {
    base.late = std::move(now);
    return std::nullopt;
  }
  base.late.clear();
  if (restarted) base.values.clear();
  Values more = Advance(base.values, now);
  CounterMove move{.series = reading.series,
                   .time_ns = std::max<std::uint64_t>(profile.time_ns, 1),
                   .restarted = restarted,
                   .values = NewValues(more, now)};
  if (!seen && first == FirstReading::kSetsBase) more.clear();
  if (seen && !older) profile.duration_ns = profile.time_ns - base.time_ns;
  base.time_ns = move.time_ns;
  ShareOut(batch, profile, keys, std::move(more));
  return move;
}

}  // namespace

bool CanBeCumulative(std::string_view sample_type) {
  constexpr std::array<std::string_view, 4> kTypes = {"alloc_objects", "alloc_space", "contentions",
                                                      "delay"};
  return std::ranges::find(kTypes, sample_type) != kTypes.end();
}

CounterReadings::CounterReadings(const Batch& batch, std::uint32_t tenant) {
  for (std::size_t i = 0; i < batch.profiles.size(); ++i) {
    const Profile& profile = batch.profiles[i];
    if (!CanBeCumulative(batch.Text(profile.sample_type.type))) continue;
    if (sample_keys.empty()) sample_keys = SampleKeys(batch);
    readings.push_back(
        {i, SeriesKey(batch, profile, tenant), Collect(batch, profile, sample_keys)});
  }
}

void Apply(const CounterMove& move, CounterBase& base) {
  if (move.restarted) base.values.clear();
  base.late.clear();
  base.time_ns = move.time_ns;
  (void)Advance(base.values, move.values);
}

CounterDifferences TakeDifferences(Batch& batch, const CounterReadings& readings,
                                   FirstReading first,
                                   const std::function<CounterBase&(const Hash128&)>& base_of) {
  CounterDifferences out;
  std::vector<bool> drop(batch.samples.size());
  std::vector<Profile> kept;
  auto reading = readings.readings.begin();
  for (std::size_t index = 0; index < batch.profiles.size(); ++index) {
    Profile& profile = batch.profiles[index];
    if (reading == readings.readings.end() || reading->profile != index) {
      kept.push_back(profile);
      continue;
    }
    auto move = TakeDifference(batch, profile, readings.sample_keys, *reading, first,
                               base_of(reading->series));
    ++reading;
    const std::size_t end = profile.first_sample + profile.sample_count;
    for (std::size_t i = profile.first_sample; i < end; ++i) {
      drop[i] = !move || batch.samples.value[i] == 0;
    }
    if (!move) {
      ++out.rejected;
      if (!out.message.empty()) out.message += "; ";
      out.message += fmt::format(
          "{}: this cumulative profile is older than the last one of its series and has lower "
          "values",
          batch.Text(profile.sample_type.type));
      continue;
    }
    move->profile = kept.size();
    out.moves.push_back(*std::move(move));
    kept.push_back(profile);
  }
  batch.profiles = std::move(kept);
  RemoveSamples(batch, drop);
  return out;
}

}  // namespace wherefore::profile
