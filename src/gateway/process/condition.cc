#include "gateway/process/condition.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <re2/re2.h>

namespace wherefore::gateway {
namespace {

using Kind = profile::Value::Kind;
using Nil = std::monostate;
using Value = std::variant<Nil, bool, std::int64_t, double, std::string>;

enum class Path : std::uint8_t {
  kResourceAttribute,
  kAttribute,
  kSpanName,
  kSpanKind,
  kSpanStatus,
  kSampleType,
  kSampleUnit,
  kDuration
};

struct Operand {
  bool is_path = false;
  Value literal;
  Path path{};
  std::string key;  // of an attribute
};

enum class Comparison : std::uint8_t {
  kEqual,
  kUnequal,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual
};

constexpr std::array<std::pair<std::string_view, std::int64_t>, 9> kNumbers = {
    {{"STATUS_CODE_UNSET", 0},
     {"STATUS_CODE_OK", 1},
     {"STATUS_CODE_ERROR", 2},
     {"SPAN_KIND_UNSPECIFIED", 0},
     {"SPAN_KIND_INTERNAL", 1},
     {"SPAN_KIND_SERVER", 2},
     {"SPAN_KIND_CLIENT", 3},
     {"SPAN_KIND_PRODUCER", 4},
     {"SPAN_KIND_CONSUMER", 5}}};
constexpr std::array<std::string_view, 6> kSpanKinds = {"Unspecified", "Internal", "Server",
                                                        "Client",      "Producer", "Consumer"};

Value ValueOf(const profile::TextPool& pool, const profile::Value& value) {
  switch (value.kind) {
    case Kind::kEmpty:
      return Nil();
    case Kind::kBool:
      return value.number != 0;
    case Kind::kInt:
      return value.number;
    case Kind::kDouble:
      return std::bit_cast<double>(value.number);
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kArray:
    case Kind::kMap:
      break;
  }
  return profile::ValueText(pool, value);
}

Value OwnAttribute(const profile::TextPool& pool, profile::Range range, std::string_view key) {
  for (const profile::Attribute& a : pool.OwnAttributes(range)) {
    if (pool.Text(a.key) == key) return ValueOf(pool, a.value);
  }
  return Nil();
}

Value ItemAttribute(const ConditionItem& item, std::string_view key) {
  if (item.span != nullptr) return OwnAttribute(*item.pool, item.span->attributes, key);
  for (const profile::Id id : item.batch->AttributeRefs(item.profile->attributes)) {
    const profile::Attribute& a = item.batch->attributes[id];
    if (item.pool->Text(a.key) == key) return ValueOf(*item.pool, a.value);
  }
  return Nil();
}

Value Evaluate(const Operand& operand, const ConditionItem& item) {
  if (!operand.is_path) return operand.literal;
  const auto text = [&](profile::Id id) { return std::string(item.pool->Text(id)); };
  switch (operand.path) {
    case Path::kResourceAttribute:
      return OwnAttribute(*item.pool, item.resource_attributes, operand.key);
    case Path::kAttribute:
      return ItemAttribute(item, operand.key);
    case Path::kSpanName:
      return text(item.span->name);
    case Path::kSpanKind:
      return std::string(kSpanKinds[item.span->kind < kSpanKinds.size() ? item.span->kind : 0]);
    case Path::kSpanStatus:
      return std::int64_t{item.span->status_code};
    case Path::kSampleType:
      return text(item.profile->sample_type.type);
    case Path::kSampleUnit:
      return text(item.profile->sample_type.unit);
    case Path::kDuration:
      return static_cast<std::int64_t>(item.profile->duration_ns);
  }
  return Nil();
}

template <typename T>
bool Ordered(Comparison comparison, const T& a, const T& b) {
  switch (comparison) {
    case Comparison::kEqual:
      return a == b;
    case Comparison::kUnequal:
      return a != b;
    case Comparison::kLess:
      return a < b;
    case Comparison::kLessEqual:
      return a <= b;
    case Comparison::kGreater:
      return a > b;
    case Comparison::kGreaterEqual:
      return a >= b;
  }
  return false;
}

std::optional<double> Number(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::nullopt;
}

bool Compare(Comparison comparison, const Value& a, const Value& b) {
  if (a.index() == b.index()) {
    return std::visit(
        [&](const auto& left) {
          using T = std::decay_t<decltype(left)>;
          return Ordered(comparison, left, std::get<T>(b));
        },
        a);
  }
  const auto left = Number(a);
  const auto right = Number(b);
  if (left && right) return Ordered(comparison, *left, *right);
  return comparison == Comparison::kUnequal;
}

}  // namespace

struct Condition::Expression {
  enum class Kind : std::uint8_t { kAnd, kOr, kNot, kCompare, kMatch, kConstant };
  Kind kind = Kind::kConstant;
  bool constant = false;
  std::vector<Expression> parts;  // kAnd, kOr, kNot
  Comparison comparison{};
  Operand left;
  Operand right;
  std::shared_ptr<const re2::RE2> expression;  // kMatch, on `left`

  [[nodiscard]] bool Holds(const ConditionItem& item) const {
    switch (kind) {
      case Kind::kAnd:
        return std::ranges::all_of(parts, [&](const auto& part) { return part.Holds(item); });
      case Kind::kOr:
        return std::ranges::any_of(parts, [&](const auto& part) { return part.Holds(item); });
      case Kind::kNot:
        return !parts[0].Holds(item);
      case Kind::kCompare:
        return Compare(comparison, Evaluate(left, item), Evaluate(right, item));
      case Kind::kMatch: {
        const Value value = Evaluate(left, item);
        const auto* const text = std::get_if<std::string>(&value);
        return text != nullptr && RE2::PartialMatch(*text, *expression);
      }
      case Kind::kConstant:
        return constant;
    }
    return false;
  }
};

namespace {

using Expression = Condition::Expression;

// Reads a condition from left to right. Nothing throws: `error_` is set once, and every function
// returns at once after that.
class Parser {
 public:
  Parser(std::string_view text, Condition::Context context) : text_(text), context_(context) {}

  Result<Expression> Run() {
    Expression root = ReadOr(0);
    SkipSpace();
    if (!error_ && at_ < text_.size()) Fail("expected and, or, or the end");
    if (error_) return *std::move(error_);
    return root;
  }

 private:
  static constexpr int kDeepest = 100;

  void Fail(std::string_view what) {
    if (error_) return;
    error_ = Error(Code::kInvalid, fmt::format("at character {}: {}", at_ + 1, what));
  }
  void SkipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t'))
      ++at_;
  }
  bool Take(std::string_view symbol) {
    SkipSpace();
    if (!text_.substr(at_).starts_with(symbol)) return false;
    at_ += symbol.size();
    return true;
  }
  static bool IsWordCharacter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }
  // Letters, digits, '_' and dots.
  [[nodiscard]] std::string_view PeekWord() {
    SkipSpace();
    std::size_t end = at_;
    while (end < text_.size() && (IsWordCharacter(text_[end]) || text_[end] == '.')) ++end;
    return text_.substr(at_, end - at_);
  }
  bool TakeWord(std::string_view word) {
    if (PeekWord() != word) return false;
    at_ += word.size();
    return true;
  }

  Expression ReadOr(int depth) { return ReadJoined(depth, "or", Expression::Kind::kOr); }

  Expression ReadJoined(int depth, std::string_view word, Expression::Kind kind) {
    const auto read = [&] {
      return kind == Expression::Kind::kOr ? ReadJoined(depth + 1, "and", Expression::Kind::kAnd)
                                           : ReadNot(depth + 1);
    };
    Expression joined;
    joined.kind = kind;
    do {
      joined.parts.push_back(read());
    } while (!error_ && TakeWord(word));
    return joined.parts.size() == 1 ? std::move(joined.parts[0]) : joined;
  }

  Expression ReadNot(int depth) {
    if (depth > kDeepest) Fail("nested too deeply");
    if (error_) return {};
    if (TakeWord("not")) {
      Expression negated;
      negated.kind = Expression::Kind::kNot;
      negated.parts.push_back(ReadNot(depth + 1));
      return negated;
    }
    if (Take("(")) {
      Expression inside = ReadOr(depth + 1);
      if (!Take(")")) Fail("expected )");
      return inside;
    }
    if (TakeWord("IsMatch")) return ReadMatch();
    return ReadComparison();
  }

  Expression ReadMatch() {
    Expression match;
    match.kind = Expression::Kind::kMatch;
    if (!Take("(")) Fail("expected ( after IsMatch");
    match.left = ReadOperand();
    if (!Take(",")) Fail("expected , and an expression in quotes");
    SkipSpace();
    const std::size_t begin = at_;
    const std::string pattern = ReadQuoted();
    if (error_) return match;
    auto compiled = std::make_shared<const re2::RE2>(pattern, RE2::Quiet);
    if (!compiled->ok()) {
      at_ = begin;
      Fail(fmt::format("not a regular expression: {}", compiled->error()));
    }
    match.expression = std::move(compiled);
    if (!Take(")")) Fail("expected )");
    return match;
  }

  Expression ReadComparison() {
    static constexpr std::array<std::pair<std::string_view, Comparison>, 6> kSymbols = {
        {{"==", Comparison::kEqual},
         {"!=", Comparison::kUnequal},
         {"<=", Comparison::kLessEqual},
         {">=", Comparison::kGreaterEqual},
         {"<", Comparison::kLess},
         {">", Comparison::kGreater}}};
    Expression comparison;
    comparison.left = ReadOperand();
    if (error_) return comparison;
    for (const auto& [symbol, kind] : kSymbols) {
      if (!Take(symbol)) continue;
      comparison.kind = Expression::Kind::kCompare;
      comparison.comparison = kind;
      comparison.right = ReadOperand();
      return comparison;
    }
    const auto* const constant = std::get_if<bool>(&comparison.left.literal);
    if (comparison.left.is_path || constant == nullptr) {
      Fail("expected ==, !=, <, <=, > or >=");
    } else {
      comparison.constant = *constant;
    }
    return comparison;
  }

  static Operand Literal(Value value) { return {.literal = std::move(value)}; }

  Operand ReadOperand() {
    SkipSpace();
    if (at_ < text_.size() && text_[at_] == '"') return Literal(ReadQuoted());
    if (at_ < text_.size() && (text_[at_] == '-' || (text_[at_] >= '0' && text_[at_] <= '9'))) {
      return ReadNumber();
    }
    const std::string_view word = PeekWord();
    if (TakeWord("nil")) return Literal(Nil());
    if (TakeWord("true")) return Literal(true);
    if (TakeWord("false")) return Literal(false);
    for (const auto& [name, number] : kNumbers) {
      if (word == name && TakeWord(name)) return Literal(number);
    }
    return ReadPath(word);
  }

  Operand ReadNumber() {
    const char* const begin = text_.data() + at_;
    const char* const end = text_.data() + text_.size();
    std::int64_t whole = 0;
    double real = 0;
    const auto as_whole = std::from_chars(begin, end, whole);
    const auto as_real = std::from_chars(begin, end, real);
    if (as_real.ec != std::errc()) {
      Fail("expected a number");
      return {};
    }
    at_ += static_cast<std::size_t>(as_real.ptr - begin);
    if (as_whole.ec == std::errc() && as_whole.ptr == as_real.ptr) return Literal(whole);
    return Literal(real);
  }

  std::string ReadQuoted() {
    if (!Take("\"")) {
      Fail("expected text in double quotes");
      return {};
    }
    std::string out;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"') {
        ++at_;
        return out;
      }
      // \" and \\; any other backslash belongs to a regular expression.
      const bool escaped = text_[at_] == '\\' && at_ + 1 < text_.size() &&
                           (text_[at_ + 1] == '"' || text_[at_ + 1] == '\\');
      if (escaped) ++at_;
      out += text_[at_];
    }
    Fail("the text does not end");
    return out;
  }

  // `word` is where the reader stands.
  Operand ReadPath(std::string_view word) {
    const std::string_view prefix = context_.spans ? "span." : "profile.";
    std::string_view name = word;
    if (name == "resource.attributes") return ReadAttribute(word, Path::kResourceAttribute);
    if (name.starts_with(prefix)) {
      name.remove_prefix(prefix.size());
    } else if (!context_.bare) {
      name = {};
    }
    if (name == "attributes") return ReadAttribute(word, Path::kAttribute);
    using Paths = std::array<std::pair<std::string_view, Path>, 3>;
    static constexpr Paths kSpanPaths = {{{"name", Path::kSpanName},
                                          {"kind.string", Path::kSpanKind},
                                          {"status.code", Path::kSpanStatus}}};
    static constexpr Paths kProfilePaths = {{{"sample_type.type", Path::kSampleType},
                                             {"sample_type.unit", Path::kSampleUnit},
                                             {"duration_unix_nano", Path::kDuration}}};
    for (const auto& [known, path] : context_.spans ? kSpanPaths : kProfilePaths) {
      if (name != known) continue;
      at_ += word.size();
      return {.is_path = true, .path = path};
    }
    Fail(context_.spans
             ? "expected a value, resource.attributes[\"k\"], span.attributes[\"k\"], "
               "span.name, span.kind.string or span.status.code"
             : "expected a value, resource.attributes[\"k\"], profile.attributes[\"k\"], "
               "profile.sample_type.type, profile.sample_type.unit or "
               "profile.duration_unix_nano");
    return {};
  }

  Operand ReadAttribute(std::string_view word, Path path) {
    at_ += word.size();
    if (!Take("[")) Fail("expected [\"key\"]");
    std::string key = ReadQuoted();
    if (!Take("]")) Fail("expected ]");
    return {.is_path = true, .path = path, .key = std::move(key)};
  }

  const std::string_view text_;
  const Condition::Context context_;
  std::size_t at_ = 0;
  std::optional<Error> error_;
};

}  // namespace

Result<Condition> Condition::Parse(std::string_view text, Context context) {
  WHEREFORE_ASSIGN_OR_RETURN(Expression root, Parser(text, context).Run());
  return Condition(std::make_shared<const Expression>(std::move(root)));
}

bool Condition::Holds(const ConditionItem& item) const {
  return root_->Holds(item);
}

}  // namespace wherefore::gateway
