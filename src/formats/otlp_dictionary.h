// ProfilesDictionary -> the tables of a Batch, sender's indices kept.
//
// One pass over the bytes, storing indices unchecked; then one linear check of each table, which is
// far cheaper than a check per entry. Only when a check fails is the table walked again to find the
// entries that are wrong: those are marked, their indices become 0, and a profile that reaches one
// is rejected. Broken protobuf throws protozero's exceptions; where() then says how far it got.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/notes.h"
#include "formats/wire.h"
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

  DictionaryDecoder(profile::Batch& batch, Notes& notes);

  // One occurrence of the dictionary; tables of several are concatenated. False: it is made of
  // empty entries, which cost us twenty times the memory they cost the sender.
  [[nodiscard]] bool Read(Pbf r);
  // After the last: null entries, values that need the string table, checks.
  void Finish();

  // True when something of the dictionary may not be used.
  [[nodiscard]] bool any_bad() const { return any_bad_; }
  [[nodiscard]] bool IsBad(Table table, profile::Id id) const {
    return id < bad_[table].size() && bad_[table][id] != 0;
  }
  // Why: "location_table[3]: function_table[7].name_strindex: 12 is outside string_table (5
  // entries)".
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
  // A dictionary can be wrong a million times over; the first reasons are enough.
  [[nodiscard]] bool reasons_full() const { return reasons_.size() >= 100; }
  void MarkBad(Table table, profile::Id id, std::string reason);
  // Sets an index to 0 and marks its owner when it is not below `size`.
  void CheckIndex(profile::Id& index, std::size_t size, Table owner, profile::Id id,
                  std::string_view field, Table target);
  void CheckRefs(profile::Range range, Table owner, profile::Id id);
  [[nodiscard]] std::size_t SizeOf(Table table) const;

  profile::Batch& batch_;
  Notes& notes_;
  bool noted_unset_function_ = false;
  std::array<std::vector<std::uint8_t>, kTables> bad_;  // empty: none
  std::vector<Reason> reasons_;
  std::vector<std::pair<profile::Id, std::string_view>> pending_;  // attributes whose value waits
  std::size_t dictionary_strings_ = 0;
  std::size_t tiny_entries_ = 0;
  bool any_bad_ = false;
  bool refilled_null_ = false;
  Table at_table_ = kTables;
};

}  // namespace wherefore::formats
