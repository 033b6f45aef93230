// Selectors: which series a question is about, as text.
//
//   selector = [service] [ "{" matcher { "," matcher } "}" ]
//   matcher  = name ("=" | "!=" | "=~" | "!~") value
//   value    = '"' text with \" \\ \n escapes '"' | text without , } and quotes
//
// Regular expressions are RE2 and must match the whole value. A label a series does not have counts
// as the empty string. `service.name` and `service_name` are the same label, and both are the
// service. Immutable after parsing; any thread may evaluate.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace re2 {
class RE2;
}

namespace wherefore::query {

using Labels = std::vector<std::pair<std::string, std::string>>;  // sorted by name

enum class MatchOp : std::uint8_t { kEqual, kNotEqual, kRegex, kNotRegex };

struct Matcher {
  std::string label;
  MatchOp op = MatchOp::kEqual;
  std::string value;
  std::shared_ptr<const re2::RE2> regex;  // for kRegex and kNotRegex

  [[nodiscard]] bool Matches(std::string_view text) const;
};

class Selector {
 public:
  // The error names the position: "selector 'a{b': expected = after 'b' at character 4".
  static Result<Selector> Parse(std::string_view text);

  // Does a service of this name have any chance? (Matchers on the service label.)
  [[nodiscard]] bool MatchesService(std::string_view name) const;
  // Matchers other than those on the service.
  [[nodiscard]] bool MatchesLabels(const Labels& labels) const;
  [[nodiscard]] const std::vector<Matcher>& label_matchers() const { return labels_; }
  // Canonical text: service{a="b"}.
  [[nodiscard]] std::string Text() const;
  // The service when the selector names exactly one, else "".
  [[nodiscard]] std::string ExactService() const;

 private:
  std::vector<Matcher> services_;
  std::vector<Matcher> labels_;
};

[[nodiscard]] bool IsServiceLabel(std::string_view name);
[[nodiscard]] Result<std::shared_ptr<const re2::RE2>> CompileRegex(std::string_view pattern);
[[nodiscard]] std::string_view FindLabel(const Labels& labels, std::string_view name);

}  // namespace wherefore::query
