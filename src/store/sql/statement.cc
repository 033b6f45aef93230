#include "store/sql/statement.h"

#include <fmt/format.h>

namespace wherefore::store {
namespace {

constexpr std::size_t kLongest = 64 << 10;

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Result<std::string> Run() {
    while (at_ < text_.size()) WHEREFORE_RETURN_IF_ERROR(Next());
    const std::size_t last = out_.find_last_not_of(" \t\r\n");
    if (last == std::string::npos) return Error(Code::kInvalid, "the statement is empty");
    out_.resize(last + 1);
    return std::move(out_);
  }

 private:
  Error Wrong(std::size_t at, std::string_view what) const {
    std::size_t line = 1;
    std::size_t column = 1;
    for (const char c : text_.substr(0, at)) {
      ++column;
      if (c == '\n') {
        ++line;
        column = 1;
      }
    }
    return {Code::kInvalid, fmt::format("line {}, column {}: {}", line, column, what)};
  }
  [[nodiscard]] bool Has(std::string_view begin) const {
    return text_.substr(at_).starts_with(begin);
  }

  Result<> Next() {
    const char c = text_[at_];
    if (c == '\0') return Wrong(at_, "a zero byte");
    if (c == '\'' || c == '"' || c == '`') return Quoted(c);
    if (Has("--") || Has("#")) return Comment("\n", false);
    if (Has("/*")) return Comment("*/", true);
    if (c == '$') return Wrong(at_, "'$': texts stand in single quotes");
    if (c == ';') return End();
    // Substitutions of another program; the engine has its own kind.
    if (c == '{' || c == '}') return Wrong(at_, "parameters in braces are not known here");
    out_ += c;
    ++at_;
    return {};
  }

  // A backslash takes the next character's meaning away, and so does the quote before itself.
  Result<> Quoted(char quote) {
    const std::size_t begin = at_++;
    while (at_ < text_.size()) {
      if (text_[at_] == '\0') return Wrong(at_, "a zero byte");
      if (text_[at_] == '\\') {
        at_ += 2;
        continue;
      }
      if (text_[at_++] != quote) continue;
      if (at_ < text_.size() && text_[at_] == quote) {
        ++at_;
        continue;
      }
      out_ += text_.substr(begin, at_ - begin);
      return {};
    }
    return Wrong(begin, fmt::format("this {} is not closed", quote));
  }

  Result<> Comment(std::string_view end, bool must_end) {
    const std::size_t found = text_.find(end, at_ + end.size());
    if (found == std::string_view::npos && must_end) return Wrong(at_, "this comment does not end");
    const std::size_t begin = at_;
    at_ = found == std::string_view::npos ? text_.size() : found + end.size();
    // Blanks in its place, so that places in error messages stay right.
    for (const char c : text_.substr(begin, at_ - begin)) out_ += c == '\n' ? '\n' : ' ';
    return {};
  }

  // Only blanks and comments may follow.
  Result<> End() {
    const std::size_t end = at_;
    const std::size_t before = out_.size();
    while (at_ < text_.size() &&
           (text_[at_] == ';' || std::string_view(" \t\r\n").contains(text_[at_])))
      ++at_;
    if (at_ == text_.size()) return {};
    if (!Has("--") && !Has("/*") && !Has("#")) return Wrong(end, "one statement at a time, please");
    WHEREFORE_RETURN_IF_ERROR(Next());
    out_.resize(before);
    return at_ == text_.size() ? Result<>() : End();
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
};

}  // namespace

Result<std::string> OneStatement(std::string_view text) {
  if (text.size() > kLongest)
    return Error(Code::kInvalid, fmt::format("a statement has at most {} kB", kLongest >> 10));
  return Lexer(text).Run();
}

}  // namespace wherefore::store
