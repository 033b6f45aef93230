// The dictionary of a merged request while it grows: seven tables of encoded entries, each entry
// once. Internal to merge.cc. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wherefore::formats {

// In the order of their field numbers, which begin at 1.
enum DictionaryTable : std::uint8_t {
  kMappingTable,
  kLocationTable,
  kFunctionTable,
  kLinkTable,
  kStringTable,
  kAttributeTable,
  kStackTable,
  kDictionaryTables
};

class JoinedDictionary {
 public:
  JoinedDictionary();

  // The index of an entry with these bytes, never 0: that is the null entry, which is not equal to
  // an entry that only happens to be empty.
  std::uint32_t IndexOf(DictionaryTable table, std::string_view entry);
  // Appends all tables: the content of a ProfilesDictionary.
  void Write(std::string& out) const;
  [[nodiscard]] std::size_t bytes() const;

 private:
  // An entry, where its hash says. All of it in one place: the cost is in fetching memory.
  struct Slot {
    std::uint32_t index = 0;  // 0: free
    std::uint32_t hash = 0;
    std::uint32_t begin = 0;  // in `bytes`
    std::uint32_t size = 0;
  };
  struct Table {
    std::string bytes;        // fields of the dictionary, as they are written
    std::vector<Slot> slots;  // a power of two, half of them free
    std::uint32_t entries = 0;
  };
  // The entry's slot, or the free one where it belongs.
  static Slot& Find(Table& table, std::string_view entry, std::uint32_t hash);
  // Returns where the entry begins.
  static std::uint32_t Append(Table& table, DictionaryTable number, std::string_view entry);
  static void Grow(Table& table);

  std::array<Table, kDictionaryTables> tables_;
};

// A varint at the end of `out`.
inline void AppendVarint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

// A length-delimited field whose length is not known yet: Begin, append its content, End. Most are
// short, so one byte is kept for the length; more are inserted.
inline std::size_t BeginField(std::string& out, std::uint32_t tag_and_type) {
  AppendVarint(out, tag_and_type);
  out.push_back('\0');
  return out.size();
}
inline void EndField(std::string& out, std::size_t begin) {
  const std::size_t size = out.size() - begin;
  if (size < 0x80) {
    out[begin - 1] = static_cast<char>(size);
    return;
  }
  std::string length;
  AppendVarint(length, size);
  out.replace(begin - 1, 1, length);
}

}  // namespace wherefore::formats
