// RedactedNames: the rules of `redact` for names that come from debug files on this machine, not
// from a sender; without them a name that was replaced on arrival would come back. Any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "gateway/process/redact_rules.h"
#include "symbols/resolved_frame.h"

namespace wherefore::cli {

class RedactedNames {
 public:
  using Rules = std::vector<std::shared_ptr<const gateway::RedactRules>>;

  void Set(Rules rules) {
    MutexLock lock(mutex_);
    rules_ = std::move(rules);
  }

  void Edit(symbols::ResolvedFrame& frame) const {
    Rules rules;
    {
      MutexLock lock(mutex_);
      rules = rules_;
    }
    for (const auto& rule : rules) {
      const std::string& replacement = rule->options().replacement;
      for (symbols::ResolvedLine& line : frame) {
        if (rule->Match(line.name) || rule->Match(line.system_name)) {
          line.name = replacement;
          line.system_name.clear();
        }
        if (rule->Match(line.file)) line.file = replacement;
      }
    }
  }

 private:
  mutable Mutex mutex_;
  Rules rules_ GUARDED_BY(mutex_);
};

}  // namespace wherefore::cli
