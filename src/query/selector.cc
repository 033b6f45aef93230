#include "query/selector.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <re2/re2.h>

#include "base/text.h"

namespace wherefore::query {
namespace {

class Parser {
 public:
  enum class Dialect : std::uint8_t { kOurs, kSeries };
  explicit Parser(std::string_view text, Dialect dialect = Dialect::kOurs)
      : series_(dialect == Dialect::kSeries), whole_(text), rest_(text) {}

  // What stands in front of the brace.
  std::string TakeName() {
    std::string name(Trim(rest_.substr(0, rest_.find('{'))));
    rest_.remove_prefix(std::min(rest_.find('{'), rest_.size()));
    return name;
  }

  Result<std::vector<Matcher>> TakeMatchers() {
    std::vector<Matcher> matchers;
    if (rest_.empty()) return matchers;
    rest_.remove_prefix(1);  // {
    SkipSpace();
    while (!rest_.empty() && rest_[0] != '}') {
      WHEREFORE_ASSIGN_OR_RETURN(Matcher m, TakeMatcher());
      matchers.push_back(std::move(m));
      SkipSpace();
      if (!rest_.empty() && rest_[0] == ',') {
        rest_.remove_prefix(1);
        SkipSpace();
      } else if (rest_.empty() || rest_[0] != '}') {
        return Fail("expected , or }");
      }
    }
    if (rest_.empty()) return Fail("expected }");
    rest_.remove_prefix(1);
    SkipSpace();
    if (!rest_.empty()) return Fail("nothing may follow }");
    return matchers;
  }

 private:
  static std::string_view Trim(std::string_view text) {
    while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
    while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
    return text;
  }
  static bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
  void SkipSpace() {
    while (!rest_.empty() && IsSpace(rest_[0])) rest_.remove_prefix(1);
  }
  [[nodiscard]] bool AtQuote() const {
    return !rest_.empty() &&
           (rest_[0] == '"' || (series_ && (rest_[0] == '\'' || rest_[0] == '`')));
  }
  Error Fail(std::string_view what) const {
    return {Code::kInvalid, fmt::format("selector '{}': {} at character {}", whole_, what,
                                        whole_.size() - rest_.size() + 1)};
  }

  Result<Matcher> TakeMatcher() {
    Matcher m;
    if (series_ && AtQuote()) {
      WHEREFORE_ASSIGN_OR_RETURN(m.label, TakeQuoted());
      SkipSpace();
      // A name without a value is the metric's.
      if (rest_.empty() || rest_[0] == ',' || rest_[0] == '}') {
        return Matcher{.label = "__name__", .value = std::move(m.label)};
      }
    } else {
      const std::size_t end = std::min(rest_.find_first_of("=!,}\""), rest_.size());
      m.label = Trim(rest_.substr(0, end));
      rest_.remove_prefix(end);
    }
    if (m.label.empty()) return Fail("expected a label name");
    struct Op {
      std::string_view text;
      MatchOp op;
    };
    static constexpr std::array kOps = {Op{"=~", MatchOp::kRegex}, Op{"!~", MatchOp::kNotRegex},
                                        Op{"!=", MatchOp::kNotEqual}, Op{"=", MatchOp::kEqual}};
    const auto* const op = std::find_if(kOps.begin(), kOps.end(),
                                        [&](const Op& o) { return rest_.starts_with(o.text); });
    if (op == kOps.end()) return Fail("expected =, !=, =~ or !~");
    m.op = op->op;
    rest_.remove_prefix(op->text.size());
    SkipSpace();
    WHEREFORE_ASSIGN_OR_RETURN(m.value, TakeValue());
    if (m.op == MatchOp::kRegex || m.op == MatchOp::kNotRegex) {
      WHEREFORE_ASSIGN_OR_RETURN(m.regex, CompileRegex(m.value));
    }
    return m;
  }

  Result<std::string> TakeValue() {
    if (AtQuote()) return TakeQuoted();
    if (series_) return Fail("expected a quoted value");
    const std::size_t end = std::min(rest_.find_first_of(",}\""), rest_.size());
    std::string value(Trim(rest_.substr(0, end)));
    rest_.remove_prefix(end);
    return value;
  }

  Result<std::string> TakeQuoted() {
    std::string value;
    const char quote = rest_[0];
    rest_.remove_prefix(1);
    while (!rest_.empty() && rest_[0] != quote) {
      if (rest_[0] == '\\' && rest_.size() > 1 && quote != '`') {
        rest_.remove_prefix(1);
        // Only the three escapes are ours; \d and the like belong to the regular expression.
        if (rest_[0] == 'n') {
          value += '\n';
          rest_.remove_prefix(1);
          continue;
        }
        if (rest_[0] != quote && rest_[0] != '\\') value += '\\';
      }
      value += rest_[0];
      rest_.remove_prefix(1);
    }
    if (rest_.empty()) return Fail("expected a closing quote");
    rest_.remove_prefix(1);
    return value;
  }

  bool series_;
  std::string_view whole_;
  std::string_view rest_;
};

std::string_view OpText(MatchOp op) {
  switch (op) {
    case MatchOp::kEqual:
      return "=";
    case MatchOp::kNotEqual:
      return "!=";
    case MatchOp::kRegex:
      return "=~";
    case MatchOp::kNotRegex:
      return "!~";
  }
  return "=";
}

std::string Quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

}  // namespace

bool IsServiceLabel(std::string_view name) {
  return name == "service.name" || name == "service_name";
}

namespace {

// The ( that is never closed, or the ) that closes nothing; npos: all is well.
std::size_t LonelyParenthesis(std::string_view pattern) {
  std::vector<std::size_t> open;
  bool in_set = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\') {
      ++i;
    } else if (in_set) {
      in_set = c != ']';
    } else if (c == '[') {
      in_set = true;
      // A ] right at the beginning is one of the set.
      if (pattern.substr(i + 1).starts_with('^')) ++i;
      if (pattern.substr(i + 1).starts_with(']')) ++i;
    } else if (c == '(') {
      open.push_back(i);
    } else if (c == ')') {
      if (open.empty()) return i;
      open.pop_back();
    }
  }
  return open.empty() ? std::string_view::npos : open.back();
}

// RE2 says which part is wrong, not where it is, and of parentheses nothing but the whole pattern.
std::size_t PlaceOfError(std::string_view pattern, const re2::RE2& regex) {
  const re2::RE2::ErrorCode code = regex.error_code();
  if (code == re2::RE2::ErrorMissingParen || code == re2::RE2::ErrorUnexpectedParen) {
    return LonelyParenthesis(pattern);
  }
  if (code == re2::RE2::ErrorTrailingBackslash) return pattern.size() - 1;
  return regex.error_arg().empty() ? std::string_view::npos : pattern.find(regex.error_arg());
}

}  // namespace

Result<std::shared_ptr<const re2::RE2>> CompileRegex(std::string_view pattern,
                                                     RegexOptions wanted) {
  WHEREFORE_RETURN_IF_ERROR(CheckUtf8(pattern));
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_dot_nl(wanted.dot_is_newline);
  options.set_case_sensitive(!wanted.any_case);
  options.set_max_mem(8 << 20);
  auto regex =
      std::make_shared<const re2::RE2>(re2::StringPiece(pattern.data(), pattern.size()), options);
  if (regex->ok()) return regex;
  const std::size_t at = PlaceOfError(pattern, *regex);
  return Error(
      Code::kInvalid,
      fmt::format("regular expression '{}': {}{}", pattern, regex->error(),
                  at == std::string_view::npos ? "" : fmt::format(" at character {}", at + 1)));
}

std::string_view FindLabel(const Labels& labels, std::string_view name) {
  const auto it = std::find_if(labels.begin(), labels.end(), [&](const auto& label) {
    return label.first == name || (IsServiceLabel(name) && IsServiceLabel(label.first));
  });
  return it == labels.end() ? std::string_view() : std::string_view(it->second);
}

bool Matcher::Matches(std::string_view text) const {
  switch (op) {
    case MatchOp::kEqual:
      return text == value;
    case MatchOp::kNotEqual:
      return text != value;
    case MatchOp::kRegex:
      return re2::RE2::FullMatch(re2::StringPiece(text.data(), text.size()), *regex);
    case MatchOp::kNotRegex:
      return !re2::RE2::FullMatch(re2::StringPiece(text.data(), text.size()), *regex);
  }
  return false;
}

namespace {

template <typename Id>
bool AddId(std::string_view hex, std::vector<Id>& ids) {
  Id id{};
  const auto bytes = FromHex(hex);
  if (!bytes || bytes->size() != id.size()) return false;
  std::copy(bytes->begin(), bytes->end(), id.begin());
  ids.push_back(id);
  return true;
}

}  // namespace

Result<Selector> Selector::Parse(std::string_view text) {
  Selector selector;
  Parser parser(text);
  if (std::string service = parser.TakeName(); !service.empty()) {
    selector.services_.push_back({.label = "service_name", .value = std::move(service)});
  }
  WHEREFORE_ASSIGN_OR_RETURN(std::vector<Matcher> matchers, parser.TakeMatchers());
  for (Matcher& m : matchers) {
    WHEREFORE_RETURN_IF_ERROR(selector.AddMatcher(std::move(m), false));
  }
  return selector;
}

Result<Selector> Selector::ParseSeries(std::string_view text) {
  Selector selector;
  Parser parser(text, Parser::Dialect::kSeries);
  if (std::string name = parser.TakeName(); !name.empty()) {
    selector.types_.push_back({.label = "__name__", .value = std::move(name)});
  }
  WHEREFORE_ASSIGN_OR_RETURN(std::vector<Matcher> matchers, parser.TakeMatchers());
  for (Matcher& m : matchers) {
    WHEREFORE_RETURN_IF_ERROR(selector.AddMatcher(std::move(m), true));
  }
  return selector;
}

Result<> Selector::AddMatcher(Matcher matcher, bool series) {
  const std::string& label = matcher.label;
  if (label == "span_id" || label == "trace_id" || label == "profile_id") {
    if (matcher.op != MatchOp::kEqual) {
      return Error(Code::kInvalid, fmt::format("selector: {} can only be asked for with =", label));
    }
    const std::string& id = matcher.value;
    const bool read = label == "trace_id" ? AddId(id, narrowing_.traces)
                      : label == "span_id"
                          ? AddId(id, narrowing_.spans)
                          : AddId(id, narrowing_.spans) || AddId(id, narrowing_.profiles);
    if (!read) {
      return Error(Code::kInvalid, fmt::format("selector: {}=\"{}\": {} hex digits are expected",
                                               label, id, label == "span_id" ? 16 : 32));
    }
    return {};
  }
  const bool service = IsServiceLabel(label) || (series && label == "__service_name__");
  (service                        ? services_
   : series && IsTypeLabel(label) ? types_
                                  : labels_)
      .push_back(std::move(matcher));
  return {};
}

Selector Selector::OfService(std::string name) {
  Selector out;
  out.services_.push_back({.label = "service_name", .value = std::move(name)});
  return out;
}

Selector Selector::OfServices(std::set<std::string, std::less<>> names) {
  Selector out;
  out.among_ = std::make_shared<const std::set<std::string, std::less<>>>(std::move(names));
  return out;
}

void Selector::Add(const Selector& other) {
  services_.insert(services_.end(), other.services_.begin(), other.services_.end());
  if (among_ && other.among_) {
    std::set<std::string, std::less<>> both;
    std::ranges::set_intersection(*among_, *other.among_, std::inserter(both, both.end()));
    among_ = std::make_shared<const std::set<std::string, std::less<>>>(std::move(both));
  } else if (other.among_) {
    among_ = other.among_;
  }
  labels_.insert(labels_.end(), other.labels_.begin(), other.labels_.end());
  types_.insert(types_.end(), other.types_.begin(), other.types_.end());
  const auto append = [](auto& to, const auto& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  append(narrowing_.profiles, other.narrowing_.profiles);
  append(narrowing_.traces, other.narrowing_.traces);
  append(narrowing_.spans, other.narrowing_.spans);
}

bool Selector::MatchesType(std::string_view id) const {
  return std::all_of(types_.begin(), types_.end(),
                     [&](const Matcher& m) { return m.Matches(TypeLabel(id, m.label)); });
}

bool IsTypeLabel(std::string_view name) {
  return std::find(kTypeLabels.begin(), kTypeLabels.end(), name) != kTypeLabels.end();
}

std::string_view TypeLabel(std::string_view id, std::string_view name) {
  if (name == kTypeLabels.back()) return id;
  for (std::size_t part = 0; part + 1 < kTypeLabels.size(); ++part) {
    const std::size_t end = std::min(id.find(':'), id.size());
    if (kTypeLabels[part] == name) return id.substr(0, end);
    id.remove_prefix(std::min(end + 1, id.size()));
  }
  return {};
}

bool Selector::MatchesService(std::string_view name) const {
  if (among_ && !among_->contains(name)) return false;
  return std::all_of(services_.begin(), services_.end(),
                     [&](const Matcher& m) { return m.Matches(name); });
}

bool Selector::MatchesLabels(const Labels& labels) const {
  return std::all_of(labels_.begin(), labels_.end(),
                     [&](const Matcher& m) { return m.Matches(FindLabel(labels, m.label)); });
}

std::string Selector::ExactService() const {
  for (const Matcher& m : services_) {
    if (m.op == MatchOp::kEqual) return m.value;
  }
  return {};
}

std::string Selector::Text() const {
  std::string out;
  std::string inside;
  const auto append = [&](const Matcher& m) {
    if (!inside.empty()) inside += ", ";
    inside += m.label;
    inside += OpText(m.op);
    inside += Quote(m.value);
  };
  for (const Matcher& m : services_) {
    const bool plain = m.op == MatchOp::kEqual && out.empty() &&
                       m.value.find_first_of("{}\" ") == std::string::npos && !m.value.empty();
    if (plain) {
      out = m.value;
    } else {
      append(m);
    }
  }
  for (const Matcher& m : labels_) append(m);
  const auto append_ids = [&](const char* label, const auto& ids) {
    for (const auto& id : ids) append({.label = label, .value = ToHex(id)});
  };
  append_ids("span_id", narrowing_.spans);
  append_ids("trace_id", narrowing_.traces);
  append_ids("profile_id", narrowing_.profiles);
  return inside.empty() && !out.empty() ? out : out + "{" + inside + "}";
}

std::string_view FirstLabel(const Labels& labels, std::span<const std::string_view> names) {
  for (const std::string_view name : names) {
    if (const std::string_view value = FindLabel(labels, name); !value.empty()) return value;
  }
  return {};
}

}  // namespace wherefore::query
