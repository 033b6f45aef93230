#include "query/batch_assembler.h"

#include "profile/frame_name.h"

namespace wherefore::query {

using profile::AttributePlace;
using profile::Batch;
using profile::Id;
using profile::TypedAttribute;

Result<> BatchAssembler::Open(store::Reader& reader, const store::DictionaryKey& key) {
  if (opened_ && key == key_) return {};
  opened_ = false;
  rows_ = {};
  series_.clear();
  cancel_.Release(std::exchange(dictionary_bytes_, 0));  // one dictionary at a time
  const std::int64_t before = cancel_.memory_used();
  WHEREFORE_ASSIGN_OR_RETURN(auto rows, reader.Dictionary(key, {}, cancel_));
  WHEREFORE_ASSIGN_OR_RETURN(auto series, reader.Series(key, 1, cancel_));
  dictionary_bytes_ = static_cast<std::size_t>(cancel_.memory_used() - before);
  Open(key, std::move(rows), std::move(series));
  return {};
}

void BatchAssembler::Open(const store::DictionaryKey& key, store::DictionaryRows rows,
                          std::vector<store::SeriesRow> series) {
  opened_ = true;
  key_ = key;
  rows_ = std::move(rows);
  series_ = std::move(series);
  resolved_ = ResolveFrames(symbolizer_, rows_.frames, rows_.mappings);
  mappings_.assign(rows_.mappings.size() + 1, 0);
  functions_.assign(rows_.functions.size() + 1, 0);
  frames_.assign(rows_.frames.size() + 1, 0);
  stacks_.assign(rows_.stacks.size() + 1, 0);
  resources_.clear();
}

Result<Id> BatchAssembler::Stack(std::uint32_t stack) {
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

Result<> BatchAssembler::AllMappings() {
  for (std::uint32_t m = 1; m < mappings_.size(); ++m) WHEREFORE_RETURN_IF_ERROR(Mapping(m));
  return {};
}

const store::SeriesRow* BatchAssembler::Series(std::uint32_t series) const {
  return series == 0 || series > series_.size() ? nullptr : &series_[series - 1];
}

const store::SeriesRow* BatchAssembler::Owner(std::uint32_t series) const {
  const store::SeriesRow* row = Series(series);
  return row != nullptr && row->parent != 0 ? Series(row->parent) : row;
}

Result<std::pair<Id, Id>> BatchAssembler::Owners(std::uint32_t series, const std::string& extra) {
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

Result<profile::Range> BatchAssembler::Refs(AttributePlace place,
                                            std::initializer_list<std::string_view> lists) {
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

Result<> BatchAssembler::Count() {
  return claim_.Resize(2 * (batch_.ApproximateBytes() + text_bytes_) +
                       later_.size() * sizeof(later_[0]));
}

void BatchAssembler::Finish() {
  for (const auto& [text, place] : later_) *place(batch_) = batch_.AddText(text);
  later_.clear();
  claim_.Keep();
}

void BatchAssembler::NameProfile(std::string_view name) {
  later_.emplace_back(name,
                      [at = batch_.profiles.size() - 1](Batch& b) { return &b.profiles[at].name; });
}

Id BatchAssembler::Text(std::string_view text) {
  if (text.empty()) return 0;
  const auto [it, added] = texts_.try_emplace(std::string(text), 0);
  if (added) {
    it->second = batch_.AddText(text);
    text_bytes_ += 2 * text.size();
  }
  return it->second;
}

Id BatchAssembler::Link(const profile::TraceId& trace, const profile::SpanId& span) {
  if (trace == profile::TraceId{} && span == profile::SpanId{}) return 0;
  const auto [it, added] = links_.try_emplace({trace, span}, static_cast<Id>(batch_.links.size()));
  if (added) batch_.links.push_back({trace, span});
  return it->second;
}

void BatchAssembler::AddReferred(const TypedAttribute& a) {
  const std::size_t at = batch_.attributes.size();
  batch_.attributes.push_back(
      {.key = Text(a.key), .unit = Text(a.unit), .value = {.kind = a.kind, .number = a.number}});
  if (!a.text.empty()) {
    later_.emplace_back(a.text, [at](Batch& b) { return &b.attributes[at].value.text; });
  }
}

void BatchAssembler::AddInline(const TypedAttribute& a) {
  const std::size_t at = batch_.own_attributes.size();
  batch_.own_attributes.push_back({.value = {.kind = a.kind, .number = a.number}});
  later_.emplace_back(a.key, [at](Batch& b) { return &b.own_attributes[at].key; });
  later_.emplace_back(a.unit, [at](Batch& b) { return &b.own_attributes[at].unit; });
  later_.emplace_back(a.text, [at](Batch& b) { return &b.own_attributes[at].value.text; });
}

void BatchAssembler::Later(std::string_view text, Id profile::Resource::* field) {
  later_.emplace_back(
      text, [at = batch_.resources.size(), field](Batch& b) { return &(b.resources[at].*field); });
}

void BatchAssembler::Later(std::string_view text, Id profile::Scope::* field) {
  later_.emplace_back(
      text, [at = batch_.scopes.size(), field](Batch& b) { return &(b.scopes[at].*field); });
}

Result<Id> BatchAssembler::Mapping(std::uint32_t id) {
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

Result<Id> BatchAssembler::Function(std::uint32_t id) {
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

Id BatchAssembler::Function(const symbols::ResolvedLine& line) {
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

Result<std::vector<profile::Line>> BatchAssembler::Lines(std::uint32_t frame) {
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

Id BatchAssembler::LostFrame() {
  if (lost_frame_ == 0) {
    const Id function = Function({.name = std::string(profile::kNameLost)});
    batch_.frames.push_back({.lines = {static_cast<std::uint32_t>(batch_.lines.size()), 1}});
    batch_.lines.push_back({.function = function});
    lost_frame_ = static_cast<Id>(batch_.frames.size() - 1);
  }
  return lost_frame_;
}

Id BatchAssembler::LostStack() {
  if (lost_stack_ == 0) {
    const Id frame = LostFrame();
    batch_.stacks.push_back({static_cast<std::uint32_t>(batch_.stack_frames.size()), 1});
    batch_.stack_frames.push_back(frame);
    lost_stack_ = static_cast<Id>(batch_.stacks.size() - 1);
  }
  return lost_stack_;
}

Result<Id> BatchAssembler::Frame(std::uint32_t id) {
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

}  // namespace wherefore::query
