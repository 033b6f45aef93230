#include "json.h"

#include <cctype>
#include <charconv>
#include <stdexcept>

namespace demo {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Json Document() {
    Json value = Value();
    SkipSpace();
    if (at_ != text_.size()) Fail("more text after the document");
    return value;
  }

 private:
  [[noreturn]] void Fail(const char* what) const {
    throw std::runtime_error(std::string(what) + " at " + std::to_string(at_));
  }
  void SkipSpace() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  char Peek() {
    SkipSpace();
    if (at_ == text_.size()) Fail("the text ends early");
    return text_[at_];
  }
  void Expect(char c) {
    if (Peek() != c) Fail("something else was expected");
    ++at_;
  }

  Json Value() {
    switch (Peek()) {
      case '{':
        return Object();
      case '[':
        return Array();
      case '"':
        return {.kind = Json::Kind::kText, .text = ParseString()};
      case 'n':
        at_ += 4;
        return {};
      default:
        return Number();
    }
  }
  Json Object();
  Json Array();
  Json Number();
  std::string ParseString();

  std::string_view text_;
  std::size_t at_ = 0;
};

[[gnu::noinline]] Json Parser::Object() {
  Json value{.kind = Json::Kind::kObject};
  Expect('{');
  while (Peek() != '}') {
    std::string name = ParseString();
    Expect(':');
    value.fields.emplace(std::move(name), Value());
    if (Peek() == ',') ++at_;
  }
  Expect('}');
  return value;
}

[[gnu::noinline]] Json Parser::Array() {
  Json value{.kind = Json::Kind::kArray};
  Expect('[');
  while (Peek() != ']') {
    value.items.push_back(Value());
    if (Peek() == ',') ++at_;
  }
  Expect(']');
  return value;
}

[[gnu::noinline]] Json Parser::Number() {
  Json value{.kind = Json::Kind::kNumber};
  const auto [end, error] =
      std::from_chars(text_.data() + at_, text_.data() + text_.size(), value.number);
  if (error != std::errc()) Fail("this is no number");
  at_ = static_cast<std::size_t>(end - text_.data());
  return value;
}

[[gnu::noinline]] std::string Parser::ParseString() {
  Expect('"');
  std::string out;
#if DEMO_VERSION == 1
  const std::size_t end = text_.find_first_of("\"\\", at_);
  if (end != std::string_view::npos && text_[end] == '"') {  // nothing to unescape
    out = text_.substr(at_, end - at_);
    at_ = end + 1;
    return out;
  }
#endif
  for (;; ++at_) {
    if (at_ >= text_.size()) Fail("a string does not end");
    if (text_[at_] == '"') break;
    if (text_[at_] == '\\') ++at_;
#if DEMO_VERSION == 1
    out.push_back(text_[at_]);
#else
    out = out + text_[at_];  // one new string per character
#endif
  }
  ++at_;
  return out;
}

void Write(const Json& value, std::string& out) {
  switch (value.kind) {
    case Json::Kind::kNull:
      out += "null";
      break;
    case Json::Kind::kNumber:
      out += std::to_string(value.number);
      break;
    case Json::Kind::kText:
      out.append(1, '"').append(value.text).append(1, '"');
      break;
    case Json::Kind::kArray:
      out += '[';
      for (const Json& item : value.items) {
        if (out.back() != '[') out += ',';
        Write(item, out);
      }
      out += ']';
      break;
    case Json::Kind::kObject:
      out += '{';
      for (const auto& [name, field] : value.fields) {
        if (out.back() != '{') out += ',';
        out.append(1, '"').append(name).append("\":");
        Write(field, out);
      }
      out += '}';
      break;
  }
}

}  // namespace

const Json& Json::operator[](const std::string& name) const {
  static const Json kNull;
  const auto found = fields.find(name);
  return found == fields.end() ? kNull : found->second;
}

Json ParseJson(std::string_view text) {
  return Parser(text).Document();
}

std::string WriteJson(const Json& value) {
  std::string out;
  Write(value, out);
  return out;
}

}  // namespace demo
