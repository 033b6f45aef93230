#include "formats/jfr/types.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace wherefore::formats {

namespace {

using Kind = JfrStep::Kind;

constexpr int kDeepest = 32;
// A JDK describes about 500 classes with 3,000 strings.
constexpr std::size_t kMaxStrings = 1'000'000;
constexpr std::size_t kMaxClasses = 100'000;
constexpr std::size_t kMaxFields = 500'000;

Kind PrimitiveOf(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Kind>, 9> kPrimitives = {{
      {"boolean", Kind::kByte},
      {"byte", Kind::kByte},
      {"short", Kind::kShort},
      {"char", Kind::kShort},
      {"int", Kind::kInt},
      {"long", Kind::kLong},
      {"float", Kind::kFloat},
      {"double", Kind::kDouble},
      {"java.lang.String", Kind::kString},
  }};
  for (const auto& [primitive, kind] : kPrimitives) {
    if (primitive == name) return kind;
  }
  return Kind::kStruct;
}

void AppendUtf8(std::string& out, std::uint32_t c) {
  const auto tail = [&](unsigned shift) { out += static_cast<char>(0x80 | ((c >> shift) & 0x3f)); };
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xc0 | (c >> 6));
    tail(0);
  } else if (c < 0x10000) {
    out += static_cast<char>(0xe0 | (c >> 12));
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xf0 | (c >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

std::int64_t NumberOf(JfrCursor& in, Kind kind) {
  switch (kind) {
    case Kind::kByte:
      return static_cast<std::int8_t>(in.Byte());
    case Kind::kShort:
      return static_cast<std::int16_t>(in.Integer(2));
    case Kind::kInt:
      return in.Int();
    case Kind::kLong:
      return in.Long();
    case Kind::kFloat:
      return static_cast<std::int64_t>(in.Fixed(4));
    case Kind::kDouble:
      return static_cast<std::int64_t>(in.Fixed(8));
    default:
      in.Fail();
      return 0;
  }
}

}  // namespace

std::string JfrUtf8(const JfrText& text, bool compressed) {
  std::string out;
  if (text.form == JfrText::Form::kUtf8) {
    out = text.bytes;
  } else if (text.form == JfrText::Form::kLatin1) {
    for (const char c : text.bytes) AppendUtf8(out, static_cast<std::uint8_t>(c));
  } else if (text.form == JfrText::Form::kChars) {
    std::uint32_t high = 0;  // first half of a pair
    JfrCursor in(text.bytes, 0, compressed);
    while (in.ok() && in.at() < text.bytes.size()) {
      const auto c = static_cast<std::uint32_t>(in.Integer(2) & 0xffff);
      if (high != 0 && c >= 0xdc00 && c < 0xe000) {
        AppendUtf8(out, 0x10000 + ((high - 0xd800) << 10) + (c - 0xdc00));
        high = 0;
        continue;
      }
      if (high != 0) AppendUtf8(out, 0xfffd);
      high = c >= 0xd800 && c < 0xdc00 ? c : 0;
      if (high == 0) AppendUtf8(out, c >= 0xdc00 && c < 0xe000 ? 0xfffd : c);
    }
    if (high != 0) AppendUtf8(out, 0xfffd);
  }
  return out;
}

struct JfrTypes::Element {
  std::string_view tag;
  std::string_view name;
  std::string_view id;
  std::string_view type;
  bool pooled = false;
  bool array = false;

  void Set(std::string_view key, std::string_view value) {
    if (key == "name") name = value;
    if (key == "id") id = value;
    if (key == "class") type = value;
    if (key == "constantPool") pooled = value == "true";
    if (key == "dimension") array = value != "0";
  }
};

std::string JfrTypes::Read(JfrCursor& in) {
  in.Long();  // start
  in.Long();  // duration
  in.Long();  // id
  ReadStrings(in);
  if (reason_.empty()) ReadElement(in, 0);
  for (std::uint32_t i = 0; i < types_.size() && reason_.empty() && in.ok(); ++i) Compile(i, 0);
  if (reason_.empty() && !in.ok()) reason_ = "it ends early";
  return reason_;
}

void JfrTypes::ReadStrings(JfrCursor& in) {
  const std::int64_t count = in.Int();
  for (std::int64_t i = 0; i < count && in.ok(); ++i) {
    if (strings_.size() >= kMaxStrings) {
      reason_ = "more than a million strings";
      return;
    }
    const JfrText text = in.Text();
    strings_.push_back(JfrUtf8(text, in.compressed()));
  }
}

void JfrTypes::ReadElement(JfrCursor& in, int depth) {
  if (depth > kDeepest) {
    reason_ = "elements are nested too deeply";
    in.Fail();
    return;
  }
  Element element;
  element.tag = String(in.Int());
  const std::int64_t attributes = in.Int();
  for (std::int64_t i = 0; i < attributes && in.ok(); ++i) {
    const std::string_view key = String(in.Int());
    element.Set(key, String(in.Int()));
  }
  AddClass(element);
  const std::int64_t children = in.Int();
  for (std::int64_t i = 0; i < children && in.ok(); ++i) ReadElement(in, depth + 1);
}

// Adds a class, or a field of the last class.
void JfrTypes::AddClass(const Element& element) {
  if (element.tag == "class") {
    if (types_.size() >= kMaxClasses) {
      if (reason_.empty()) reason_ = "more than 100,000 classes";
      return;
    }
    const std::optional<std::int64_t> id = ParseInt(element.id);
    if (!id) {
      reason_ = fmt::format("class '{}' has no number", element.name.substr(0, 100));
      return;
    }
    by_id_.try_emplace(*id, static_cast<std::uint32_t>(types_.size()));
    types_.push_back({element.name, *id, {}});
    fields_.emplace_back();
    named_.emplace_back();
    compiled_.push_back(0);
  } else if (element.tag == "field" && !types_.empty()) {
    if (++field_count_ > kMaxFields) {
      if (reason_.empty()) reason_ = "more than 500,000 fields";
      return;
    }
    // A type that is not described is an error only when a value of it must be read.
    constexpr std::int64_t kNone = -1;
    fields_.back().push_back(
        {element.name, ParseInt(element.type).value_or(kNone), element.pooled, element.array});
  }
}

bool JfrTypes::Compile(std::uint32_t index, int depth) {
  if (compiled_[index] == 2) return true;
  if (compiled_[index] == 1 || depth > kDeepest) {
    reason_ = fmt::format("class '{}' {}", types_[index].name.substr(0, 100),
                          depth > kDeepest ? "is nested too deeply" : "contains itself");
    return false;
  }
  compiled_[index] = 1;
  std::vector<JfrStep> steps;
  const Kind own = PrimitiveOf(types_[index].name);
  if (own != Kind::kStruct) steps.push_back({.kind = own});
  const std::size_t fields = own == Kind::kStruct ? fields_[index].size() : 0;
  for (std::uint32_t f = 0; f < fields; ++f) {
    const Field& field = fields_[index][f];
    JfrStep step{.kind = Kind::kLong, .array = field.array};
    if (!field.pooled) {
      const auto found = by_id_.find(field.type);
      step.type = found == by_id_.end() ? 0 : found->second;
      step.kind = found == by_id_.end() ? Kind::kUnknown : PrimitiveOf(types_[step.type].name);
      // Arrays have a length, and may contain the class they are part of.
      if (step.kind == Kind::kStruct && !step.array) {
        if (!Compile(step.type, depth + 1)) return false;
        if (types_[step.type].steps.empty()) continue;
      }
    }
    steps.push_back(step);
    named_[index].push_back(f);
  }
  types_[index].steps = std::move(steps);
  compiled_[index] = 2;
  return true;
}

const JfrTypes::Type* JfrTypes::Find(std::int64_t id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &types_[found->second];
}

std::vector<JfrStep> JfrTypes::Plan(const Type& type, std::span<const Wanted> wanted) const {
  std::vector<JfrStep> steps = type.steps;
  const auto index = static_cast<std::size_t>(&type - types_.data());
  for (std::size_t i = 0; i < named_[index].size(); ++i) {
    const std::string_view name = fields_[index][named_[index][i]].name;
    for (const Wanted& w : wanted) {
      const bool number = steps[i].kind >= Kind::kByte && steps[i].kind <= Kind::kLong;
      const bool fits = w.text ? steps[i].kind == Kind::kString : number;
      if (w.name == name && fits && !steps[i].array) steps[i].slot = w.slot;
    }
  }
  return steps;
}

std::size_t JfrTypes::FindField(const Type& type, std::string_view name) const {
  const auto index = static_cast<std::size_t>(&type - types_.data());
  const auto& named = named_[index];
  const auto it = std::ranges::find_if(
      named, [&](std::uint32_t field) { return fields_[index][field].name == name; });
  return it == named.end() ? type.steps.size() : static_cast<std::size_t>(it - named.begin());
}

void JfrTypes::Step(JfrCursor& in, const JfrStep& step, JfrRow& row, int depth) const {
  if (step.array) {
    const std::int64_t count = in.Int();
    JfrStep element = step;
    element.array = false;
    const bool empty = step.kind == Kind::kStruct && types_[step.type].steps.empty();
    for (std::int64_t i = 0; i < count && in.ok() && !empty; ++i) Step(in, element, row, depth);
  } else if (step.kind == Kind::kStruct) {
    if (depth > 2 * kDeepest) {
      in.Fail();
      return;
    }
    Walk(in, types_[step.type].steps, row, depth + 1);
  } else if (step.kind == Kind::kString) {
    const JfrText text = in.Text();
    if (step.slot != JfrStep::kSkip) row.texts[step.slot] = text;
  } else {
    const std::int64_t number = NumberOf(in, step.kind);
    if (step.slot != JfrStep::kSkip) row.numbers[step.slot] = number;
  }
}

}  // namespace wherefore::formats
