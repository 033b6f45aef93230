// The classes a JFR chunk describes itself with, and how to step over or pick out their values.
//
// A value of a class is its fields one after the other; a field is a number, a string, a key into a
// constant pool, another class in place, or an array of these. The description is as hostile as the
// rest: work is bounded by the bytes stepped over, because classes without any bytes are left out
// of every plan, and nesting has a limit. One thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "formats/jfr_cursor.h"

namespace wherefore::formats {

// One step of reading a value.
struct JfrStep {
  enum class Kind : std::uint8_t {
    kUnknown,  // a class that is not described: reading fails
    kByte,
    kShort,
    kInt,
    kLong,
    kFloat,
    kDouble,
    kString,
    kStruct
  };
  static constexpr std::uint8_t kSkip = 0xff;

  Kind kind = Kind::kUnknown;
  bool array = false;
  std::uint8_t slot = kSkip;  // where the value goes
  std::uint32_t type = 0;     // kStruct: which
};

// What was picked out of one value.
struct JfrRow {
  std::array<std::int64_t, 9> numbers{};
  std::array<JfrText, 2> texts;
};

class JfrTypes {
 public:
  // Reads the metadata event whose payload (behind its type) begins at the cursor. The reason when
  // it cannot be used, or "".
  std::string Read(JfrCursor& in);

  struct Type {
    std::string_view name;
    std::int64_t id = 0;
    std::vector<JfrStep> steps;  // one per field that has bytes
  };
  [[nodiscard]] std::span<const Type> types() const { return types_; }
  [[nodiscard]] const Type* Find(std::int64_t id) const;

  // A field to pick out: a number (or pool key) or, where `text`, a string.
  struct Wanted {
    std::string_view name;
    std::uint8_t slot = 0;
    bool text = false;
  };
  // The steps of a class with slots for the wanted fields it has.
  [[nodiscard]] std::vector<JfrStep> Plan(const Type& type, std::span<const Wanted> wanted) const;

  // The number of the step that reads a field; one past the last when there is none.
  [[nodiscard]] std::size_t FindField(const Type& type, std::string_view name) const;

  void Step(JfrCursor& in, const JfrStep& step, JfrRow& row, int depth = 0) const;
  void Walk(JfrCursor& in, std::span<const JfrStep> steps, JfrRow& row, int depth = 0) const {
    // Past the end nothing is consumed any more, so nothing would bound the work.
    for (std::size_t i = 0; i < steps.size() && in.ok(); ++i) Step(in, steps[i], row, depth);
  }
  void Skip(JfrCursor& in, const Type& type) const {
    JfrRow unused;
    Walk(in, type.steps, unused);
  }

 private:
  struct Field {
    std::string_view name;
    std::int64_t type = 0;
    bool pooled = false;
    bool array = false;
  };
  struct Element;  // attributes of interest

  void ReadStrings(JfrCursor& in);
  void ReadElement(JfrCursor& in, int depth);
  void AddClass(const Element& element);
  bool Compile(std::uint32_t type, int depth);
  [[nodiscard]] std::string_view String(std::int64_t index) const {
    return index >= 0 && static_cast<std::size_t>(index) < strings_.size()
               ? strings_[static_cast<std::size_t>(index)]
               : std::string_view();
  }

  std::deque<std::string> strings_;
  std::vector<Type> types_;
  std::vector<std::vector<Field>> fields_;         // as described, by type
  std::vector<std::vector<std::uint32_t>> named_;  // by type: field of each step
  std::vector<std::uint8_t> compiled_;             // by type: 0 not yet, 1 in progress, 2 done
  std::unordered_map<std::int64_t, std::uint32_t> by_id_;
  std::string reason_;
  std::size_t field_count_ = 0;
};

}  // namespace wherefore::formats
