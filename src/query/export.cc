// Engine, the way out: stored rows back into a Batch, one profile as it came in or many added up.
#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "profile/frame_name.h"
#include "profile/observations.h"
#include "profile/typed_attributes.h"
#include "query/engine.h"
#include "query/frame_lines.h"

namespace wherefore::query {
namespace {

using profile::AttributePlace;
using profile::Batch;
using profile::Id;
using profile::TypedAttribute;

// Copies one dictionary at a time into the tables of a Batch.
class Assembler {
 public:
  // With a symbolizer frames get the lines it knows; without, they stay as they came in.
  Assembler(Batch& batch, symbols::Symbolizer* symbolizer, const CancelToken& cancel)
      : batch_(batch), symbolizer_(symbolizer), cancel_(cancel), claim_(cancel) {}

  Result<> Open(store::Reader& reader, const store::DictionaryKey& key) {
    if (opened_ && key == key_) return {};
    opened_ = true;
    key_ = key;
    rows_ = {};
    series_.clear();
    cancel_.Release(std::exchange(dictionary_bytes_, 0));  // one dictionary at a time
    const std::int64_t before = cancel_.memory_used();
    WHEREFORE_ASSIGN_OR_RETURN(rows_, reader.Dictionary(key, {}, cancel_));
    WHEREFORE_ASSIGN_OR_RETURN(series_, reader.Series(key, 1, cancel_));
    dictionary_bytes_ = static_cast<std::size_t>(cancel_.memory_used() - before);
    resolved_ = ResolveFrames(symbolizer_, rows_.frames, rows_.mappings);
    mappings_.assign(rows_.mappings.size() + 1, 0);
    functions_.assign(rows_.functions.size() + 1, 0);
    frames_.assign(rows_.frames.size() + 1, 0);
    stacks_.assign(rows_.stacks.size() + 1, 0);
    resources_.clear();
    return {};
  }

  Result<Id> Stack(std::uint32_t stack) {
    if (stack == 0) return Id{0};
    if (stack >= stacks_.size()) return LostStack();
    if (stacks_[stack] != 0) return stacks_[stack];
    const profile::Range stored = rows_.stacks[stack - 1];
    std::vector<Id> frames;
    for (std::uint32_t i = 0; i < stored.count; ++i) {
      WHEREFORE_ASSIGN_OR_RETURN(const Id frame, Frame(rows_.stack_frames[stored.begin + i]));
      frames.push_back(frame);
    }
    batch_.stacks.push_back({static_cast<std::uint32_t>(batch_.stack_frames.size()), stored.count});
    batch_.stack_frames.insert(batch_.stack_frames.end(), frames.begin(), frames.end());
    return stacks_[stack] = static_cast<Id>(batch_.stacks.size() - 1);
  }

  // Every mapping in stored order: the first one is the main program.
  Result<> AllMappings() {
    for (std::uint32_t m = 1; m < mappings_.size(); ++m) WHEREFORE_RETURN_IF_ERROR(Mapping(m));
    return {};
  }

  const store::SeriesRow* Series(std::uint32_t series) const {
    return series == 0 || series > series_.size() ? nullptr : &series_[series - 1];
  }
  // The profile-level set of a series.
  const store::SeriesRow* Owner(std::uint32_t series) const {
    const store::SeriesRow* row = Series(series);
    return row != nullptr && row->parent != 0 ? Series(row->parent) : row;
  }

  // Resource and scope of a profile, shared between profiles with the same series and extras.
  Result<std::pair<Id, Id>> Owners(std::uint32_t series, const std::string& extra) {
    const auto [it, added] = resources_.try_emplace({series, extra});
    if (!added) return it->second;
    profile::Resource resource;
    profile::Scope scope;
    resource.attributes.begin = static_cast<std::uint32_t>(batch_.own_attributes.size());
    std::vector<TypedAttribute> all;
    for (const std::string_view encoded :
         {Owner(series) != nullptr ? std::string_view(Owner(series)->encoded) : std::string_view(),
          std::string_view(extra)}) {
      WHEREFORE_ASSIGN_OR_RETURN(const auto part, profile::ReadTyped(encoded));
      all.insert(all.end(), part.begin(), part.end());
    }
    for (const TypedAttribute& a : all) {
      if (a.place == AttributePlace::kResource) AddInline(a);
      if (a.place == AttributePlace::kEntityRefs) Later(a.text, &profile::Resource::entity_refs);
    }
    resource.attributes.count =
        static_cast<std::uint32_t>(batch_.own_attributes.size()) - resource.attributes.begin;
    scope.attributes.begin = static_cast<std::uint32_t>(batch_.own_attributes.size());
    for (const TypedAttribute& a : all) {
      if (a.place == AttributePlace::kScope) AddInline(a);
      if (a.place == AttributePlace::kScopeName) Later(a.text, &profile::Scope::name);
      if (a.place == AttributePlace::kScopeVersion) Later(a.text, &profile::Scope::version);
    }
    scope.attributes.count =
        static_cast<std::uint32_t>(batch_.own_attributes.size()) - scope.attributes.begin;
    batch_.resources.push_back(resource);
    batch_.scopes.push_back(scope);
    it->second = {static_cast<Id>(batch_.resources.size() - 1),
                  static_cast<Id>(batch_.scopes.size() - 1)};
    return it->second;
  }

  // Attributes of one place out of encoded lists, as references into the dictionary's table.
  Result<profile::Range> Refs(AttributePlace place, std::initializer_list<std::string_view> lists) {
    profile::Range range{.begin = static_cast<std::uint32_t>(batch_.attribute_refs.size())};
    for (const std::string_view encoded : lists) {
      WHEREFORE_ASSIGN_OR_RETURN(const auto attributes, profile::ReadTyped(encoded));
      for (const TypedAttribute& a : attributes) {
        if (a.place != place) continue;
        std::string key;
        profile::AppendTyped(key, a);
        const auto [it, added] =
            attributes_.try_emplace(std::move(key), static_cast<Id>(batch_.attributes.size()));
        if (added) AddReferred(a);
        batch_.attribute_refs.push_back(it->second);
      }
    }
    range.count = static_cast<std::uint32_t>(batch_.attribute_refs.size()) - range.begin;
    return range;
  }

  // Counts what the batch has grown to, twice: its encoded form comes next.
  Result<> Count() {
    return claim_.Resize(2 * (batch_.ApproximateBytes() + text_bytes_) +
                         later_.size() * sizeof(later_[0]));
  }

  // Adds the strings that are written inline: after all that are referred to by index, so that a
  // dictionary holds none of them. Call once, at the end.
  void Finish() {
    for (const auto& [text, place] : later_) *place(batch_) = batch_.AddText(text);
    later_.clear();
    claim_.Keep();
  }

  // The first part of the last profile's type id; no wire format has a place for it.
  void NameProfile(std::string_view name) {
    later_.emplace_back(
        name, [at = batch_.profiles.size() - 1](Batch& b) { return &b.profiles[at].name; });
  }

  Id Text(std::string_view text) {
    if (text.empty()) return 0;
    const auto [it, added] = texts_.try_emplace(std::string(text), 0);
    if (added) {
      it->second = batch_.AddText(text);
      text_bytes_ += 2 * text.size();
    }
    return it->second;
  }

  Id Link(const profile::TraceId& trace, const profile::SpanId& span) {
    if (trace == profile::TraceId{} && span == profile::SpanId{}) return 0;
    const auto [it, added] =
        links_.try_emplace({trace, span}, static_cast<Id>(batch_.links.size()));
    if (added) batch_.links.push_back({trace, span});
    return it->second;
  }

 private:
  // An attribute of the dictionary's table: key and unit by index, the value inline.
  void AddReferred(const TypedAttribute& a) {
    const std::size_t at = batch_.attributes.size();
    batch_.attributes.push_back(
        {.key = Text(a.key), .unit = Text(a.unit), .value = {.kind = a.kind, .number = a.number}});
    if (!a.text.empty()) {
      later_.emplace_back(a.text, [at](Batch& b) { return &b.attributes[at].value.text; });
    }
  }
  // An attribute of a resource or scope: all of it inline.
  void AddInline(const TypedAttribute& a) {
    const std::size_t at = batch_.own_attributes.size();
    batch_.own_attributes.push_back({.value = {.kind = a.kind, .number = a.number}});
    later_.emplace_back(a.key, [at](Batch& b) { return &b.own_attributes[at].key; });
    later_.emplace_back(a.unit, [at](Batch& b) { return &b.own_attributes[at].unit; });
    later_.emplace_back(a.text, [at](Batch& b) { return &b.own_attributes[at].value.text; });
  }
  // A text of the resource or scope that is about to be added.
  void Later(std::string_view text, Id profile::Resource::* field) {
    later_.emplace_back(text, [at = batch_.resources.size(), field](Batch& b) {
      return &(b.resources[at].*field);
    });
  }
  void Later(std::string_view text, Id profile::Scope::* field) {
    later_.emplace_back(
        text, [at = batch_.scopes.size(), field](Batch& b) { return &(b.scopes[at].*field); });
  }

  Result<Id> Mapping(std::uint32_t id) {
    if (id == 0) return Id{0};
    if (id >= mappings_.size()) return Id{0};
    if (mappings_[id] != 0) return mappings_[id];
    const store::MappingRow& row = rows_.mappings[id - 1];
    WHEREFORE_ASSIGN_OR_RETURN(const profile::Range attributes,
                               Refs(AttributePlace::kMapping, {row.attributes}));
    batch_.mappings.push_back({.start = row.start,
                               .limit = row.limit,
                               .file_offset = row.file_offset,
                               .filename = Text(row.file),
                               .attributes = attributes});
    return mappings_[id] = static_cast<Id>(batch_.mappings.size() - 1);
  }

  Result<Id> Function(std::uint32_t id) {
    if (id == 0) return Id{0};
    if (id >= functions_.size()) return Function({.name = std::string(profile::kNameLost)});
    if (functions_[id] != 0) return functions_[id];
    const store::FunctionRow& row = rows_.functions[id - 1];
    batch_.functions.push_back({.name = Text(row.name),
                                .system_name = Text(row.system_name),
                                .filename = Text(row.file),
                                .start_line = row.start_line});
    return functions_[id] = static_cast<Id>(batch_.functions.size() - 1);
  }

  Id Function(const symbols::ResolvedLine& line) {
    const profile::Function function{.name = Text(line.name),
                                     .system_name = Text(line.system_name),
                                     .filename = Text(line.file),
                                     .start_line = line.start_line};
    const auto [it, added] = resolved_functions_.try_emplace(
        {function.name, function.system_name, function.filename, function.start_line},
        static_cast<Id>(batch_.functions.size()));
    if (added) batch_.functions.push_back(function);
    return it->second;
  }

  Result<std::vector<profile::Line>> Lines(std::uint32_t frame) {
    std::vector<profile::Line> lines;
    if (const symbols::ResolvedFrame* const resolved = resolved_.Of(frame - 1)) {
      for (const symbols::ResolvedLine& line : *resolved) {
        lines.push_back({.function = Function(line), .line = line.line, .column = line.column});
      }
      return lines;
    }
    for (const store::LineRow& line : rows_.frames[frame - 1].lines) {
      WHEREFORE_ASSIGN_OR_RETURN(const Id function, Function(line.function));
      lines.push_back({.function = function, .line = line.line, .column = line.column});
    }
    return lines;
  }

  // What was lost with a part of the disk: one frame, one stack, for all of it.
  Id LostFrame() {
    if (lost_frame_ == 0) {
      const Id function = Function({.name = std::string(profile::kNameLost)});
      batch_.frames.push_back({.lines = {static_cast<std::uint32_t>(batch_.lines.size()), 1}});
      batch_.lines.push_back({.function = function});
      lost_frame_ = static_cast<Id>(batch_.frames.size() - 1);
    }
    return lost_frame_;
  }
  Id LostStack() {
    if (lost_stack_ == 0) {
      const Id frame = LostFrame();
      batch_.stacks.push_back({static_cast<std::uint32_t>(batch_.stack_frames.size()), 1});
      batch_.stack_frames.push_back(frame);
      lost_stack_ = static_cast<Id>(batch_.stacks.size() - 1);
    }
    return lost_stack_;
  }

  Result<Id> Frame(std::uint32_t id) {
    if (id == 0) return Id{0};
    if (id >= frames_.size()) return LostFrame();
    if (frames_[id] != 0) return frames_[id];
    const store::FrameRow& row = rows_.frames[id - 1];
    profile::Frame frame{.address = row.address};
    WHEREFORE_ASSIGN_OR_RETURN(frame.mapping, Mapping(row.mapping));
    WHEREFORE_ASSIGN_OR_RETURN(frame.attributes, Refs(AttributePlace::kFrame, {row.attributes}));
    WHEREFORE_ASSIGN_OR_RETURN(const std::vector<profile::Line> lines, Lines(id));
    frame.lines = {static_cast<std::uint32_t>(batch_.lines.size()),
                   static_cast<std::uint32_t>(lines.size())};
    batch_.lines.insert(batch_.lines.end(), lines.begin(), lines.end());
    batch_.frames.push_back(frame);
    return frames_[id] = static_cast<Id>(batch_.frames.size() - 1);
  }

  Batch& batch_;
  symbols::Symbolizer* const symbolizer_;
  const CancelToken& cancel_;
  MemoryClaim claim_;
  std::size_t text_bytes_ = 0;
  std::size_t dictionary_bytes_ = 0;  // charged for rows_ and series_
  bool opened_ = false;
  store::DictionaryKey key_;
  store::DictionaryRows rows_;
  FrameLines resolved_;
  std::vector<store::SeriesRow> series_;
  std::vector<Id> mappings_, functions_, frames_, stacks_;  // stored id -> id in the batch
  std::map<std::pair<std::uint32_t, std::string>, std::pair<Id, Id>> resources_;
  std::map<std::tuple<Id, Id, Id, std::int64_t>, Id> resolved_functions_;
  Id lost_frame_ = 0;
  Id lost_stack_ = 0;
  std::unordered_map<std::string, Id> attributes_;
  std::unordered_map<std::string, Id> texts_;
  std::map<std::pair<profile::TraceId, profile::SpanId>, Id> links_;
  std::vector<std::pair<std::string, std::function<Id*(Batch&)>>> later_;
};

void SetType(Assembler& assembler, profile::Profile& p, const profile::ProfileType& type) {
  p.sample_type = {assembler.Text(type.sample_type), assembler.Text(type.sample_unit)};
  p.period_type = {assembler.Text(type.period_type), assembler.Text(type.period_unit)};
  p.period = type.period;
  p.has_cpu_sibling = !type.stands_for_cpu;
}

Result<> AddStored(Assembler& assembler, Batch& batch, store::Reader& reader,
                   const store::ProfileRow& row, const profile::ProfileType& type,
                   const CancelToken& cancel) {
  WHEREFORE_RETURN_IF_ERROR(cancel.Check());
  WHEREFORE_RETURN_IF_ERROR(assembler.Open(reader, row.dictionary));
  WHEREFORE_RETURN_IF_ERROR(assembler.AllMappings());
  std::vector<store::SampleRow> samples;
  {
    const MemoryScope scope(cancel);  // gone after this profile
    WHEREFORE_ASSIGN_OR_RETURN(samples, reader.ProfileSamples(row, cancel));
  }
  profile::Profile p;
  SetType(assembler, p, type);
  WHEREFORE_ASSIGN_OR_RETURN(const auto owners, assembler.Owners(row.series, row.attributes));
  p.resource = owners.first;
  p.scope = owners.second;
  const store::SeriesRow* owner = assembler.Owner(row.series);
  WHEREFORE_ASSIGN_OR_RETURN(
      p.attributes,
      assembler.Refs(AttributePlace::kProfile,
                     {owner != nullptr ? std::string_view(owner->encoded) : std::string_view(),
                      std::string_view(row.attributes)}));
  p.time_ns = static_cast<std::uint64_t>(row.time_ns);
  p.duration_ns = static_cast<std::uint64_t>(row.duration_ns);
  p.id = row.id;
  p.first_sample = static_cast<std::uint32_t>(batch.samples.size());
  p.sample_count = static_cast<std::uint32_t>(samples.size());
  for (const store::SampleRow& s : samples) {
    WHEREFORE_ASSIGN_OR_RETURN(const Id stack, assembler.Stack(s.stack));
    const store::SeriesRow* own = s.series != row.series ? assembler.Series(s.series) : nullptr;
    WHEREFORE_ASSIGN_OR_RETURN(
        const profile::Range attributes,
        assembler.Refs(AttributePlace::kSample,
                       {own != nullptr ? std::string_view(own->encoded) : std::string_view(),
                        std::string_view(s.attributes)}));
    profile::Range times{static_cast<std::uint32_t>(batch.times.size()),
                         static_cast<std::uint32_t>(s.times.size())};
    batch.times.insert(batch.times.end(), s.times.begin(), s.times.end());
    profile::Range values{static_cast<std::uint32_t>(batch.values.size()),
                          static_cast<std::uint32_t>(s.values.size())};
    batch.values.insert(batch.values.end(), s.values.begin(), s.values.end());
    if (s.times.empty() && s.values.empty()) {
      values.count = 1;
      batch.values.push_back(s.value);
    }
    batch.samples.Append(stack, attributes, assembler.Link(s.trace, s.span), s.value, times,
                         values);
    const std::int64_t count =
        type.count_rule == profile::CountRule::kStored
            ? s.count
            : profile::ImpliedObservations(batch, p, batch.samples.size() - 1);
    batch.samples.count.push_back(
        static_cast<std::uint32_t>(std::clamp<std::int64_t>(count, 0, UINT32_MAX)));
  }
  batch.profiles.push_back(p);
  assembler.NameProfile(type.name);
  return assembler.Count();
}

// The CPU time that counts stand for, as a type of its own.
profile::ProfileType CpuOf(const profile::ProfileType& counts) {
  profile::ProfileType cpu = counts;
  cpu.sample_type = counts.period_type;
  cpu.sample_unit = counts.period_unit;
  cpu.stands_for_cpu = false;
  return cpu;
}

// pprof shows the last type of a file first, so the one that was asked for goes there; counts of
// samples come before what they count, as Go's own files have it.
std::vector<profile::ProfileType> InFileOrder(
    const std::map<std::string, profile::ProfileType>& types, std::string_view wanted) {
  std::vector<profile::ProfileType> out;
  out.reserve(types.size());
  for (const auto& [id, type] : types) out.push_back(type);
  std::stable_sort(out.begin(), out.end(), [&](const auto& a, const auto& b) {
    const auto rank = [&](const profile::ProfileType& t) {
      if (t.sample_type == "samples" && wanted != "samples") return 0;
      return profile::MatchType(t, wanted) ? 2 : 1;
    };
    return rank(a) < rank(b);
  });
  return out;
}

}  // namespace

Result<Batch> Engine::StoredProfile(std::uint32_t tenant, const profile::ProfileId& id,
                                    const CancelToken& cancel) {
  if (id == profile::ProfileId{}) {
    return Error(Code::kNotFound,
                 "the id of all zeros stands for profiles that were sent without one");
  }
  WHEREFORE_ASSIGN_OR_RETURN(const auto rows, reader_.ProfileById(tenant, id, cancel));
  if (rows.empty()) return Error(Code::kNotFound, "no stored profile has the id " + ToHex(id));
  Batch batch;
  Assembler assembler(batch, nullptr, cancel);
  for (const store::ProfileRow& row : rows) {
    WHEREFORE_ASSIGN_OR_RETURN(const auto types, catalog_.Types({row.dictionary}, cancel));
    for (const store::TypeRow& t : types) {
      if (t.type != row.type) continue;
      WHEREFORE_RETURN_IF_ERROR(AddStored(assembler, batch, reader_, row, t.details, cancel));
      WHEREFORE_ASSIGN_OR_RETURN(const store::Payload payload,
                                 reader_.OriginalPayload(row, cancel));
      if (!payload.bytes->empty()) {
        batch.profiles.back().payload = *payload.bytes;
        batch.Own(payload.bytes);
        batch.profiles.back().payload_format = batch.AddText(payload.format);
      }
      break;
    }
  }
  assembler.Finish();
  return batch;
}

Result<Batch> Engine::StoredProfiles(const Selection& selection, std::size_t limit,
                                     const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(Resolved r,
                             catalog_.Resolve(selection, {.all_types_of_family = true}, cancel));
  Batch batch;
  if (r.query.selections.empty()) {
    return Error(Code::kNotFound, catalog_.ExplainEmpty(selection, cancel));
  }
  WHEREFORE_ASSIGN_OR_RETURN(auto rows, reader_.Profiles(r.query, limit, cancel));
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.dictionary < b.dictionary; });
  Assembler assembler(batch, nullptr, cancel);
  for (const store::ProfileRow& row : rows) {
    WHEREFORE_RETURN_IF_ERROR(
        AddStored(assembler, batch, reader_, row, r.types.at(row.type).details, cancel));
  }
  assembler.Finish();
  return batch;
}

Result<Batch> Engine::Merged(const Selection& selection, const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(Resolved r,
                             catalog_.Resolve(selection, {.all_types_of_family = true}, cancel));
  if (r.query.selections.empty()) {
    return Error(Code::kNotFound, catalog_.ExplainEmpty(selection, cancel));
  }
  WHEREFORE_ASSIGN_OR_RETURN(const auto sums, reader_.SumStacksBySeries(r.query, cancel));
  WHEREFORE_ASSIGN_OR_RETURN(const auto profiles, reader_.Profiles(r.query, 0, cancel));
  if (sums.empty() && profiles.empty()) {
    return Error(Code::kNotFound, catalog_.ExplainEmpty(selection, cancel));
  }

  // Same keys in the same order for every type, so that they become columns of one pprof file.
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // selection, stack, series
  std::map<Key, std::size_t> keys;
  std::map<std::string, profile::ProfileType> types;  // by five-part id
  std::map<std::string, std::pair<std::int64_t, std::int64_t>>
      spans;  // id -> first start, sum of durations
  for (const auto& [hash, use] : r.types) types.try_emplace(use.details.Id(), use.details);
  for (const store::StackSumBySeries& s : sums) {
    keys.try_emplace({s.sum.dictionary, s.sum.stack, s.series}, 0);
  }
  constexpr std::size_t kKeyBytes = sizeof(Key) + 96;  // a node of the map, and a row
  WHEREFORE_RETURN_IF_ERROR(
      cancel.Charge(keys.size() * (kKeyBytes + types.size() * sizeof(std::int64_t))));
  std::size_t next = 0;
  for (auto& [key, index] : keys) index = next++;
  for (const store::ProfileRow& p : profiles) {
    auto& [start, duration] =
        spans.try_emplace(r.types.at(p.type).details.Id(), INT64_MAX, 0).first->second;
    start = std::min(start, p.time_ns);
    duration += p.duration_ns;
  }
  std::map<std::string, std::vector<std::int64_t>> columns;
  const auto add = [&](const std::string& id, const store::StackSumBySeries& s,
                       std::int64_t value) {
    auto& column = columns[id];
    column.resize(keys.size());
    std::int64_t& cell = column[keys.at({s.sum.dictionary, s.sum.stack, s.series})];
    cell = SaturatingAdd(cell, value);
  };
  for (const store::StackSumBySeries& s : sums) {
    const profile::ProfileType& type = r.types.at(s.sum.type).details;
    add(type.Id(), s, s.sum.value);
    if (!type.stands_for_cpu) continue;
    // Counts of different periods can only be added up as time.
    const profile::ProfileType cpu = CpuOf(type);
    types.try_emplace(cpu.Id(), cpu);
    spans.try_emplace(cpu.Id(), spans[type.Id()]);
    add(cpu.Id(), s, SaturatingMultiply(s.sum.value, type.period));
  }

  Batch batch;
  Assembler assembler(batch, symbolizer_, cancel);
  std::vector<std::pair<Id, profile::Range>> rows(keys.size());
  profile::Profile shared;
  for (const auto& [key, index] : keys) {
    const auto [selected, stack, series] = key;
    WHEREFORE_RETURN_IF_ERROR(assembler.Open(reader_, r.query.selections[selected].dictionary));
    constexpr std::size_t kCountEvery = 1024;
    if (index % kCountEvery == 0) WHEREFORE_RETURN_IF_ERROR(assembler.Count());
    if (index == 0) {
      WHEREFORE_RETURN_IF_ERROR(assembler.AllMappings());
      WHEREFORE_ASSIGN_OR_RETURN(const auto owners, assembler.Owners(series, {}));
      shared.resource = owners.first;
      shared.scope = owners.second;
      const store::SeriesRow* owner = assembler.Owner(series);
      WHEREFORE_ASSIGN_OR_RETURN(shared.attributes,
                                 assembler.Refs(AttributePlace::kProfile,
                                                {owner != nullptr ? std::string_view(owner->encoded)
                                                                  : std::string_view()}));
    }
    WHEREFORE_ASSIGN_OR_RETURN(rows[index].first, assembler.Stack(stack));
    const store::SeriesRow* own = assembler.Series(series);
    WHEREFORE_ASSIGN_OR_RETURN(
        rows[index].second,
        assembler.Refs(AttributePlace::kSample,
                       {own != nullptr && own->parent != 0 ? std::string_view(own->encoded)
                                                           : std::string_view()}));
  }
  for (const profile::ProfileType& type : InFileOrder(types, r.type)) {
    const std::string id = type.Id();
    profile::Profile p = shared;
    SetType(assembler, p, type);
    p.has_cpu_sibling = types.size() > 1;
    const auto span = spans.find(id);
    if (span == spans.end()) continue;
    p.time_ns = static_cast<std::uint64_t>(span->second.first);
    p.duration_ns = static_cast<std::uint64_t>(span->second.second);
    p.first_sample = static_cast<std::uint32_t>(batch.samples.size());
    p.sample_count = static_cast<std::uint32_t>(rows.size());
    auto& column = columns[id];
    column.resize(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const profile::Range value{static_cast<std::uint32_t>(batch.values.size()), 1};
      batch.values.push_back(column[i]);
      batch.samples.Append(rows[i].first, rows[i].second, 0, column[i], {}, value);
    }
    batch.profiles.push_back(p);
    assembler.NameProfile(type.name);
    WHEREFORE_RETURN_IF_ERROR(assembler.Count());
  }
  assembler.Finish();
  return batch;
}

}  // namespace wherefore::query
