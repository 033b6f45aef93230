#include "gateway/process/redact_rules.h"

#include <algorithm>

#include <fmt/format.h>
#include <re2/re2.h>

namespace wherefore::gateway {
namespace {

using Compiled = std::shared_ptr<const re2::RE2>;

Result<Compiled> Compile(const std::string& pattern) {
  RE2::Options options(RE2::Quiet);
  options.set_case_sensitive(false);
  auto compiled = std::make_shared<const re2::RE2>(pattern, options);
  if (!compiled->ok()) {
    return Error(Code::kInvalid,
                 fmt::format("`{}` is not a regular expression: {}", pattern, compiled->error()));
  }
  return compiled;
}

Result<std::vector<Compiled>> CompileAll(const std::vector<std::string>& patterns) {
  std::vector<Compiled> all;
  for (const std::string& pattern : patterns) {
    if (pattern.empty()) {
      return Error(Code::kInvalid, "an empty pattern is found in every text");
    }
    WHEREFORE_ASSIGN_OR_RETURN(Compiled one, Compile(pattern));
    all.push_back(std::move(one));
  }
  return all;
}

bool Found(std::string_view text, const re2::RE2& pattern) {
  return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), pattern);
}

}  // namespace

Result<std::shared_ptr<const RedactRules>> RedactRules::Make(Options options) {
  std::shared_ptr<RedactRules> rules(new RedactRules(std::move(options)));
  WHEREFORE_ASSIGN_OR_RETURN(rules->patterns_, CompileAll(rules->options_.patterns));
  WHEREFORE_ASSIGN_OR_RETURN(rules->allow_, CompileAll(rules->options_.allow));
  std::string any;
  for (const std::string& pattern : rules->options_.patterns) {
    any += fmt::format("{}(?:{})", any.empty() ? "" : "|", pattern);
  }
  if (!any.empty()) {
    WHEREFORE_ASSIGN_OR_RETURN(rules->any_, Compile(any));
  }
  return std::shared_ptr<const RedactRules>(std::move(rules));
}

std::optional<std::size_t> RedactRules::Match(std::string_view text) const {
  if (!any_ || !Found(text, *any_)) return std::nullopt;
  if (std::ranges::any_of(allow_, [&](const Compiled& p) { return Found(text, *p); })) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < patterns_.size(); ++i) {
    if (Found(text, *patterns_[i])) return i;
  }
  return std::nullopt;
}

}  // namespace wherefore::gateway
