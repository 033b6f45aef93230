// Rule: a pattern worth somebody's attention, as data. Detectors are code, rules name them.
//
// Plain values, immutable once read; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace re2 {
class RE2;
}

namespace wherefore::insight {

// An expression and how it was written; null: everything.
struct Pattern {
  std::shared_ptr<const re2::RE2> regex;
  std::string text;

  [[nodiscard]] bool set() const { return regex != nullptr; }
};

// A frame matches if all that is set does. Names are those that senders use: Go "regexp.Compile",
// Java "java/util/regex/Pattern.compile", Node "path:name:line", Python a name and a file.
struct FrameMatch {
  Pattern frame;      // name
  Pattern file;       // source file
  Pattern module;     // file name of the mapping
  Pattern kind;       // user, kernel, inlined, native, jit
  Pattern under;      // some caller, at any distance
  Pattern not_under;  // no caller
};

enum class Detector : std::uint8_t {
  kNone,        // frames
  kDominant,    // one function does most of the work itself
  kRecursion,   // a function is on a stack ten times and more
  kDeep,        // stacks of a hundred frames and more, or cut ones
  kRepeated,    // a function is called from many places
  kLockConvoy,  // one holder makes others wait
  kNPlusOne     // a span has ten children of one name and more, one after the other
};

enum class MeasureOf : std::uint8_t { kTotal, kSelf };

struct Rule {
  std::string id;
  std::string title;
  std::string language;  // as telemetry.sdk.language spells it; empty: any
  std::string type = "cpu";
  Detector detector = Detector::kNone;
  std::vector<FrameMatch> match;  // any of them
  MeasureOf measure = MeasureOf::kTotal;
  // The near end of the interval of the share must reach it.
  double at_least_share = 0;
  std::int64_t at_least_observations = 20;
  double at_least_cores = 0.01;  // the near end, where the type is CPU time: less is not worth it
  double saving = 0.5;           // of what matches, if the advice is followed
  std::string fix;
  bool enabled = true;
  std::string place;  // file, line and column
};

}  // namespace wherefore::insight
