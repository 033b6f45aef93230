// The classes a JFR chunk describes, and how to skip or read their values.
//
// A value of a class is its fields in order; a field is a number, a string, a key into a constant
// pool, a nested class, or an array of these. The description is as untrusted as the rest: work is
// bounded by the bytes read, because classes without any bytes are left out of every plan and
// nesting is limited. One thread at a time.
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
#include "formats/jfr/cursor.h"

namespace wherefore::formats {

// One step of reading a value.
struct JfrStep {
  enum class Kind : std::uint8_t {
    kUnknown,  // a class that is not described; reading it fails
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

// The fields read from one value.
struct JfrRow {
  std::array<std::int64_t, 9> numbers{};
  std::array<JfrText, 2> texts;
};

class JfrTypes {
 public:
  // Reads a metadata event; the cursor is at its payload, behind its type. Returns "" or the reason
  // why it is unusable.
  std::string Read(JfrCursor& in);

  struct Type {
    std::string_view name;
    std::int64_t id = 0;
    std::vector<JfrStep> steps;  // one per field that has bytes
  };
  [[nodiscard]] std::span<const Type> types() const { return types_; }
  [[nodiscard]] const Type* Find(std::int64_t id) const;

  // A field to read: a number (or pool key) or, if `text`, a string.
  struct Wanted {
    std::string_view name;
    std::uint8_t slot = 0;
    bool text = false;
  };
  // The steps of a class, with slots for the wanted fields it has.
  [[nodiscard]] std::vector<JfrStep> Plan(const Type& type, std::span<const Wanted> wanted) const;

  // The index of the step that reads a field, or the number of steps if there is none.
  [[nodiscard]] std::size_t FindField(const Type& type, std::string_view name) const;

  void Step(JfrCursor& in, const JfrStep& step, JfrRow& row, int depth = 0) const;
  void Walk(JfrCursor& in, std::span<const JfrStep> steps, JfrRow& row, int depth = 0) const {
    // Past the end nothing is consumed, so nothing would bound the work.
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
  struct Element;  // the attributes we need

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
  std::vector<std::vector<std::uint32_t>> named_;  // by type: the field of each step
  std::vector<std::uint8_t> compiled_;             // by type: 0 not yet, 1 in progress, 2 done
  std::unordered_map<std::int64_t, std::uint32_t> by_id_;
  std::string reason_;
  std::size_t field_count_ = 0;
};

}  // namespace wherefore::formats
