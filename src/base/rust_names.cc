#include "base/rust_names.h"

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace wherefore {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";
constexpr int kDeepest = 128;
constexpr std::size_t kLongest = 64 << 10;  // a few characters can expand to any length

void AppendUtf8(std::string& out, std::uint32_t c) {
  const auto put = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | c >> 6);
    put(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    put(0xe0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3f));
    put(0x80 | (c & 0x3f));
  } else {
    put(0xf0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3f));
    put(0x80 | (c >> 6 & 0x3f));
    put(0x80 | (c & 0x3f));
  }
}

bool IsScalar(std::uint32_t c) {
  return c < 0xd800 || (c > 0xdfff && c < 0x110000);
}

// RFC 3492, with '_' in place of '-'.
std::optional<std::string> ReadPunycode(std::string_view text) {
  std::vector<std::uint32_t> out;
  const std::size_t split = text.rfind('_');
  if (split != std::string_view::npos) {
    for (const char c : text.substr(0, split)) out.push_back(static_cast<unsigned char>(c));
    text.remove_prefix(split + 1);
  }
  std::uint64_t n = 128, i = 0, bias = 72;
  bool first = true;
  while (!text.empty()) {
    const std::uint64_t before = i;
    std::uint64_t weight = 1;
    for (std::uint64_t k = 36;; k += 36) {
      if (text.empty() || weight > UINT32_MAX) return std::nullopt;
      const char c = text.front();
      text.remove_prefix(1);
      const bool letter = c >= 'a' && c <= 'z';
      if (!letter && (c < '0' || c > '9')) return std::nullopt;
      const auto digit = static_cast<std::uint64_t>(letter ? c - 'a' : c - '0' + 26);
      i += digit * weight;
      const std::uint64_t t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
      if (digit < t) break;
      weight *= 36 - t;
    }
    const std::uint64_t length = out.size() + 1;
    std::uint64_t delta = (i - before) / (std::exchange(first, false) ? 700 : 2);
    delta += delta / length;
    for (bias = 0; delta > 455; bias += 36) delta /= 35;
    bias += 36 * delta / (delta + 38);
    n += i / length;
    i %= length;
    if (n > UINT32_MAX || !IsScalar(static_cast<std::uint32_t>(n))) return std::nullopt;
    out.insert(out.begin() + static_cast<std::ptrdiff_t>(i++), static_cast<std::uint32_t>(n));
  }
  std::string utf8;
  for (const std::uint32_t c : out) AppendUtf8(utf8, c);
  return utf8;
}

std::string_view BasicType(char c) {
  static constexpr std::array<std::string_view, 26> kNames = {
      "i8",    "bool", "char", "f64", "str",  "f32",  "",    "u8", "isize",
      "usize", "",     "i32",  "u32", "i128", "u128", "_",   "",   "",
      "i16",   "u16",  "()",   "...", "",     "i64",  "u64", "!"};
  return c >= 'a' && c <= 'z' ? kNames[static_cast<std::size_t>(c - 'a')] : "";
}

// Reads a symbol from left to right and writes the name as it goes. Every function returns false on
// a malformed symbol; what was written so far is then useless.
class Reader {
 public:
  explicit Reader(std::string_view symbol) : in_(symbol) {}

  bool Symbol() {
    if (!Path(true)) return false;
    // The instantiating crate is not part of the name.
    if (at_ < in_.size()) {
      const Silence silence(*this);
      if (!Path(false)) return false;
    }
    return at_ == in_.size();
  }
  std::string Take() { return std::move(out_); }

 private:
  struct Silence {
    explicit Silence(Reader& reader) : quiet(reader.quiet_), before(std::exchange(quiet, true)) {}
    Silence(const Silence&) = delete;
    Silence& operator=(const Silence&) = delete;
    ~Silence() { quiet = before; }
    bool& quiet;
    const bool before;
  };
  struct Deeper {
    explicit Deeper(int& value) : depth(value) { ++depth; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    ~Deeper() { --depth; }
    int& depth;
  };
  struct Identifier {
    std::uint64_t disambiguator = 0;
    std::string text;
  };

  bool Put(std::string_view text) {
    if (!quiet_) out_ += text;
    return out_.size() <= kLongest;
  }
  [[nodiscard]] char Peek() const { return at_ < in_.size() ? in_[at_] : '\0'; }
  char Next() { return at_ < in_.size() ? in_[at_++] : '\0'; }
  bool Eat(char c) {
    if (Peek() != c) return false;
    ++at_;
    return true;
  }

  // "_" is 0, "0_" is 1.
  bool Base62(std::uint64_t& value) {
    value = 0;
    if (Eat('_')) return true;
    while (!Eat('_')) {
      const char c = Next();
      std::uint64_t digit = 0;
      if (c >= '0' && c <= '9') {
        digit = static_cast<std::uint64_t>(c - '0');
      } else if (c >= 'a' && c <= 'z') {
        digit = static_cast<std::uint64_t>(c - 'a') + 10;
      } else if (c >= 'A' && c <= 'Z') {
        digit = static_cast<std::uint64_t>(c - 'A') + 36;
      } else {
        return false;
      }
      if (value > (UINT64_MAX - digit) / 62 - 1) return false;
      value = value * 62 + digit;
    }
    ++value;
    return true;
  }

  // `letter` followed by a number; absent means 0.
  bool Optional(char letter, std::uint64_t& value) {
    value = 0;
    if (!Eat(letter)) return true;
    if (!Base62(value)) return false;
    ++value;
    return true;
  }

  bool PlainIdentifier(std::string& text) {
    const bool punycode = Eat('u');
    std::size_t length = 0;
    if (Peek() < '0' || Peek() > '9') return false;
    if (!Eat('0')) {
      while (Peek() >= '0' && Peek() <= '9') {
        length = length * 10 + static_cast<std::size_t>(Next() - '0');
        if (length > in_.size()) return false;
      }
    }
    Eat('_');
    if (length > in_.size() - at_) return false;
    const std::string_view bytes = in_.substr(at_, length);
    at_ += length;
    if (!punycode) {
      text = bytes;
      return true;
    }
    auto read = ReadPunycode(bytes);
    if (read) text = std::move(*read);
    return read.has_value();
  }
  bool ReadIdentifier(Identifier& out) {
    return Optional('s', out.disambiguator) && PlainIdentifier(out.text);
  }

  // A back reference: reads again what stands at an earlier position.
  template <typename Read>
  bool BackReference(const Read& read) {
    const std::size_t here = at_ - 1;
    std::uint64_t place = 0;
    if (!Base62(place) || place >= here) return false;
    if (quiet_) return true;
    const std::size_t after = std::exchange(at_, static_cast<std::size_t>(place));
    const bool good = read();
    at_ = after;
    return good;
  }

  bool Path(bool in_value) {
    const Deeper deeper(depth_);
    if (depth_ > kDeepest) return false;
    switch (Next()) {
      case 'C': {
        Identifier crate;
        return ReadIdentifier(crate) && Put(crate.text);
      }
      case 'M':
        return ImplPath() && Put("<") && Type() && Put(">");
      case 'X':
        return ImplPath() && AsTrait();
      case 'Y':
        return AsTrait();
      case 'N':
        return NestedPath(in_value);
      case 'I':
        return Path(in_value) && (!in_value || Put("::")) && Put("<") && GenericArguments() &&
               Put(">");
      case 'B':
        return BackReference([&] { return Path(in_value); });
      default:
        return false;
    }
  }
  // The path of the impl block itself, which the name does not show.
  bool ImplPath() {
    const Silence silence(*this);
    std::uint64_t disambiguator = 0;
    return Optional('s', disambiguator) && Path(false);
  }
  bool AsTrait() { return Put("<") && Type() && Put(" as ") && Path(false) && Put(">"); }
  bool NestedPath(bool in_value) {
    const char space = Next();
    const bool special = space >= 'A' && space <= 'Z';
    if (!special && (space < 'a' || space > 'z')) return false;
    if (!Path(in_value)) return false;
    Identifier name;
    if (!ReadIdentifier(name)) return false;
    if (!special) return name.text.empty() || (Put("::") && Put(name.text));
    Put("::{");
    Put(space == 'C' ? "closure" : space == 'S' ? "shim" : std::string_view(&space, 1));
    if (!name.text.empty()) Put(":" + name.text);
    return Put("#" + std::to_string(name.disambiguator) + "}");
  }
  bool GenericArguments() {
    return List([this] { return GenericArgument(); }, ", ").has_value();
  }
  bool GenericArgument() {
    if (Eat('L')) return Lifetime();
    if (Eat('K')) return Const();
    return Type();
  }

  // Reads items up to 'E' and counts them.
  template <typename Item>
  std::optional<int> List(const Item& item, std::string_view between) {
    int count = 0;
    for (; !Eat('E'); ++count) {
      if (count > 0) Put(between);
      if (at_ == in_.size() || !item()) return std::nullopt;
    }
    return count;
  }

  // 0 is an erased lifetime; others count binders from the inside out.
  bool Lifetime() {
    std::uint64_t index = 0;
    return Base62(index) && PutLifetime(index);
  }
  bool PutLifetime(std::uint64_t index) {
    if (index == 0) return Put("'_");
    if (index > bound_) return false;
    const std::uint64_t depth = bound_ - index;
    if (depth < 26) return Put(std::string("'") + static_cast<char>('a' + depth));
    return Put("'_" + std::to_string(depth));
  }
  // Runs `inside` with the lifetimes of `for<'a, ...>` in scope.
  template <typename Inside>
  bool WithBinder(const Inside& inside) {
    std::uint64_t count = 0;
    if (!Optional('G', count)) return false;
    if (count > in_.size()) return false;
    if (count > 0) Put("for<");
    for (std::uint64_t i = 0; i < count; ++i) {
      ++bound_;
      if (i > 0) Put(", ");
      PutLifetime(1);
    }
    if (count > 0) Put("> ");
    const bool good = inside();
    bound_ -= count;
    return good;
  }

  bool Type() {
    const Deeper deeper(depth_);
    if (depth_ > kDeepest) return false;
    const char tag = Next();
    if (const std::string_view basic = BasicType(tag); !basic.empty()) return Put(basic);
    switch (tag) {
      case 'A':
        return Put("[") && Type() && Put("; ") && Const() && Put("]");
      case 'S':
        return Put("[") && Type() && Put("]");
      case 'T': {
        Put("(");
        const auto count = List([this] { return Type(); }, ", ");
        return count && (*count != 1 || Put(",")) && Put(")");
      }
      case 'R':
      case 'Q':
        return Put("&") && ReferenceLifetime() && (tag == 'R' || Put("mut ")) && Type();
      case 'P':
        return Put("*const ") && Type();
      case 'O':
        return Put("*mut ") && Type();
      case 'F':
        return WithBinder([this] { return FunctionType(); });
      case 'D':
        return DynType();
      case 'B':
        return BackReference([this] { return Type(); });
      default:
        --at_;
        return Path(false);
    }
  }
  bool ReferenceLifetime() {
    if (!Eat('L')) return true;
    std::uint64_t index = 0;
    return Base62(index) && (index == 0 || (PutLifetime(index) && Put(" ")));
  }
  bool FunctionType() {
    if (Eat('U')) Put("unsafe ");
    if (Eat('K')) {
      std::string abi = "C";
      if (!Eat('C') && !PlainIdentifier(abi)) return false;
      for (char& c : abi) c = c == '_' ? '-' : c;
      Put("extern \"" + abi + "\" ");
    }
    Put("fn(");
    if (!List([this] { return Type(); }, ", ")) return false;
    Put(")");
    if (Eat('u')) return true;  // returns ()
    return Put(" -> ") && Type();
  }
  bool DynType() {
    Put("dyn ");
    const bool good =
        WithBinder([this] { return List([this] { return DynTrait(); }, " + ").has_value(); });
    std::uint64_t lifetime = 0;
    if (!good || !Eat('L') || !Base62(lifetime)) return false;
    return lifetime == 0 || (Put(" + ") && PutLifetime(lifetime));
  }
  // Associated types (Item = u8) go into the trait's own argument list.
  bool DynTrait() {
    bool open = false;
    if (!OpenPath(open)) return false;
    while (Eat('p')) {
      std::string name;
      Put(std::exchange(open, true) ? ", " : "<");
      if (!PlainIdentifier(name) || !Put(name + " = ") || !Type()) return false;
    }
    return !open || Put(">");
  }
  bool OpenPath(bool& open) {
    if (Eat('B')) return BackReference([&] { return OpenPath(open); });
    if (!Eat('I')) return Path(false);
    open = true;
    return Path(false) && Put("<") && GenericArguments();
  }

  bool Const() {
    const Deeper deeper(depth_);
    if (depth_ > kDeepest) return false;
    if (Eat('B')) return BackReference([this] { return Const(); });
    const char type = Next();
    if (type == 'p') return Put("_");
    const bool negative = Eat('n');
    std::string_view digits = in_.substr(at_, in_.find_first_not_of(kHex, at_) - at_);
    at_ += digits.size();
    if (!Eat('_')) return false;
    digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
    std::uint64_t value = 0;
    if (digits.size() > 16) return Put((negative ? "-0x" : "0x") + std::string(digits));
    for (const char c : digits) value = value << 4 | kHex.find(c);
    switch (type) {
      case 'b':
        return value <= 1 && Put(value == 1 ? "true" : "false");
      case 'c': {
        std::string character;
        if (!IsScalar(static_cast<std::uint32_t>(value)) || value > 0x10ffff) return false;
        AppendUtf8(character, static_cast<std::uint32_t>(value));
        return Put("'" + character + "'");
      }
      default:
        constexpr std::string_view kIntegers = "ahijlmnostxy";
        return kIntegers.find(type) != std::string_view::npos &&
               Put((negative ? "-" : "") + std::to_string(value));
    }
  }

  const std::string_view in_;
  std::size_t at_ = 0;
  std::string out_;
  bool quiet_ = false;
  int depth_ = 0;
  std::uint64_t bound_ = 0;  // lifetimes in scope
};

// The character an escape such as $LT$ stands for, or '\0'.
std::uint32_t OldEscape(std::string_view name) {
  static constexpr std::pair<std::string_view, char> kNames[] = {
      {"SP", '@'}, {"BP", '*'}, {"RF", '&'}, {"LT", '<'},
      {"GT", '>'}, {"LP", '('}, {"RP", ')'}, {"C", ','}};
  for (const auto& [text, c] : kNames) {
    if (name == text) return static_cast<unsigned char>(c);
  }
  if (name.size() < 2 || name.size() > 7 || name[0] != 'u' ||
      name.find_first_not_of(kHex, 1) != std::string_view::npos) {
    return 0;
  }
  std::uint32_t value = 0;
  for (const char c : name.substr(1)) value = value << 4 | static_cast<std::uint32_t>(kHex.find(c));
  return value >= 0x20 && IsScalar(value) ? value : 0;
}

}  // namespace

std::optional<std::string> RustName(std::string_view symbol) {
  if (!symbol.starts_with("_R") || symbol.size() < 4) return std::nullopt;
  symbol.remove_prefix(2);
  symbol = symbol.substr(0, symbol.find('.'));  // suffixes added by the compiler
  // A digit would be the version of a future encoding.
  if (symbol.empty() || symbol[0] < 'A' || symbol[0] > 'Z') return std::nullopt;
  Reader reader(symbol);
  if (!reader.Symbol()) return std::nullopt;
  std::string name = reader.Take();
  if (name.empty()) return std::nullopt;
  return name;
}

void DecodeLegacyRustName(std::string& name) {
  constexpr std::size_t kHash = 19;  // "::h" and 16 digits that differ in every build
  if (name.size() <= kHash || name.compare(name.size() - kHash, 3, "::h") != 0 ||
      name.find_first_not_of(kHex, name.size() - 16) != std::string::npos) {
    return;
  }
  name.resize(name.size() - kHash);
  std::string out;
  bool start = true;  // at the start of a path segment
  for (std::size_t i = 0; i < name.size();) {
    const std::string_view rest = std::string_view(name).substr(i);
    if (start && rest.starts_with("_$")) {
      start = false;
      ++i;
      continue;
    }
    start = false;
    const std::size_t end = rest[0] == '$' ? rest.find('$', 1) : std::string_view::npos;
    const std::uint32_t escaped =
        end == std::string_view::npos ? 0 : OldEscape(rest.substr(1, end - 1));
    if (escaped != 0) {
      AppendUtf8(out, escaped);
      i += end + 1;
    } else if (rest.starts_with("..") || rest.starts_with("::")) {
      out += "::";
      start = rest[0] == ':';
      i += 2;
    } else {
      out += name[i++];
    }
  }
  name = std::move(out);
}

}  // namespace wherefore
