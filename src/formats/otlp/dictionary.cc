#include "formats/otlp/dictionary.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "formats/otlp/common.h"
#include "formats/wire/size32.h"
#include "profile/limits.h"

namespace wherefore::formats {

using profile::Id;
using profile::Range;

namespace {

bool AllZero(std::string_view bytes) {
  return std::ranges::all_of(bytes, [](char c) { return c == 0; });
}

template <std::size_t N>
bool CopyId(std::string_view bytes, std::array<std::uint8_t, N>& out) {
  if (bytes.size() != N) return false;
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return true;
}

// The largest of many indices: one linear pass that the compiler vectorizes.
template <typename Items, typename... Fields>
Id Largest(const Items& items, Fields... fields) {
  Id largest = 0;
  for (const auto& item : items) ((largest = std::max(largest, item.*fields)), ...);
  return largest;
}
Id Largest(const std::vector<Id>& ids) {
  Id largest = 0;
  for (const Id id : ids) largest = std::max(largest, id);
  return largest;
}

}  // namespace

DictionaryDecoder::DictionaryDecoder(profile::Batch& batch, Notes& notes)
    : batch_(batch), notes_(notes) {
  // The sender's entries begin at 0; Finish() adds a null entry to a table that stayed empty.
  batch_.strings.clear();
  batch_.mappings.clear();
  batch_.functions.clear();
  batch_.frames.clear();
  batch_.stacks.clear();
  batch_.links.clear();
  batch_.attributes.clear();
}

bool DictionaryDecoder::Read(Pbf r) {
  constexpr std::size_t kMaxTinyEntries = 1'000'000;
  while (r.next()) {
    if (r.wire_type() != protozero::pbf_wire_type::length_delimited) {
      r.skip();
      continue;
    }
    const Tag tag = r.tag();
    const std::string_view entry = GetView(r);
    if (entry.size() < 2 && ++tiny_entries_ > kMaxTinyEntries) return false;
    switch (tag) {
      case dictionary::kMappings:
        at_table_ = kMapping;
        ReadMapping(Reader(entry));
        break;
      case dictionary::kLocations:
        at_table_ = kLocation;
        ReadLocation(Reader(entry));
        break;
      case dictionary::kFunctions:
        at_table_ = kFunction;
        ReadFunction(Reader(entry));
        break;
      case dictionary::kLinks:
        at_table_ = kLink;
        ReadLink(Reader(entry));
        break;
      case dictionary::kStrings:
        at_table_ = kString;
        ReadString(entry);
        break;
      case dictionary::kAttributes:
        at_table_ = kAttribute;
        ReadAttribute(Reader(entry));
        break;
      case dictionary::kStacks:
        at_table_ = kStack;
        ReadStack(Reader(entry));
        break;
      default:
        break;
    }
  }
  at_table_ = kTables;
  return true;
}

void DictionaryDecoder::ReadMapping(Pbf r) {
  profile::Mapping& m = batch_.mappings.emplace_back();
  m.attributes.begin = Size32(batch_.attribute_refs.size());
  while (r.next()) {
    switch (r.tag_and_type()) {
      case VarintKey(mapping::kStart):
        m.start = r.get_uint64();
        break;
      case VarintKey(mapping::kLimit):
        m.limit = r.get_uint64();
        break;
      case VarintKey(mapping::kFileOffset):
        m.file_offset = r.get_uint64();
        break;
      case VarintKey(mapping::kFilename):
        m.filename = GetIndex(r);
        break;
      case LenKey(mapping::kAttributes):
        AppendPackedVarints(GetView(r), batch_.attribute_refs);
        break;
      case VarintKey(mapping::kAttributes):
        batch_.attribute_refs.push_back(GetIndex(r));
        break;
      default:
        r.skip();
    }
  }
  m.attributes.count = Size32(batch_.attribute_refs.size()) - m.attributes.begin;
}

void DictionaryDecoder::ReadLocation(Pbf r) {
  profile::Frame& f = batch_.frames.emplace_back();
  f.lines.begin = Size32(batch_.lines.size());
  f.attributes.begin = Size32(batch_.attribute_refs.size());
  while (r.next()) {
    switch (r.tag_and_type()) {
      case VarintKey(location::kMapping):
        f.mapping = GetIndex(r);
        break;
      case VarintKey(location::kAddress):
        f.address = r.get_uint64();
        break;
      case LenKey(location::kLines):
        ReadLine(r.get_message());
        break;
      case LenKey(location::kAttributes):
        AppendPackedVarints(GetView(r), batch_.attribute_refs);
        break;
      case VarintKey(location::kAttributes):
        batch_.attribute_refs.push_back(GetIndex(r));
        break;
      default:
        r.skip();
    }
  }
  f.lines.count = Size32(batch_.lines.size()) - f.lines.begin;
  f.attributes.count = Size32(batch_.attribute_refs.size()) - f.attributes.begin;
}

void DictionaryDecoder::ReadLine(Pbf r) {
  profile::Line l;
  while (r.next()) {
    switch (r.tag_and_type()) {
      case VarintKey(line::kFunction):
        l.function = GetIndex(r);
        // The Collector's pprof translator writes -1 for a line without a function.
        if (l.function == UINT32_MAX) {
          l.function = 0;
          if (!std::exchange(noted_unset_function_, true)) {
            notes_.Add("dictionary.location_table: lines.function_index -1 is read as \"not set\"");
          }
        }
        break;
      case VarintKey(line::kLine):
        l.line = r.get_int64();
        break;
      case VarintKey(line::kColumn):
        l.column = r.get_int64();
        break;
      default:
        r.skip();
    }
  }
  batch_.lines.push_back(l);
}

void DictionaryDecoder::ReadFunction(Pbf r) {
  profile::Function f;
  while (r.next()) {
    switch (r.tag_and_type()) {
      case VarintKey(function::kName):
        f.name = GetIndex(r);
        break;
      case VarintKey(function::kSystemName):
        f.system_name = GetIndex(r);
        break;
      case VarintKey(function::kFilename):
        f.filename = GetIndex(r);
        break;
      case VarintKey(function::kStartLine):
        f.start_line = r.get_int64();
        break;
      default:
        r.skip();
    }
  }
  batch_.functions.push_back(f);
}

void DictionaryDecoder::ReadLink(Pbf r) {
  std::string_view trace;
  std::string_view span_id;
  while (r.next()) {
    switch (r.tag_and_type()) {
      case LenKey(link::kTraceId):
        trace = GetView(r);
        break;
      case LenKey(link::kSpanId):
        span_id = GetView(r);
        break;
      default:
        r.skip();
    }
  }
  const Id id = Size32(batch_.links.size());
  profile::Link& l = batch_.links.emplace_back();
  // Entry 0 may be empty or all zeros, of any length.
  if (id == 0 && AllZero(trace) && AllZero(span_id)) return;
  if (!CopyId(trace, l.trace) || !CopyId(span_id, l.span)) {
    l = {};
    MarkBad(kLink, id,
            fmt::format("trace id of {} bytes, span id of {} bytes (16 and 8 expected)",
                        trace.size(), span_id.size()));
  }
}

void DictionaryDecoder::ReadString(std::string_view text) {
  if (IsValidUtf8(text)) {
    batch_.strings.push_back(text);
    return;
  }
  batch_.strings.emplace_back();
  MarkBad(kString, Size32(batch_.strings.size() - 1), "not UTF-8");
}

void DictionaryDecoder::ReadAttribute(Pbf r) {
  const Id id = Size32(batch_.attributes.size());
  profile::Attribute& a = batch_.attributes.emplace_back();
  while (r.next()) {
    switch (r.tag_and_type()) {
      case VarintKey(table_attribute::kKey):
        a.key = GetIndex(r);
        break;
      case VarintKey(table_attribute::kUnit):
        a.unit = GetIndex(r);
        break;
      // The value may need the string table, which may come later.
      case LenKey(table_attribute::kValue):
        pending_.emplace_back(id, GetView(r));
        break;
      default:
        r.skip();
    }
  }
}

void DictionaryDecoder::ReadStack(Pbf r) {
  Range range{Size32(batch_.stack_frames.size()), 0};
  std::size_t frames = 0;  // including those beyond the limit
  while (r.next()) {
    switch (r.tag_and_type()) {
      case LenKey(stack::kLocations): {
        const std::string_view packed = GetView(r);
        frames += CountVarints(packed);
        if (frames <= profile::kMaxStackFrames) AppendPackedVarints(packed, batch_.stack_frames);
        break;
      }
      case VarintKey(stack::kLocations): {
        const Id frame = GetIndex(r);
        if (++frames <= profile::kMaxStackFrames) batch_.stack_frames.push_back(frame);
        break;
      }
      default:
        r.skip();
    }
  }
  range.count = Size32(batch_.stack_frames.size()) - range.begin;
  batch_.stacks.push_back(range);
  if (frames > profile::kMaxStackFrames) {
    MarkBad(kStack, Size32(batch_.stacks.size() - 1),
            fmt::format("{} frames, a stack may have {}", frames, profile::kMaxStackFrames));
  }
}

void DictionaryDecoder::Finish() {
  MakeNullEntries();
  dictionary_strings_ = batch_.strings.size();
  for (std::size_t t = 0; t < kTables; ++t) {
    if (!bad_[t].empty()) bad_[t].resize(SizeOf(static_cast<Table>(t)));
  }
  FinishValues();
  CheckIndices();
  if (any_bad_) Propagate();
}

// Index 0 is null for us, whatever the sender put there; note it if there was something.
void DictionaryDecoder::MakeNullEntries() {
  const auto note = [this](Table table) {
    notes_.Add(fmt::format("dictionary.{}[0] is not empty; index 0 is read as \"not set\"",
                           kTableNames[table]));
  };
  const auto make = [&](auto& table, Table name, auto is_null) {
    if (table.empty()) {
      table.emplace_back();
    } else if (!is_null(table[0])) {
      note(name);
      table[0] = {};
      refilled_null_ = true;
    }
    if (!bad_[name].empty()) bad_[name][0] = 0;
  };
  make(batch_.strings, kString, [](std::string_view s) { return s.empty(); });
  make(batch_.mappings, kMapping, [](const profile::Mapping& m) {
    return m.start == 0 && m.limit == 0 && m.file_offset == 0 && m.filename == 0 &&
           m.attributes.count == 0;
  });
  make(batch_.functions, kFunction, [](const profile::Function& f) {
    return f.name == 0 && f.system_name == 0 && f.filename == 0 && f.start_line == 0;
  });
  make(batch_.frames, kLocation, [](const profile::Frame& f) {
    return f.mapping == 0 && f.address == 0 && f.lines.count == 0 && f.attributes.count == 0;
  });
  make(batch_.stacks, kStack, [](const Range& s) { return s.count == 0; });
  make(batch_.links, kLink, [](const profile::Link& l) {
    return l.trace == profile::TraceId{} && l.span == profile::SpanId{};
  });
  make(batch_.attributes, kAttribute,
       [](const profile::Attribute& a) { return a.key == 0 && a.unit == 0; });
}

void DictionaryDecoder::FinishValues() {
  AttributeReader reader(batch_, dictionary_strings_, bad_[kString]);
  for (const auto& [id, bytes] : pending_) {
    at_table_ = kAttribute;
    if (id == 0) {
      if (!bytes.empty()) notes_.Add("dictionary.attribute_table[0] is not empty");
      continue;
    }
    if (!reader.ReadValue(Reader(bytes), batch_.attributes[id].value)) {
      batch_.attributes[id].value = {};
      MarkBad(kAttribute, id, "value: " + reader.error());
    }
  }
  at_table_ = kTables;
}

void DictionaryDecoder::CheckIndex(Id& index, std::size_t size, Table owner, Id id,
                                   std::string_view field, Table target) {
  if (index < size) return;
  const auto wrong = static_cast<std::int32_t>(index);
  index = 0;
  if (IsBad(owner, id)) return;
  MarkBad(owner, id,
          reasons_full() ? std::string()
                         : fmt::format("{}: {} is outside {} ({} entries)", field, wrong,
                                       kTableNames[target], size));
}

void DictionaryDecoder::CheckRefs(Range range, Table owner, Id id) {
  for (std::uint32_t i = 0; i < range.count; ++i) {
    CheckIndex(batch_.attribute_refs[range.begin + i], batch_.attributes.size(), owner, id,
               "attribute_indices", kAttribute);
  }
}

void DictionaryDecoder::CheckIndices() {
  CheckOwners();
  // What is left belongs to nonempty entries 0. Nobody uses it, but it must be in range.
  if (!any_bad_ && !refilled_null_) return;
  const auto clear = [](Id& id, std::size_t size) { id = id < size ? id : 0; };
  for (Id& id : batch_.stack_frames) clear(id, batch_.frames.size());
  for (Id& id : batch_.attribute_refs) clear(id, batch_.attributes.size());
  for (profile::Line& l : batch_.lines) clear(l.function, batch_.functions.size());
}

void DictionaryDecoder::CheckOwners() {
  using profile::Attribute;
  using profile::Frame;
  using profile::Function;
  using profile::Line;
  using profile::Mapping;
  profile::Batch& b = batch_;
  const std::size_t strings = dictionary_strings_;
  const bool refs_ok = Largest(b.attribute_refs) < b.attributes.size();
  if (Largest(b.functions, &Function::name, &Function::system_name, &Function::filename) >=
      strings) {
    for (Id i = 0; i < b.functions.size(); ++i) {
      CheckIndex(b.functions[i].name, strings, kFunction, i, "name_strindex", kString);
      CheckIndex(b.functions[i].system_name, strings, kFunction, i, "system_name_strindex",
                 kString);
      CheckIndex(b.functions[i].filename, strings, kFunction, i, "filename_strindex", kString);
    }
  }
  if (Largest(b.attributes, &Attribute::key, &Attribute::unit) >= strings) {
    for (Id i = 0; i < b.attributes.size(); ++i) {
      CheckIndex(b.attributes[i].key, strings, kAttribute, i, "key_strindex", kString);
      CheckIndex(b.attributes[i].unit, strings, kAttribute, i, "unit_strindex", kString);
    }
  }
  if (!refs_ok || Largest(b.mappings, &Mapping::filename) >= strings) {
    for (Id i = 0; i < b.mappings.size(); ++i) {
      CheckIndex(b.mappings[i].filename, strings, kMapping, i, "filename_strindex", kString);
      CheckRefs(b.mappings[i].attributes, kMapping, i);
    }
  }
  if (!refs_ok || Largest(b.frames, &Frame::mapping) >= b.mappings.size() ||
      Largest(b.lines, &Line::function) >= b.functions.size()) {
    for (Id i = 0; i < b.frames.size(); ++i) {
      CheckIndex(b.frames[i].mapping, b.mappings.size(), kLocation, i, "mapping_index", kMapping);
      CheckRefs(b.frames[i].attributes, kLocation, i);
      for (std::uint32_t n = 0; n < b.frames[i].lines.count; ++n) {
        CheckIndex(b.lines[b.frames[i].lines.begin + n].function, b.functions.size(), kLocation, i,
                   "lines.function_index", kFunction);
      }
    }
  }
  if (Largest(b.stack_frames) >= b.frames.size()) {
    for (Id i = 0; i < b.stacks.size(); ++i) {
      for (std::uint32_t n = 0; n < b.stacks[i].count; ++n) {
        CheckIndex(b.stack_frames[b.stacks[i].begin + n], b.frames.size(), kStack, i,
                   "location_indices", kLocation);
      }
    }
  }
}

// What refers to a bad entry is bad too, with a reason that points there.
void DictionaryDecoder::Propagate() {
  profile::Batch& b = batch_;
  const auto reach = [this](Table owner, Id id, Table table, Id target) {
    if (!IsBad(table, target) || IsBad(owner, id)) return;
    MarkBad(owner, id, reasons_full() ? std::string() : Why(table, target));
  };
  for (Id i = 1; i < b.attributes.size(); ++i) {
    reach(kAttribute, i, kString, b.attributes[i].key);
    reach(kAttribute, i, kString, b.attributes[i].unit);
  }
  for (Id i = 1; i < b.functions.size(); ++i) {
    reach(kFunction, i, kString, b.functions[i].name);
    reach(kFunction, i, kString, b.functions[i].system_name);
    reach(kFunction, i, kString, b.functions[i].filename);
  }
  for (Id i = 1; i < b.mappings.size(); ++i) {
    reach(kMapping, i, kString, b.mappings[i].filename);
    for (const Id a : b.AttributeRefs(b.mappings[i].attributes)) reach(kMapping, i, kAttribute, a);
  }
  for (Id i = 1; i < b.frames.size(); ++i) {
    reach(kLocation, i, kMapping, b.frames[i].mapping);
    for (const profile::Line& l : b.FrameLines(b.frames[i]))
      reach(kLocation, i, kFunction, l.function);
    for (const Id a : b.AttributeRefs(b.frames[i].attributes)) reach(kLocation, i, kAttribute, a);
  }
  for (Id i = 1; i < b.stacks.size(); ++i) {
    for (const Id f : b.StackFrames(i)) reach(kStack, i, kLocation, f);
  }
}

void DictionaryDecoder::MarkBad(Table table, Id id, std::string reason) {
  any_bad_ = true;
  if (bad_[table].size() <= id) bad_[table].resize(std::max<std::size_t>(SizeOf(table), id + 1));
  if (bad_[table][id] != 0) return;
  bad_[table][id] = 1;
  if (!reasons_full()) reasons_.push_back({table, id, std::move(reason)});
}

std::string DictionaryDecoder::Why(Table table, Id id) const {
  for (const Reason& r : reasons_) {
    if (r.table == table && r.id == id) {
      return fmt::format("{}[{}]: {}", kTableNames[table], id, r.text);
    }
  }
  return fmt::format("{}[{}] is not valid", kTableNames[table], id);
}

std::size_t DictionaryDecoder::SizeOf(Table table) const {
  switch (table) {
    case kMapping:
      return batch_.mappings.size();
    case kLocation:
      return batch_.frames.size();
    case kFunction:
      return batch_.functions.size();
    case kLink:
      return batch_.links.size();
    case kString:
      return batch_.strings.size();
    case kAttribute:
      return batch_.attributes.size();
    case kStack:
      return batch_.stacks.size();
    case kTables:
      break;
  }
  return 0;
}

std::string DictionaryDecoder::where() const {
  if (at_table_ == kTables) return "dictionary";
  const std::size_t size = SizeOf(at_table_);
  return fmt::format("dictionary.{}[{}]", kTableNames[at_table_], size == 0 ? 0 : size - 1);
}

}  // namespace wherefore::formats
