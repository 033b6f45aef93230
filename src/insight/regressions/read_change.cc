#include "insight/regressions/read_change.h"

#include "base/arithmetic.h"
#include "base/text.h"
#include "settings/fields.h"
#include "settings/yaml.h"

namespace wherefore::insight {

using namespace settings;  // tables of keys

namespace {

constexpr std::size_t kLongestText = 2000;

struct Said {
  std::string why, by, until;
};

Result<std::string> ReadAnyText(const Node& node) {
  if (node.kind != Node::Kind::kScalar) return Error(Code::kInvalid, "expected a text");
  if (node.text.size() > kLongestText) return Error(Code::kInvalid, "the text is too long");
  return node.text;
}

const Fields<Said>& SaidFields() {
  static const Fields<Said> fields = {
      {"why", Scalar(&Said::why, ReadAnyText)},
      {"by", Scalar(&Said::by, ReadAnyText)},
      {"until", Scalar(&Said::until, ReadAnyText)},
  };
  return fields;
}

bool IsBlank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

// A time, or how long from now.
Result<std::int64_t> ReadUntil(const std::string& text, std::int64_t now_ns) {
  if (const auto later = ParseDuration(text); later && *later > 0)
    return SaturatingAdd(now_ns, *later);
  WHEREFORE_ASSIGN_OR_RETURN(const std::int64_t until, ParseTime(text, now_ns));
  if (until <= now_ns) return Error(Code::kInvalid, "until: expected a time to come, or 7d");
  return until;
}

}  // namespace

Result<RegressionChange> ReadRegressionChange(RegressionState state, std::string_view json,
                                              std::int64_t now_ns) {
  Said said;
  if (!IsBlank(json)) {
    Problems problems;
    const auto root = ParseJsonBody(json, "body", problems);
    if (root && ExpectMap(*root, "body", problems)) ReadMap(*root, SaidFields(), said, problems);
    if (problems.failed()) return problems.error();
  }
  RegressionChange change{.state = state, .why = said.why, .by = said.by};
  const bool mutes = state == RegressionState::kMuted;
  if (mutes && IsBlank(said.why))
    return Error(Code::kInvalid, "why: a mute says why, for those who come after");
  if (!mutes && !said.until.empty())
    return Error(Code::kInvalid, "until: only a mute ends by itself");
  if (!said.until.empty()) {
    auto until = ReadUntil(said.until, now_ns);
    if (!until) return std::move(until).error().Within("until");
    change.until_ns = *until;
  }
  return change;
}

}  // namespace wherefore::insight
