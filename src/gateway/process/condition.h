// Conditions of the processor `filter`: a part of the collector's condition language.
//
//   resource.attributes["env"] == "test" and not IsMatch(span.name, "^GET /health")
//   profile.sample_type.type == "alloc_space" or profile.duration_unix_nano < 1000000
//
// == != < <= > >=, and, or, not, ( ), nil, true, false, numbers, "text", STATUS_CODE_ERROR and its
// relatives, IsMatch(path, "expression"). Paths: resource.attributes["k"]; of a span
// attributes["k"], name, kind.string, status.code; of a profile attributes["k"], sample_type.type,
// sample_type.unit, duration_unix_nano. Values of unlike types are only unequal.
//
// Always:  evaluating reads and never fails. Any thread.
// Failure: Parse gives kInvalid with the character at which it stopped, counted from 1.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "profile/batch.h"
#include "profile/span_batch.h"

namespace wherefore::gateway {

// What a condition is about: exactly one of `span` and `profile` is set.
struct ConditionItem {
  const profile::TextPool* pool = nullptr;
  profile::Range resource_attributes;
  const profile::Span* span = nullptr;
  const profile::Batch* batch = nullptr;  // of the profile
  const profile::Profile* profile = nullptr;
};

class Condition {
 public:
  struct Context {
    bool spans = false;  // else profiles
    bool bare = false;   // paths of the item need no "span." or "profile." in front
  };
  [[nodiscard]] static Result<Condition> Parse(std::string_view text, Context context);
  [[nodiscard]] bool Holds(const ConditionItem& item) const;

  struct Expression;  // in condition.cc

 private:
  explicit Condition(std::shared_ptr<const Expression> root) : root_(std::move(root)) {}
  std::shared_ptr<const Expression> root_;
};

}  // namespace wherefore::gateway
