// Decodes a ProfilesDictionary into the tables of a Batch, keeping the sender's indices.
//
// One pass over the bytes stores indices unchecked; then each table gets one linear check, which is
// far cheaper than a check per entry. Only if that fails is the table walked again to find the bad
// entries: they are marked, their indices become 0, and a profile that reaches one is rejected.
// Broken protobuf throws protozero's exceptions; where() then says how far it got. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/otlp/fields.h"
#include "formats/wire/notes.h"
#include "formats/wire/protobuf.h"
#include "profile/batch.h"

namespace wherefore::formats {

class DictionaryDecoder {
 public:
  enum Table : std::uint8_t {
    kMapping,
    kLocation,
    kFunction,
    kLink,
    kString,
    kAttribute,
    kStack,
    kTables
  };
  static constexpr std::array<std::string_view, kTables> kTableNames = {
      "mapping_table", "location_table",  "function_table", "link_table",
      "string_table",  "attribute_table", "stack_table"};

  DictionaryDecoder(profile::Batch& batch, Notes& notes);

  // Reads one occurrence of the dictionary; tables of several are concatenated. False if it
  // consists of empty entries, which cost us twenty times the memory they cost the sender.
  [[nodiscard]] bool Read(Pbf r);
  // Call after the last one: adds null entries, reads values that need the string table, checks.
  void Finish();

  // Whether any entry is unusable.
  [[nodiscard]] bool any_bad() const { return any_bad_; }
  [[nodiscard]] bool IsBad(Table table, profile::Id id) const {
    return id < bad_[table].size() && bad_[table][id] != 0;
  }
  // Why an entry is bad: "location_table[3]: function_table[7].name_strindex: 12 is outside
  // string_table (5 entries)".
  [[nodiscard]] std::string Why(Table table, profile::Id id) const;

  [[nodiscard]] std::size_t dictionary_strings() const { return dictionary_strings_; }
  [[nodiscard]] const std::vector<std::uint8_t>& bad_strings() const { return bad_[kString]; }
  [[nodiscard]] std::string where() const;

 private:
  struct Reason {
    Table table;
    profile::Id id;
    std::string text;
  };

  void ReadMapping(Pbf r);
  void ReadLocation(Pbf r);
  void ReadLine(Pbf r);
  void ReadFunction(Pbf r);
  void ReadLink(Pbf r);
  void ReadString(std::string_view text);
  void ReadAttribute(Pbf r);
  void ReadStack(Pbf r);

  void MakeNullEntries();
  void FinishValues();
  void CheckIndices();
  void CheckOwners();
  void Propagate();
  // A dictionary can have a million errors; the first reasons are enough.
  [[nodiscard]] bool reasons_full() const { return reasons_.size() >= 100; }
  void MarkBad(Table table, profile::Id id, std::string reason);
  // Sets an index that is not below `size` to 0 and marks its owner.
  void CheckIndex(profile::Id& index, std::size_t size, Table owner, profile::Id id,
                  std::string_view field, Table target);
  void CheckRefs(profile::Range range, Table owner, profile::Id id);
  [[nodiscard]] std::size_t SizeOf(Table table) const;

  profile::Batch& batch_;
  Notes& notes_;
  bool noted_unset_function_ = false;
  std::array<std::vector<std::uint8_t>, kTables> bad_;  // empty: none
  std::vector<Reason> reasons_;
  std::vector<std::pair<profile::Id, std::string_view>>
      pending_;  // attributes whose value is not read yet
  std::size_t dictionary_strings_ = 0;
  std::size_t tiny_entries_ = 0;
  bool any_bad_ = false;
  bool refilled_null_ = false;
  Table at_table_ = kTables;
};

}  // namespace wherefore::formats
