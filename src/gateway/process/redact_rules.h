// What must never leave: regular expressions (RE2, any case), and exceptions from them.
//
// Immutable once made; any thread. A text goes if any pattern is found in it and no `allow` is.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace re2 {
class RE2;
}

namespace wherefore::gateway {

class RedactRules {
 public:
  struct Options {
    std::vector<std::string> patterns = {"password", "secret", "credential", "token"};
    std::vector<std::string> allow;
    std::string replacement = "[REDACTED]";
  };
  // kInvalid, with the pattern that is none.
  [[nodiscard]] static Result<std::shared_ptr<const RedactRules>> Make(Options options);

  // The number of the pattern because of which this text goes; none: it stays.
  [[nodiscard]] std::optional<std::size_t> Match(std::string_view text) const;
  [[nodiscard]] const Options& options() const { return options_; }

 private:
  explicit RedactRules(Options options) : options_(std::move(options)) {}

  Options options_;
  std::shared_ptr<const re2::RE2> any_;  // all patterns as one: most texts match none
  std::vector<std::shared_ptr<const re2::RE2>> patterns_;
  std::vector<std::shared_ptr<const re2::RE2>> allow_;
};

}  // namespace wherefore::gateway
