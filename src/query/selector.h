// Selectors: which series a query is about, as text.
//
//   selector = [service] [ "{" matcher { "," matcher } "}" ]
//   matcher  = name ("=" | "!=" | "=~" | "!~") value
//   value    = '"' text with \" \\ \n escapes '"' | text without , } and quotes
//
// ParseSeries reads Prometheus series selectors instead, as Pyroscope's clients write them: the
// name in front is __name__, values are quoted ("", '' or ``), label names may be. There the
// labels __name__, __profile_type__, __type__, __unit__, __period_type__ and __period_unit__ are
// about the profile's type, and __service_name__ is the service too.
//
// Ids are no labels (there are too many of them), but can be asked for like one: span_id="16 hex",
// trace_id="32 hex", profile_id="32 hex" (16: a span, as older profilers write it), with = only.
//
// Regular expressions are RE2 and must match the whole value. A label a series does not have counts
// as the empty string. `service.name` and `service_name` are the same label, and both are the
// service. Immutable after parsing; any thread may evaluate.
#pragma once

#include <array>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "profile/batch.h"

namespace re2 {
class RE2;
}

namespace wherefore::query {

using Labels = std::vector<std::pair<std::string, std::string>>;  // sorted by name

// Only some samples of a selection: those of these profiles, traces or spans. Empty lists do not
// narrow.
struct Narrowing {
  std::vector<profile::ProfileId> profiles;
  std::vector<profile::TraceId> traces;
  std::vector<profile::SpanId> spans;

  [[nodiscard]] bool empty() const { return profiles.empty() && traces.empty() && spans.empty(); }
};

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
  static Result<Selector> ParseSeries(std::string_view text);
  // Everything of one service, whatever its name holds.
  static Selector OfService(std::string name);
  // The same of several.
  static Selector OfServices(std::set<std::string, std::less<>> names);
  // Everything `other` asks for as well.
  void Add(const Selector& other);

  // Does a service of this name have any chance? (Matchers on the service label.)
  [[nodiscard]] bool MatchesService(std::string_view name) const;
  // Matchers other than those on the service.
  [[nodiscard]] bool MatchesLabels(const Labels& labels) const;
  // Matchers on the type, given its five-part id.
  [[nodiscard]] bool MatchesType(std::string_view id) const;
  [[nodiscard]] const std::vector<Matcher>& label_matchers() const { return labels_; }
  [[nodiscard]] const Narrowing& narrowing() const { return narrowing_; }
  // Canonical text: service{a="b"}.
  [[nodiscard]] std::string Text() const;
  // The service when the selector names exactly one, else "".
  [[nodiscard]] std::string ExactService() const;

 private:
  // Puts a matcher where it belongs.
  Result<> AddMatcher(Matcher matcher, bool series);

  std::vector<Matcher> services_;
  std::shared_ptr<const std::set<std::string, std::less<>>> among_;  // null: not said
  std::vector<Matcher> labels_;
  std::vector<Matcher> types_;
  Narrowing narrowing_;
};

// The labels that follow from a five-part type id, in the order of its parts; the last is the
// whole.
inline constexpr std::array<std::string_view, 6> kTypeLabels = {
    "__name__", "__type__", "__unit__", "__period_type__", "__period_unit__", "__profile_type__"};
[[nodiscard]] bool IsTypeLabel(std::string_view name);
// The value of a type label, "" for another label.
[[nodiscard]] std::string_view TypeLabel(std::string_view id, std::string_view name);

[[nodiscard]] bool IsServiceLabel(std::string_view name);

struct RegexOptions {
  bool any_case = false;
  bool dot_is_newline = true;  // .* means everything
};
// The error says what is wrong and at which character.
[[nodiscard]] Result<std::shared_ptr<const re2::RE2>> CompileRegex(std::string_view pattern,
                                                                   RegexOptions options = {});
[[nodiscard]] std::string_view FindLabel(const Labels& labels, std::string_view name);
// The first of these names that has a value; empty: none has.
[[nodiscard]] std::string_view FirstLabel(const Labels& labels,
                                          std::span<const std::string_view> names);

}  // namespace wherefore::query
