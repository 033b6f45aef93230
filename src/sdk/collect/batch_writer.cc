#include "sdk/collect/batch_writer.h"

#include <sys/random.h>

#include <algorithm>

#include "formats/wire/utf8.h"
#include "profile/reduced.h"
#include "profile/type_id.h"

namespace wherefore::sdk {
namespace {

using profile::Id;

struct SampleType {
  std::string_view type;
  std::string_view unit;
};
struct SeriesType {
  std::string_view name;  // first part of the type id, where it does not follow from the rest
  SampleType sum;
  SampleType count;  // empty: none
  SampleType period;
};

SeriesType TypeOf(Series series) {
  switch (series) {
    case Series::kCpu:
      return {"", {"cpu", "nanoseconds"}, {}, {"cpu", "nanoseconds"}};
    case Series::kWall:
      return {"", {"wall", "nanoseconds"}, {}, {"wall", "nanoseconds"}};
    case Series::kOffCpu:
      return {"", {"off_cpu", "nanoseconds"}, {}, {"off_cpu", "nanoseconds"}};
    case Series::kAllocated:
      return {"", {"alloc_space", "bytes"}, {"alloc_objects", "count"}, {"space", "bytes"}};
    case Series::kInUse:
      return {"", {"inuse_space", "bytes"}, {"inuse_objects", "count"}, {"space", "bytes"}};
    case Series::kMutex:
      return {"", {"delay", "nanoseconds"}, {"contentions", "count"}, {"contentions", "count"}};
    case Series::kBlock:
      return {
          "block", {"delay", "nanoseconds"}, {"contentions", "count"}, {"contentions", "count"}};
    case Series::kThreads:
      return {"", {"threads", "count"}, {}, {"threads", "count"}};
  }
  return {};
}

profile::ProfileId RandomProfileId() {
  profile::ProfileId id{};
  if (getrandom(id.data(), id.size(), GRND_NONBLOCK) < 0)
    return {};  // none is better than one known before
  return id;
}

std::string_view BytesOf(std::span<const Id> ids) {
  return {reinterpret_cast<const char*>(ids.data()), ids.size_bytes()};
}

}  // namespace

void BatchWriter::Begin(Series series, bool reduced) {
  End();
  series_ = series;
  reduced_ = reduced;
  first_ = static_cast<std::uint32_t>(batch_.samples.size());
  counts_.clear();
  samples_.clear();
}

void BatchWriter::Add(const Sample& sample) {
  const Id stack = StackOf(sample.stack);
  const Id link = LinkOf(sample.link);
  const std::vector<Id> labels = LabelsOf(sample.labels);
  std::string key(BytesOf(labels));
  key.append(BytesOf(std::array{stack, link}));
  profile::Samples& s = batch_.samples;
  const auto [at, fresh] =
      samples_.try_emplace(std::move(key), static_cast<std::uint32_t>(s.size()));
  if (!fresh) {
    s.value[at->second] += sample.value;
    s.count[at->second] += sample.observations;
    counts_[at->second - first_] += sample.count;
    return;
  }
  const profile::Range refs = {.begin = static_cast<std::uint32_t>(batch_.attribute_refs.size()),
                               .count = static_cast<std::uint32_t>(labels.size())};
  batch_.attribute_refs.insert(batch_.attribute_refs.end(), labels.begin(), labels.end());
  s.Append(stack, refs, link, sample.value, {}, {});
  counts_.push_back(sample.count);
  s.count.push_back(sample.observations);
}

void BatchWriter::AddEmpty(Series series) {
  Begin(series);
  AppendProfiles();
}

void BatchWriter::End() {
  if (batch_.samples.size() != first_) AppendProfiles();
}

void BatchWriter::AppendProfiles() {
  const SeriesType type = TypeOf(series_);
  AppendProfile(type.sum.type, type.sum.unit, first_);
  if (type.count.type.empty()) return;
  const auto second = static_cast<std::uint32_t>(batch_.samples.size());
  profile::Samples& s = batch_.samples;
  for (std::uint32_t i = 0; i < counts_.size(); ++i) {
    s.Append(s.stack[first_ + i], s.attributes[first_ + i], s.link[first_ + i], counts_[i], {}, {});
    s.count.push_back(s.count[first_ + i]);
  }
  AppendProfile(type.count.type, type.count.unit, second);
}

void BatchWriter::AppendProfile(std::string_view sample_type, std::string_view unit,
                                std::uint32_t first) {
  const SeriesType type = TypeOf(series_);
  profile::Profile p;
  p.resource = 1;
  p.scope = 1;
  p.sample_type = {.type = Text(sample_type), .unit = Text(unit)};
  p.period_type = {.type = Text(type.period.type), .unit = Text(type.period.unit)};
  p.period = window_.periods[static_cast<std::size_t>(series_)];
  p.time_ns = window_.start_ns;
  p.duration_ns = window_.duration_ns;
  p.id = RandomProfileId();
  p.first_sample = first;
  p.sample_count = static_cast<std::uint32_t>(batch_.samples.size()) - first;
  std::vector<Id> attributes;
  if (!type.name.empty()) attributes.push_back(AttributeOf(profile::kProfileNameKey, type.name));
  if (reduced_)
    attributes.push_back(AttributeOf(profile::kReducedKey, profile::kReducedConditional));
  p.attributes = {.begin = static_cast<std::uint32_t>(batch_.attribute_refs.size()),
                  .count = static_cast<std::uint32_t>(attributes.size())};
  batch_.attribute_refs.insert(batch_.attribute_refs.end(), attributes.begin(), attributes.end());
  batch_.profiles.push_back(p);
}

profile::Batch BatchWriter::Finish() && {
  End();
  PutProgramFirst();
  PlaceInlineTexts();
  return std::move(batch_);
}

// Tools that know pprof take the first mapping for the program.
void BatchWriter::PutProgramFirst() {
  const auto found = mappings_.find(modules_.program());
  if (found == mappings_.end() || found->second == 1) return;
  const Id program = found->second;
  std::swap(batch_.mappings[1], batch_.mappings[program]);
  for (profile::Frame& frame : batch_.frames) {
    if (frame.mapping == 1) {
      frame.mapping = program;
    } else if (frame.mapping == program) {
      frame.mapping = 1;
    }
  }
}

// Values stand beside their keys, not in the table of texts. The encoder's table ends with the last
// text that is referred to by index; these come behind it.
void BatchWriter::PlaceInlineTexts() {
  std::unordered_map<std::string_view, Id> placed;
  for (const auto& [attribute, text] : values_) {
    const auto [at, fresh] = placed.try_emplace(text, 0);
    if (fresh) at->second = batch_.AddText(text);
    batch_.attributes[attribute].value.text = at->second;
  }
  for (profile::Profile& p : batch_.profiles) {
    for (const Id id : batch_.AttributeRefs(p.attributes)) {
      const profile::Attribute& a = batch_.attributes[id];
      if (batch_.Text(a.key) == profile::kProfileNameKey) p.name = a.value.text;
    }
  }
}

Id BatchWriter::Text(std::string_view text) {
  if (text.empty()) return 0;
  const auto [at, fresh] = texts_.try_emplace(formats::ReplaceBadUtf8(text), 0);
  if (fresh) at->second = batch_.AddText(at->first);
  return at->second;
}

Id BatchWriter::AttributeOf(std::string_view key, std::string_view value) {
  std::string valid = formats::ReplaceBadUtf8(value);
  std::string both(key);
  both.append(1, '\0').append(valid);
  const auto [at, fresh] =
      attributes_.try_emplace(std::move(both), static_cast<Id>(batch_.attributes.size()));
  if (fresh) {
    values_.emplace_back(at->second, std::move(valid));
    batch_.attributes.push_back(
        {.key = Text(key), .value = {.kind = profile::Value::Kind::kString}});
  }
  return at->second;
}

Id BatchWriter::FrameOf(const Frame& frame) {
  const auto [at, fresh] = frames_.try_emplace(frame, static_cast<Id>(batch_.frames.size()));
  if (!fresh) return at->second;
  profile::Frame f;
  f.lines.begin = static_cast<std::uint32_t>(batch_.lines.size());
  Id function = 0;
  if (frame.module == kNoModule) {
    function = FunctionOf({.name = std::string(kFrameNames[frame.address]), .system_name = {}});
  } else {
    f.mapping = MappingOf(frame.module);
    f.address = frame.address;
    function = FunctionOf(modules_.NameOf(static_cast<std::uint32_t>(frame.module), frame.address));
    f.attributes.begin = static_cast<std::uint32_t>(batch_.attribute_refs.size());
    batch_.attribute_refs.push_back(AttributeOf("profile.frame.type", "native"));
    f.attributes.count = 1;
  }
  batch_.lines.push_back({.function = function});
  f.lines.count = 1;
  batch_.frames.push_back(f);
  return at->second;
}

Id BatchWriter::MappingOf(std::uint64_t module) {
  if (module == Modules::kUnknown) return 0;
  const auto number = static_cast<std::uint32_t>(module);
  if (!mappings_.contains(number)) AddMapping(number);
  return mappings_[number];
}

void BatchWriter::AddMapping(std::uint32_t module) {
  mappings_.emplace(module, static_cast<Id>(batch_.mappings.size()));
  const ModuleInfo& info = modules_.info(module);
  profile::Mapping mapping = {
      .start = info.start,
      .limit = info.limit,
      .file_offset = info.file_offset,
      .filename = Text(info.path),
      .attributes = {.begin = static_cast<std::uint32_t>(batch_.attribute_refs.size())}};
  if (!info.build_id.empty()) {
    batch_.attribute_refs.push_back(AttributeOf("process.executable.build_id.gnu", info.build_id));
    mapping.attributes.count = 1;
  }
  batch_.mappings.push_back(mapping);
}

Id BatchWriter::FunctionOf(const FunctionName& name) {
  std::string key = formats::ReplaceBadUtf8(name.name);  // what makes one text makes one function
  key.append(1, '\0').append(formats::ReplaceBadUtf8(name.system_name));
  const auto [at, fresh] =
      functions_.try_emplace(std::move(key), static_cast<Id>(batch_.functions.size()));
  if (fresh)
    batch_.functions.push_back({.name = Text(name.name), .system_name = Text(name.system_name)});
  return at->second;
}

Id BatchWriter::StackOf(std::span<const Frame> frames) {
  std::vector<Id> ids;
  ids.reserve(frames.size());
  for (const Frame& frame : frames) ids.push_back(FrameOf(frame));
  const auto [at, fresh] =
      stacks_.try_emplace(std::string(BytesOf(ids)), static_cast<Id>(batch_.stacks.size()));
  if (fresh) {
    batch_.stacks.push_back({.begin = static_cast<std::uint32_t>(batch_.stack_frames.size()),
                             .count = static_cast<std::uint32_t>(ids.size())});
    batch_.stack_frames.insert(batch_.stack_frames.end(), ids.begin(), ids.end());
  }
  return at->second;
}

Id BatchWriter::LinkOf(const profile::Link& link) {
  if (link.span == profile::SpanId{}) return 0;
  std::string key(reinterpret_cast<const char*>(link.trace.data()), link.trace.size());
  key.append(reinterpret_cast<const char*>(link.span.data()), link.span.size());
  const auto [at, fresh] = links_.try_emplace(std::move(key), static_cast<Id>(batch_.links.size()));
  if (fresh) batch_.links.push_back(link);
  return at->second;
}

std::vector<Id> BatchWriter::LabelsOf(const Labels& labels) {
  std::vector<Id> ids;
  ids.reserve(labels.size());
  for (const auto& [key, value] : labels) ids.push_back(AttributeOf(key, value));
  std::ranges::sort(ids);  // the order they were given in means nothing
  return ids;
}

}  // namespace wherefore::sdk
