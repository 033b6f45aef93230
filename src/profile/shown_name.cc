#include "profile/shown_name.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>

namespace wherefore::profile {
namespace {

constexpr std::size_t kLongest = 2000;  // more of a name is not looked at

bool IsWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool IsBlank(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}

// Takes `word` away from the beginning of `text`, if it is there.
bool Take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kLetters = {
    {{"char", ""}, {"wchar_t", "w"}, {"char8_t", "u8"}, {"char16_t", "u16"}, {"char32_t", "u32"}}};

// ", std::allocator<char> " behind a string's letter.
void TakeArgument(std::string_view& text, std::string_view what, std::string_view letter) {
  std::string_view rest = text;
  if (!Take(rest, ",")) return;
  Take(rest, " ");
  if (!Take(rest, "std::")) return;
  Take(rest, "__1::");
  if (!Take(rest, what) || !Take(rest, "<") || !Take(rest, letter) || !Take(rest, ">")) return;
  Take(rest, " ");
  text = rest;
}

// What is called for short at the beginning of `text`, which then begins behind it.
std::optional<std::string> TakeString(std::string_view& text) {
  std::string_view rest = text;
  if (!Take(rest, "std::")) return std::nullopt;
  if (!Take(rest, "__cxx11::")) Take(rest, "__1::");
  if (!Take(rest, "basic_string")) return std::nullopt;
  const bool view = Take(rest, "_view");
  if (!Take(rest, "<")) return std::nullopt;
  for (const auto& [letter, prefix] : kLetters) {
    std::string_view arguments = rest;
    if (!Take(arguments, letter)) continue;
    TakeArgument(arguments, "char_traits", letter);
    TakeArgument(arguments, "allocator", letter);
    if (!Take(arguments, ">")) continue;
    text = arguments;
    return "std::" + std::string(prefix) + (view ? "string_view" : "string");
  }
  return std::nullopt;
}

std::string Replaced(std::string text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
  return text;
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsBlank(text.back())) text.remove_suffix(1);
  return text;
}

// Operators of that shape have brackets that are none.
bool HasBracketOperator(std::string_view name) {
  for (std::size_t at = name.find("operator"); at != std::string_view::npos;
       at = name.find("operator", at + 1)) {
    std::size_t next = at + 8;
    while (next < name.size() && IsBlank(name[next])) ++next;
    if (next < name.size() && std::string_view("<>(-").find(name[next]) != std::string_view::npos)
      return true;
  }
  return false;
}

// "a<b<c>>(d)::e" without the parts in one kind of brackets.
std::string Without(const std::string& name, char open, char close) {
  if (name.find(open) == std::string::npos || HasBracketOperator(name)) return name;
  int depth = 0;
  std::string out;
  char before = 0;
  for (const char c : name) {
    if (c == open) {
      ++depth;
    } else if (c == close && depth > 0 && before != '-') {
      --depth;  // "-> T" is not a closing bracket
    } else if (depth == 0) {
      out += c;
    }
    before = c;
  }
  const std::string_view trimmed = Trimmed(out);
  return depth == 0 && !trimmed.empty() ? std::string(trimmed) : name;
}

// Rust names a method "<a::T<u8> as b::Trait>::f"; this gives "a::T<u8>::f".
std::string OfType(const std::string& name) {
  if (name.empty() || name[0] != '<') return name;
  int depth = 0;
  std::size_t as = std::string::npos;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<') ++depth;
    if (name[i] == '>' && i > 0 && name[i - 1] != '-') --depth;
    if (depth == 1 && as == std::string::npos && name.compare(i, 4, " as ") == 0) as = i;
    if (depth != 0) continue;
    const std::string rest = name.substr(i + 1);  // empty for Python's "<module>"
    if (!rest.starts_with("::")) return name;
    return OfType(name.substr(1, (as == std::string::npos ? i : as) - 1)) + rest;
  }
  return name;
}

// A Go receiver, "(*Cart)", is in parentheses too, but is not a parameter list.
bool HasReceiver(std::string_view name) {
  for (std::size_t at = name.find('('); at != std::string_view::npos; at = name.find('(', at + 1)) {
    std::size_t end = at + 1;
    if (end < name.size() && name[end] == '*') ++end;
    const std::size_t first = end;
    while (end < name.size() && IsWord(name[end])) ++end;
    if (end > first && end < name.size() && name[end] == ')') return true;
  }
  return false;
}

std::string WithoutParameters(const std::string& name) {
  if (HasReceiver(name)) return name;
  const std::string plain = Without(name, '(', ')');
  std::string_view text = plain;
  if (text.ends_with("const") && text.size() > 5 && IsBlank(text[text.size() - 6]))
    text = Trimmed(text.substr(0, text.size() - 5));
  return std::string(text);
}

// How long the name of an operator is that begins here, "operator()"; 0: it is none.
std::size_t OperatorLength(std::string_view text) {
  constexpr std::size_t kWord = 8;  // "operator"
  const std::string_view rest = text.substr(kWord);
  const auto run = [&rest](std::size_t from, const auto& fits) {
    std::size_t end = from;
    while (end < rest.size() && fits(rest[end])) ++end;
    return end;
  };
  if (rest.starts_with("()") || rest.starts_with("[]")) return kWord + 2;
  if (rest.starts_with("\"\"")) {
    const std::size_t from = rest.size() > 2 && IsBlank(rest[2]) ? 3 : 2;
    if (const std::size_t end = run(from, IsWord); end > from) return kWord + end;
  }
  const std::size_t signs = run(0, [](char c) { return !IsBlank(c) && !IsWord(c) && c != '('; });
  if (signs > 0) return kWord + signs;
  if (rest.empty() || !IsBlank(rest[0])) return 0;
  std::size_t end = run(1, [](char c) { return IsWord(c) || c == ':'; });
  if (end == 1) return 0;
  if (rest.substr(end).starts_with("[]")) end += 2;
  return kWord + end;
}

struct OperatorName {
  std::string scope;  // what is before it
  std::string name;   // without parameters
};
std::optional<OperatorName> OperatorIn(const std::string& name) {
  for (std::size_t at = name.find("operator"); at != std::string::npos;
       at = name.find("operator", at + 1)) {
    if (at > 0 && IsWord(name[at - 1])) continue;
    if (const std::size_t length = OperatorLength(std::string_view(name).substr(at)); length > 0)
      return OperatorName{name.substr(0, at), name.substr(at, length)};
  }
  return std::nullopt;
}

std::vector<std::string> Split(const std::string& text, std::string_view by) {
  std::vector<std::string> out;
  for (std::size_t at = 0;;) {
    const std::size_t end = text.find(by, at);
    out.push_back(text.substr(at, end == std::string::npos ? end : end - at));
    if (end == std::string::npos) return out;
    at = end + by.size();
  }
}

std::string LastSegment(const std::string& name) {
  const std::size_t slash = name.rfind('/');  // Go: github.com/a/b.(*T).F
  if (slash != std::string::npos && slash + 1 < name.size()) return name.substr(slash + 1);
  if (name.find("::") != std::string::npos) return name;
  const std::vector<std::string> dots = Split(name, ".");  // Java: com.acme.shop.Cart.add
  const auto fits = [](const std::string& part) {
    return !part.empty() && std::ranges::all_of(part, [](char c) {
      return IsWord(c) || c == '$' || c == '<' || c == '>';
    });
  };
  if (dots.size() > 3 && std::ranges::all_of(dots, fits))
    return dots[dots.size() - 2] + "." + dots.back();
  return name;
}

// Every character has one byte that is no continuation.
std::size_t Characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

std::string ReadableName(std::string_view name) {
  if (name.find("basic_string") == std::string_view::npos) return std::string(name);
  std::string out;
  while (!name.empty()) {
    const bool begins = out.empty() || !IsWord(out.back());
    if (const auto text = begins ? TakeString(name) : std::nullopt) {
      out += *text;
      continue;
    }
    out += name.front();
    name.remove_prefix(1);
  }
  return out;
}

std::vector<std::string> NameLadder(std::string_view name) {
  std::vector<std::string> steps = {ReadableName(name.substr(0, kLongest))};
  const auto push = [&steps](const std::string& next) {
    if (!next.empty() && next.size() < steps.back().size()) steps.push_back(next);
  };
  const std::string named = Replaced(steps[0], "(anonymous namespace)::", "");
  push(named);
  const std::string typed = Replaced(OfType(named), "::<", "<");
  push(typed);
  const std::string plain = WithoutParameters(typed);
  push(plain);
  const auto operation = OperatorIn(plain);
  const std::string scope = operation ? Without(operation->scope, '<', '>') : "";
  const std::string bare = operation ? scope + operation->name : Without(plain, '<', '>');
  push(bare);
  push(LastSegment(bare));
  std::vector<std::string> scopes = Split(operation ? scope : bare, "::");
  if (operation) scopes.back() = operation->name;
  const std::size_t n = scopes.size();
  if (n > 2) push(scopes[n - 2] + "::" + scopes[n - 1]);
  if (n > 1) push(scopes[n - 1]);
  return steps;
}

std::string FittingName(std::string_view name, std::size_t characters) {
  if (Characters(name) <= characters) return ReadableName(name);
  std::vector<std::string> steps = NameLadder(name);
  for (std::string& step : steps) {
    if (Characters(step) <= characters) return std::move(step);
  }
  return std::move(steps.back());
}

}  // namespace wherefore::profile
