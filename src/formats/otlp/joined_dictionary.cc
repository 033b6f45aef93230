#include "formats/otlp/joined_dictionary.h"

#include "base/hash.h"
#include "formats/wire/protobuf.h"
#include "formats/wire/size32.h"

namespace wherefore::formats {

JoinedDictionary::JoinedDictionary() {
  for (std::uint8_t t = 0; t < kDictionaryTables; ++t) {
    tables_[t].slots.resize(64);
    Append(tables_[t], static_cast<DictionaryTable>(t), {}, 0);
  }
}

std::uint32_t JoinedDictionary::IndexOf(DictionaryTable number, std::string_view entry) {
  Table& table = tables_[number];
  const auto hash = static_cast<std::uint32_t>(Hash64(entry));
  const std::size_t mask = table.slots.size() - 1;
  std::size_t slot = hash & mask;
  for (; table.slots[slot] != 0; slot = (slot + 1) & mask) {
    const Entry& known = table.entries[table.slots[slot]];
    if (known.hash == hash &&
        std::string_view(table.bytes).substr(known.begin, known.size) == entry)
      return table.slots[slot];
  }
  const std::uint32_t index = Size32(table.entries.size());
  table.slots[slot] = index;
  Append(table, number, entry, hash);
  if (table.entries.size() * 2 > table.slots.size()) Grow(table);
  return index;
}

void JoinedDictionary::Append(Table& table, DictionaryTable number, std::string_view entry,
                              std::uint32_t hash) {
  AppendVarint(table.bytes, LenKey(number + 1U));
  AppendVarint(table.bytes, entry.size());
  table.entries.push_back({Size32(table.bytes.size()), Size32(entry.size()), hash});
  table.bytes.append(entry);
}

void JoinedDictionary::Grow(Table& table) {
  table.slots.assign(table.slots.size() * 2, 0);
  const std::size_t mask = table.slots.size() - 1;
  for (std::uint32_t index = 1; index < table.entries.size(); ++index) {
    std::size_t slot = table.entries[index].hash & mask;
    while (table.slots[slot] != 0) slot = (slot + 1) & mask;
    table.slots[slot] = index;
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
