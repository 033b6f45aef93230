#include "formats/jfr/builder.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "formats/jfr/names.h"
#include "formats/wire/size32.h"
#include "formats/wire/utf8.h"

namespace wherefore::formats {

using profile::Id;
using profile::Range;
using profile::Value;

namespace {

constexpr std::size_t kEntryBytes = 64;  // a hash table entry and what it refers to

const std::string kUnknown = "[unknown]";

template <std::size_t N>
void PutBigEndian(std::array<std::uint8_t, N>& out, std::size_t at, std::uint64_t value) {
  for (std::size_t i = 8; i-- > 0; value >>= 8) out[at + i] = static_cast<std::uint8_t>(value);
}

}  // namespace

JfrBuilder::JfrBuilder(profile::Batch& batch, std::size_t file_bytes, const JfrLabels& labels)
    : b_(batch), labels_(labels) {
  constexpr std::int64_t kAlwaysFine = std::int64_t{16} << 20;
  constexpr std::int64_t kTimes = 32;
  budget_ = kAlwaysFine + kTimes * static_cast<std::int64_t>(file_bytes);
}

template <typename... T>
Hash128 JfrBuilder::KeyOf(T... parts) {
  const std::array<std::uint64_t, sizeof...(parts)> key = {static_cast<std::uint64_t>(parts)...};
  return HashBytes(key.data(), sizeof(key));
}

Id JfrBuilder::Text(std::string_view text) {
  if (text.empty()) return 0;
  const auto [it, is_new] = texts_.try_emplace(HashString(text), 0);
  if (!is_new) return it->second;
  Pay(text.size() + 2 * kEntryBytes);
  if (IsValidUtf8(text)) return it->second = b_.AddText(text);
  Note("'{}' was not UTF-8", ReplaceBadUtf8(text.substr(0, 100)));
  Pay(2 * text.size());
  return it->second = b_.AddText(ReplaceBadUtf8(text));
}

Id JfrBuilder::Stack(JfrChunk& chunk, std::int64_t trace) {
  if (trace == 0) return 0;
  JfrPool::Entry* entry = chunk.pool(JfrChunk::kStackTraces).Find(trace);
  if (entry == nullptr) {
    Note("stack trace {} is not in the recording", trace);
    return 0;
  }
  if (entry->resolved != 0) return entry->resolved - 1;
  ids_.clear();
  const bool whole =
      chunk.EachFrame(*entry, [&](std::int64_t method, std::int64_t line, std::int64_t type) {
        ids_.push_back(Frame(chunk, method, line, type));
        return ok();
      });
  if (!whole) Note("stack trace {} cannot be read to its end", trace);
  Id id = 0;
  if (!ids_.empty()) {
    const auto [it, is_new] =
        stacks_.try_emplace(HashSpan(std::span<const Id>(ids_)), Size32(b_.stacks.size()));
    id = it->second;
    if (is_new) {
      Pay(ids_.size() * sizeof(Id) + kEntryBytes);
      b_.stacks.push_back({Size32(b_.stack_frames.size()), Size32(ids_.size())});
      b_.stack_frames.insert(b_.stack_frames.end(), ids_.begin(), ids_.end());
    }
  }
  entry->resolved = id + 1;
  return id;
}

Id JfrBuilder::Frame(JfrChunk& chunk, std::int64_t method, std::int64_t line, std::int64_t type) {
  const Id function = Function(chunk, method);
  const Range attributes = FrameAttributes(chunk, type);
  line = std::max<std::int64_t>(line, 0);  // native frames have odd values
  const auto [it, is_new] =
      frames_.try_emplace(KeyOf(function, line, attributes.begin), Size32(b_.frames.size()));
  if (is_new) {
    Pay(sizeof(profile::Frame) + sizeof(profile::Line) + kEntryBytes);
    b_.lines.push_back({function, line, 0});
    b_.frames.push_back({0, 0, {Size32(b_.lines.size() - 1), 1}, attributes});
  }
  return it->second;
}

Range JfrBuilder::FrameAttributes(JfrChunk& chunk, std::int64_t type) {
  JfrPool::Entry* entry = chunk.pool(JfrChunk::kFrameTypes).Find(type);
  if (entry == nullptr) return {};
  constexpr std::array<std::string_view, 3> kTypes = {"jvm", "native", "kernel"};
  if (entry->resolved == 0) {
    const std::string name = chunk.NameIn(JfrChunk::kFrameTypes, type);
    entry->resolved = name == "Kernel" ? 3 : name == "Native" || name == "C++" ? 2 : 1;
  }
  const std::size_t which = entry->resolved - 1;
  Range& range = frame_attributes_[which];
  if (range.count == 0) {
    const Id attribute = Attribute("profile.frame.type", kTypes[which]);
    range = {Size32(b_.attribute_refs.size()), 1};
    b_.attribute_refs.push_back(attribute);
  }
  return range;
}

Id JfrBuilder::Function(JfrChunk& chunk, std::int64_t method) {
  JfrPool::Entry* entry = chunk.pool(JfrChunk::kMethods).Find(method);
  if (entry == nullptr) return NewFunction(kUnknown, kUnknown);
  if (entry->resolved != 0) return entry->resolved;
  JfrRow row;
  std::string type;
  std::string name;
  if (chunk.ReadEntry(JfrChunk::kMethods, *entry, row)) {
    name = chunk.NameIn(JfrChunk::kSymbols, row.numbers[1]);
    const JfrPool::Entry* found = chunk.pool(JfrChunk::kClasses).Find(row.numbers[0]);
    JfrRow type_row;
    if (found != nullptr && chunk.ReadEntry(JfrChunk::kClasses, *found, type_row)) {
      type = chunk.NameIn(JfrChunk::kSymbols, type_row.numbers[0]);
    }
  }
  Pay(type.size() + name.size());  // also if known already: reading them took time
  if (type.empty() && name.empty()) return entry->resolved = NewFunction(kUnknown, kUnknown);
  return entry->resolved = NewFunction(StableClassName(type) + "." + name, type + "." + name);
}

Id JfrBuilder::NewFunction(const std::string& name, const std::string& system_name) {
  const auto [it, is_new] =
      functions_.try_emplace(HashString(system_name), Size32(b_.functions.size()));
  if (is_new) {
    Pay(sizeof(profile::Function) + kEntryBytes);
    const Id text = Text(name);
    b_.functions.push_back({text, name == system_name ? 0 : Text(system_name), 0, 0});
  }
  return it->second;
}

Id JfrBuilder::Attribute(std::string_view key, std::string_view value) {
  const Id key_id = Text(key);
  const Id value_id = Text(value);
  const auto [it, is_new] =
      attributes_.try_emplace(KeyOf(key_id, value_id), Size32(b_.attributes.size()));
  if (is_new) {
    Pay(sizeof(profile::Attribute) + kEntryBytes);
    b_.attributes.push_back({key_id, 0, {Value::Kind::kString, value_id, 0}});
  }
  return it->second;
}

Id JfrBuilder::SetOf(const std::vector<Id>& attributes) {
  if (attributes.empty()) return 0;
  const auto [it, is_new] =
      set_ids_.try_emplace(HashSpan(std::span<const Id>(attributes)), Size32(sets_.size()));
  if (is_new) {
    Pay(attributes.size() * sizeof(Id) + kEntryBytes);
    sets_.push_back({Size32(b_.attribute_refs.size()), Size32(attributes.size())});
    b_.attribute_refs.insert(b_.attribute_refs.end(), attributes.begin(), attributes.end());
  }
  return it->second;
}

Id JfrBuilder::ContextSet(std::int64_t context) {
  if (context == 0) return 0;
  const auto [it, is_new] = context_sets_.try_emplace(context, 0);
  if (!is_new) return it->second;
  Pay(kEntryBytes);
  std::vector<std::pair<std::int64_t, std::int64_t>> labels;
  if (!labels_.Context(context, labels)) {
    Note("context {} is not among the labels", context);
    return 0;
  }
  ids_.clear();
  for (const auto& [key, value] : labels) {
    const std::string_view* key_text = labels_.String(key);
    const std::string_view* value_text = labels_.String(value);
    if (key_text == nullptr || value_text == nullptr || key_text->empty()) {
      Note("context {}: label {}={} has no text", context, key, value);
      continue;
    }
    ids_.push_back(Attribute(*key_text, *value_text));
  }
  return it->second = SetOf(ids_);
}

Id JfrBuilder::SpanName(std::int64_t name) {
  if (name == 0) return 0;
  const auto [it, is_new] = span_names_.try_emplace(name, 0);
  if (!is_new) return it->second;
  Pay(kEntryBytes);
  const std::string_view* text = labels_.String(name);
  if (text == nullptr) {
    Note("span name {} is not among the labels", name);
    return 0;
  }
  return it->second = Attribute("span_name", *text);
}

Id JfrBuilder::Thread(JfrChunk& chunk, std::int64_t thread) {
  JfrPool::Entry* entry = chunk.pool(JfrChunk::kThreads).Find(thread);
  if (entry == nullptr) return 0;
  if (entry->resolved != 0) return entry->resolved - 1;
  JfrRow row;
  std::string name;
  if (chunk.ReadEntry(JfrChunk::kThreads, *entry, row)) {
    name = chunk.Text(row.texts[0]);
    if (name.empty()) name = chunk.Text(row.texts[1]);
  }
  Pay(name.size());
  Id id = 0;
  if (!name.empty()) {
    const std::string group = ThreadGroupName(name);
    const std::size_t before = b_.attributes.size();
    if (thread_names_ < kMaxThreadNames) {
      id = Attribute("thread.name", group);
    } else {
      Note("more than {} thread names: '{}' was left out", kMaxThreadNames, group);
    }
    thread_names_ += b_.attributes.size() - before;
  }
  entry->resolved = id + 1;
  return id;
}

Id JfrBuilder::Attributes(JfrChunk& chunk, std::int64_t context, std::int64_t span_name,
                          std::int64_t thread) {
  const Id set = ContextSet(context);
  const Id span = SpanName(span_name);
  const Id thread_id = Thread(chunk, thread);
  if (span == 0 && thread_id == 0) return set;
  const auto [it, is_new] = combined_.try_emplace(KeyOf(set, span, thread_id), 0);
  if (!is_new) return it->second;
  Pay(kEntryBytes);
  const auto refs = b_.AttributeRefs(sets_[set]);
  ids_.assign(refs.begin(), refs.end());
  if (span != 0) ids_.push_back(span);
  if (thread_id != 0) ids_.push_back(thread_id);
  return it->second = SetOf(ids_);
}

Id JfrBuilder::Link(std::uint64_t trace_high, std::uint64_t trace_low, std::uint64_t span) {
  if ((trace_high | trace_low | span) == 0) return 0;
  const auto [it, is_new] =
      links_.try_emplace(KeyOf(trace_high, trace_low, span), Size32(b_.links.size()));
  if (is_new) {
    Pay(sizeof(profile::Link) + kEntryBytes);
    profile::Link& link = b_.links.emplace_back();
    PutBigEndian(link.trace, 0, trace_high);
    PutBigEndian(link.trace, 8, trace_low);
    PutBigEndian(link.span, 0, span);
  }
  return it->second;
}

}  // namespace wherefore::formats
