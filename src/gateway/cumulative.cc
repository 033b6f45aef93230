#include "gateway/cumulative.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "base/arithmetic.h"
#include "base/log.h"
#include "base/text.h"
#include "profile/type_id.h"

namespace wherefore::gateway {
namespace {

using profile::Batch;
using profile::Profile;
using Values = std::vector<std::pair<std::uint64_t, std::int64_t>>;

constexpr std::uint64_t kFileMagic = 0x314d55434657ULL;  // "WFCUM1"

void Mix(std::uint64_t& hash, std::uint64_t with) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15ULL;
  hash = (hash ^ with) * kOdd;
  hash ^= hash >> 29;
}

// A frame by what it is called: addresses change when the process starts again.
std::uint64_t FrameKey(const Batch& batch, const profile::Frame& frame) {
  std::uint64_t key = 1;
  for (const profile::Line& line : batch.FrameLines(frame)) {
    Mix(key, Hash64(batch.Text(batch.functions[line.function].name)));
    Mix(key, static_cast<std::uint64_t>(line.line));
  }
  if (frame.lines.count == 0) Mix(key, frame.address);
  return key;
}

// Every sample by its stack and attributes.
std::vector<std::uint64_t> SampleKeys(const Batch& batch) {
  std::vector<std::uint64_t> frames;
  frames.reserve(batch.frames.size());
  for (const profile::Frame& frame : batch.frames) frames.push_back(FrameKey(batch, frame));
  std::vector<std::uint64_t> stacks;
  stacks.reserve(batch.stacks.size());
  for (profile::Id stack = 0; stack < batch.stacks.size(); ++stack) {
    std::uint64_t key = 2;
    for (const profile::Id frame : batch.StackFrames(stack)) Mix(key, frames[frame]);
    stacks.push_back(key);
  }
  std::vector<std::uint64_t> keys;
  keys.reserve(batch.samples.size());
  for (std::size_t i = 0; i < batch.samples.size(); ++i) {
    std::uint64_t key = stacks[batch.samples.stack[i]];
    for (const profile::Id ref : batch.AttributeRefs(batch.samples.attributes[i])) {
      const profile::Attribute& a = batch.attributes[ref];
      Mix(key, Hash64(batch.Text(a.key)));
      Mix(key, Hash64(ValueText(batch, a.value)));
    }
    keys.push_back(key);
  }
  return keys;
}

Hash128 SeriesKey(const Batch& batch, const Profile& profile, std::uint32_t tenant) {
  std::vector<std::string> labels;
  for (const profile::Attribute& a :
       batch.OwnAttributes(batch.resources[profile.resource].attributes)) {
    labels.push_back(fmt::format("{}={}", batch.Text(a.key), ValueText(batch, a.value)));
  }
  std::ranges::sort(labels);
  return HashString(fmt::format("{}\n{}\n{}", tenant, profile::TypeOf(batch, profile).Id(),
                                fmt::join(labels, "\n")));
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

// More than a tenth of what was counted is gone: another process counts now.
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

// What `now` has more than `last`; `last` becomes the higher of both, stack by stack.
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

}  // namespace

bool CanBeCumulative(std::string_view sample_type) {
  constexpr std::array<std::string_view, 4> kTypes = {"alloc_objects", "alloc_space", "contentions",
                                                      "delay"};
  return std::ranges::find(kTypes, sample_type) != kTypes.end();
}

Cumulative::Cumulative(Options options) : options_(std::move(options)) {
  if (options_.directory.empty()) return;
  // Series nobody has sent for a month are forgotten.
  constexpr auto kForgetAfter = std::chrono::hours(24 * 30);
  std::error_code error;
  std::filesystem::create_directories(options_.directory, error);
  const auto now = std::filesystem::file_time_type::clock::now();
  for (const auto& entry : std::filesystem::directory_iterator(options_.directory, error)) {
    std::error_code ignored;
    if (now - entry.last_write_time(ignored) > kForgetAfter && !ignored) {
      std::filesystem::remove(entry.path(), ignored);
    }
  }
}

std::string Cumulative::Path(const Hash128& key) const {
  return fmt::format("{}/{:016x}{:016x}", options_.directory, key.high, key.low);
}

Cumulative::Series& Cumulative::Find(const Hash128& key) {
  if (const auto it = series_.find(key); it != series_.end()) {
    uses_.splice(uses_.begin(), uses_, it->second.use);
    return it->second;
  }
  uses_.push_front(key);
  Series& series = series_[key];
  series.use = uses_.begin();
  if (options_.directory.empty()) return series;
  std::ifstream in(Path(key), std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  std::array<std::uint64_t, 3> head{};  // magic, time, hash of the rest
  if (bytes.size() < sizeof head || (bytes.size() - sizeof head) % 16 != 0) return series;
  std::memcpy(head.data(), bytes.data(), sizeof head);
  const std::string_view rest = std::string_view(bytes).substr(sizeof head);
  if (head[0] != kFileMagic || head[2] != Hash64(rest)) return series;
  series.time_ns = head[1];
  series.values.resize(rest.size() / 16);
  for (std::size_t i = 0; i < series.values.size(); ++i) {
    std::memcpy(&series.values[i].first, rest.data() + 16 * i, 8);
    std::memcpy(&series.values[i].second, rest.data() + 16 * i + 8, 8);
  }
  bytes_ += rest.size();
  return series;
}

void Cumulative::Save(const Hash128& key, const Series& series) {
  if (options_.directory.empty()) return;
  std::string rest;
  rest.reserve(series.values.size() * 16);
  for (const auto& [stack, value] : series.values) {
    rest.append(reinterpret_cast<const char*>(&stack), 8);
    rest.append(reinterpret_cast<const char*>(&value), 8);
  }
  const std::array<std::uint64_t, 3> head = {kFileMagic, series.time_ns, Hash64(rest)};
  const std::string path = Path(key);
  std::error_code error;
  {
    std::ofstream out(path + ".part", std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(head.data()), sizeof head);
    out.write(rest.data(), static_cast<std::streamsize>(rest.size()));
    if (!out.flush()) error = std::make_error_code(std::errc::io_error);
  }
  if (!error) std::filesystem::rename(path + ".part", path, error);
  if (error && !said_) {
    Log(LogLevel::kWarn,
        "the last values of cumulative profiles cannot be written; after a restart they may count "
        "twice",
        {{"directory", options_.directory}, {"error", error.message()}});
  }
  said_ = static_cast<bool>(error);
}

void Cumulative::Evict() {
  // Memory alone keeps everything: to forget would be to count twice.
  while (!options_.directory.empty() && bytes_ > options_.max_bytes && uses_.size() > 1) {
    const auto it = series_.find(uses_.back());
    bytes_ -= it->second.values.size() * 16;
    series_.erase(it);
    uses_.pop_back();
  }
}

bool Cumulative::ConvertProfile(Batch& batch, Profile& profile,
                                const std::vector<std::uint64_t>& keys, std::uint32_t tenant,
                                First first, Taken& taken) {
  const Hash128 key = SeriesKey(batch, profile, tenant);
  Series& series = Find(key);
  Values now = Collect(batch, profile, keys);
  const bool seen = series.time_ns != 0;
  const bool older = profile.time_ns < series.time_ns;
  const bool restarted = seen && Restarted(series.values, now);
  if (older && restarted && (series.late.empty() || Restarted(series.late, now))) {
    series.late = std::move(now);
    return false;
  }
  series.late.clear();
  bytes_ -= series.values.size() * 16;
  if (restarted) series.values.clear();
  Values more = Advance(series.values, now);
  if (!seen && first == First::kSetsBase) more.clear();
  if (seen && !older) profile.duration_ns = profile.time_ns - series.time_ns;
  const std::uint64_t before_ns = series.time_ns;
  series.time_ns = std::max<std::uint64_t>(profile.time_ns, 1);
  bytes_ += series.values.size() * 16;
  Save(key, series);
  // Each key's difference goes to the first sample that has it.
  Values rest = more;
  for (std::size_t i = profile.first_sample; i < profile.first_sample + profile.sample_count; ++i) {
    std::int64_t* value = FindValue(rest, keys[i]);
    batch.samples.value[i] = value == nullptr ? 0 : std::exchange(*value, 0);
    batch.values[batch.samples.values[i].begin] = batch.samples.value[i];
  }
  taken.series.push_back({key, before_ns, std::move(more)});
  return true;
}

Cumulative::Taken Cumulative::Convert(formats::DecodedProfiles& decoded, std::uint32_t tenant,
                                      First first) {
  Batch& batch = decoded.data;
  Taken taken;
  const std::vector<std::uint64_t> keys = SampleKeys(batch);
  std::vector<bool> drop(batch.samples.size());
  MutexLock lock(mutex_);
  std::vector<Profile> kept;
  for (Profile& p : batch.profiles) {
    const std::string_view type = batch.Text(p.sample_type.type);
    if (!CanBeCumulative(type)) {
      kept.push_back(p);
      continue;
    }
    if (!ConvertProfile(batch, p, keys, tenant, first, taken)) {
      ++decoded.rejected;
      if (!decoded.message.empty()) decoded.message += "; ";
      decoded.message += fmt::format(
          "{}: this profile counts since its process began, and is older and has less than the "
          "last "
          "one of its series",
          type);
      continue;
    }
    for (std::size_t i = p.first_sample; i < p.first_sample + p.sample_count; ++i) {
      drop[i] = batch.samples.value[i] == 0;
    }
    kept.push_back(p);
  }
  batch.profiles = std::move(kept);
  profile::RemoveSamples(batch, drop);
  Evict();
  return taken;
}

void Cumulative::GiveBack(const Taken& taken) {
  MutexLock lock(mutex_);
  for (const auto& [key, before_ns, values] : taken.series) {
    Series& series = Find(key);
    series.time_ns = before_ns;
    for (const auto& [stack, value] : values) {
      if (std::int64_t* base = FindValue(series.values, stack)) *base -= value;
    }
    Save(key, series);
  }
}

}  // namespace wherefore::gateway
