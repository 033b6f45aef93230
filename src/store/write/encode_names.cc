// Encoder, part 1: ids for names. A name that is new to the dictionary gets the next id and a row.
#include "store/write/encode_rows.h"

namespace wherefore::store {

using profile::AttributePlace;
using profile::Batch;
using profile::Id;

namespace {

std::uint32_t Clamp32(std::int64_t value) {
  return value < 0 || value > UINT32_MAX ? 0 : static_cast<std::uint32_t>(value);
}

std::string EncodeRefs(const Batch& batch, profile::Range range, AttributePlace place) {
  std::string out;
  for (const Id id : batch.AttributeRefs(range)) {
    profile::AppendTyped(out, place, batch, batch.attributes[id]);
  }
  return out;
}

// The build id a person would look for: GNU's, else whatever the sender calls one.
std::string BuildId(const Batch& batch, profile::Range range) {
  std::string found;
  for (const Id id : batch.AttributeRefs(range)) {
    const std::string_view key = batch.Text(batch.attributes[id].key);
    if (key == "process.executable.build_id.gnu")
      return ValueText(batch, batch.attributes[id].value);
    if (found.empty() && key.find("build_id") != std::string_view::npos) {
      found = ValueText(batch, batch.attributes[id].value);
    }
  }
  return found;
}

}  // namespace

Rows::Row Encoder::Begin(Table table, const Dictionary& dictionary) {
  return (*rows_)[table].Begin(dictionary.key.bucket, dictionary.key.tenant,
                               dictionary.key.service);
}

std::uint32_t Encoder::InternFunction(const Batch& batch, Dictionary& dictionary, Id function) {
  if (function == 0) return 0;
  const Hash128& hash = hashes_->Function(batch, function);
  if (const std::uint32_t known = dictionary.functions.Find(hash)) return known;
  const std::uint32_t id = dictionary.functions.Add(hash);
  const profile::Function& f = batch.functions[function];
  Begin(Table::kFunctions, dictionary)
      .Put(dictionary.key.writer)
      .Put(id)
      .Text(batch.Text(f.name))
      .Text(batch.Text(f.system_name))
      .Text(batch.Text(f.filename))
      .Put(f.start_line);
  return id;
}

std::uint32_t Encoder::InternMapping(const Batch& batch, Dictionary& dictionary, Id mapping) {
  if (mapping == 0) return 0;
  const Hash128& hash = hashes_->Mapping(batch, mapping);
  if (const std::uint32_t known = dictionary.mappings.Find(hash)) return known;
  const std::uint32_t id = dictionary.mappings.Add(hash);
  const profile::Mapping& m = batch.mappings[mapping];
  Begin(Table::kMappings, dictionary)
      .Put(dictionary.key.writer)
      .Put(id)
      .Put(m.start)
      .Put(m.limit)
      .Put(m.file_offset)
      .Text(batch.Text(m.filename))
      .Text(BuildId(batch, m.attributes))
      .Text(EncodeRefs(batch, m.attributes, AttributePlace::kMapping));
  return id;
}

std::uint32_t Encoder::InternFrame(const Batch& batch, Dictionary& dictionary, Id frame) {
  if (frame == 0) return 0;
  if (frame_ids_of_ != &dictionary) {
    frame_ids_of_ = &dictionary;
    frame_ids_.assign(batch.frames.size(), 0);
  }
  std::uint32_t& remembered = frame_ids_[frame];
  if (remembered != 0) return remembered;
  const Hash128& hash = hashes_->Frame(batch, frame);
  remembered = dictionary.frames.Find(hash);
  if (remembered != 0) return remembered;
  const profile::Frame& f = batch.frames[frame];
  const std::uint32_t mapping = InternMapping(batch, dictionary, f.mapping);
  std::vector<std::uint32_t> functions;
  std::vector<std::uint32_t> lines;
  std::vector<std::uint32_t> columns;
  for (const profile::Line& line : batch.FrameLines(f)) {
    functions.push_back(InternFunction(batch, dictionary, line.function));
    lines.push_back(Clamp32(line.line));
    columns.push_back(Clamp32(line.column));
  }
  const std::uint32_t id = dictionary.frames.Add(hash);
  frame_ids_[frame] = id;
  Begin(Table::kFrames, dictionary)
      .Put(dictionary.key.writer)
      .Put(id)
      .Put(mapping)
      .Put(f.address)
      .Array(functions)
      .Array(lines)
      .Array(columns)
      .Text(EncodeRefs(batch, f.attributes, AttributePlace::kFrame));
  return id;
}

std::uint32_t Encoder::InternStack(const Batch& batch, Dictionary& dictionary, Id stack) {
  if (stack == 0) return 0;
  const Hash128& hash = hashes_->Stack(batch, stack);
  if (const std::uint32_t known = dictionary.stacks.Find(hash)) return known;
  std::vector<std::uint32_t> frames;
  for (const Id frame : batch.StackFrames(stack))
    frames.push_back(InternFrame(batch, dictionary, frame));
  const std::uint32_t id = dictionary.stacks.Add(hash);
  Begin(Table::kStacks, dictionary).Put(dictionary.key.writer).Put(id).Array(frames);
  return id;
}

void Encoder::InternType(Dictionary& dictionary, std::uint64_t hash,
                         const profile::ProfileType& type) {
  if (!dictionary.types.insert(hash).second) return;
  Begin(Table::kTypes, dictionary)
      .Put(dictionary.key.writer)
      .Put(hash)
      .Text(type.name)
      .Text(type.sample_type)
      .Text(type.sample_unit)
      .Text(type.period_type)
      .Text(type.period_unit)
      .Put(type.period)
      .Put(static_cast<std::uint32_t>(type.count_rule))
      .Put(type.stands_for_cpu ? 1u : 0u);
}

void Encoder::NameService(Dictionary& dictionary, std::string_view name, bool spans) {
  bool& named = spans ? dictionary.named_for_spans : dictionary.named_for_profiles;
  if (named) return;
  named = true;
  Begin(Table::kServices, dictionary).Put(dictionary.key.writer).Put(spans ? 2u : 1u).Text(name);
}

std::uint32_t Encoder::InternSeries(Dictionary& dictionary, std::uint32_t parent,
                                    const LabelSet& set, const LabelSet* wider) {
  const Hash128 hash = HashOfSeries(set.encoded(), parent);
  if (const std::uint32_t known = dictionary.series.Find(hash)) return known;
  // Labels of samples get half the room, so that they cannot lock new instances out.
  const std::size_t limit =
      parent == 0 ? options_.max_series_per_service : options_.max_series_per_service / 2;
  if (dictionary.series.size() >= limit || (parent != 0 && TooLarge())) return 0;
  const std::uint32_t id = dictionary.series.Add(hash);
  const LabelSet::Labels labels =
      wider == nullptr ? set.labels() : Merge(wider->labels(), set.labels());
  std::vector<std::string_view> names;
  std::vector<std::string_view> values;
  for (const auto& [name, value] : labels) {
    names.push_back(name);
    values.push_back(value);
    dictionary.label_values[std::string(name)].insert(Hash64(value));
  }
  Begin(Table::kSeries, dictionary)
      .Put(dictionary.key.writer)
      .Put(id)
      .Put(parent)
      .Texts(names)
      .Texts(values)
      .Text(set.encoded());
  return id;
}

}  // namespace wherefore::store
