#include "formats/otlp/joined_dictionary.h"

#include "base/hash.h"
#include "formats/wire/protobuf.h"
#include "formats/wire/size32.h"

namespace wherefore::formats {

JoinedDictionary::JoinedDictionary() {
  for (std::uint8_t t = 0; t < kDictionaryTables; ++t) {
    tables_[t].slots.resize(64);
    Append(tables_[t], static_cast<DictionaryTable>(t), {});
  }
}

std::uint32_t JoinedDictionary::IndexOf(DictionaryTable number, std::string_view entry) {
  Table& table = tables_[number];
  const auto hash = static_cast<std::uint32_t>(Hash64(entry));
  Slot& slot = Find(table, entry, hash);
  if (slot.index != 0) return slot.index;
  const std::uint32_t index = table.entries;
  slot = {index, hash, Append(table, number, entry), Size32(entry.size())};
  if (std::size_t{table.entries} * 2 > table.slots.size()) Grow(table);
  return index;
}

JoinedDictionary::Slot& JoinedDictionary::Find(Table& table, std::string_view entry,
                                               std::uint32_t hash) {
  const std::size_t mask = table.slots.size() - 1;
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    Slot& slot = table.slots[at];
    if (slot.index == 0) return slot;
    if (slot.hash == hash && std::string_view(table.bytes).substr(slot.begin, slot.size) == entry)
      return slot;
  }
}

std::uint32_t JoinedDictionary::Append(Table& table, DictionaryTable number,
                                       std::string_view entry) {
  AppendVarint(table.bytes, LenKey(number + 1U));
  AppendVarint(table.bytes, entry.size());
  const std::uint32_t begin = Size32(table.bytes.size());
  table.bytes.append(entry);
  ++table.entries;
  return begin;
}

void JoinedDictionary::Grow(Table& table) {
  std::vector<Slot> old(table.slots.size() * 2);
  old.swap(table.slots);
  const std::size_t mask = table.slots.size() - 1;
  for (const Slot& slot : old) {
    if (slot.index == 0) continue;
    std::size_t at = slot.hash & mask;
    while (table.slots[at].index != 0) at = (at + 1) & mask;
    table.slots[at] = slot;
  }
}

void JoinedDictionary::Write(std::string& out) const {
  for (const Table& table : tables_) out.append(table.bytes);
}

std::size_t JoinedDictionary::bytes() const {
  std::size_t sum = 0;
  for (const Table& table : tables_) sum += table.bytes.size();
  return sum;
}

}  // namespace wherefore::formats
