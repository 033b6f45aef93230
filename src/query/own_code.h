// Own code: which functions belong to the program, and not to libraries, the language's runtime,
// the C library, the kernel or a profiler.
//
// Decided by what is known of a function: its name, its module, its source file. Rules of the
// question come first, then defaults for the languages we know; what no rule names is own.
//
// Immutable; any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "profile/flame_tree.h"

namespace re2 {
class RE2;
}

namespace wherefore::query {

class OwnCode {
 public:
  // Rules are separated by blanks, and the first that matches decides: "+regex" is own, "-regex" is
  // not. They match in "function", "module`function" or the path of the file. Empty, or "default":
  // the defaults alone.
  static Result<OwnCode> Parse(std::string_view rules);

  [[nodiscard]] bool IsOwn(const profile::FlameFunction& function) const {
    return KindOf(function).empty();
  }
  // Of what is not own: std, libc, kernel, runtime, profiler, library. Empty: own.
  [[nodiscard]] std::string_view KindOf(const profile::FlameFunction& function) const;

 private:
  struct Rule {
    bool own = true;
    std::shared_ptr<const re2::RE2> regex;
  };
  std::vector<Rule> rules_;
};

// Frames in a row that are not own.
struct OwnChain {
  static constexpr std::size_t kMostNamed = 200;  // more are "[200+ std frames]"
  std::size_t frames = 0;
  std::string_view kind;

  void Add(std::string_view of) { kind = frames++ == 0 || kind == of ? of : "library"; }
  // "[19 std frames]"; of different kinds: "[19 library frames]".
  [[nodiscard]] std::string Name() const;
};

// Where samples go in whose stack nothing is own.
inline constexpr std::string_view kNoOwnCode = "[no own code]";
}  // namespace wherefore::query
