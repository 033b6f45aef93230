// Problems: everything that is wrong with a configuration, each at its place. Reading goes on after
// an error, so that one run of `wherefore check` names them all. Plain data; one thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "settings/node.h"

namespace wherefore::settings {

struct Problem {
  Place place;
  std::string what;
  bool warning = false;

  // "collector.yaml:12:5: unknown key ..."
  [[nodiscard]] std::string Text() const { return place.Text() + ": " + what; }
};

class Problems {
 public:
  void Fail(const Place& place, std::string what) {
    if (list_.size() < kMost) list_.push_back({place, std::move(what), false});
    failed_ = true;
  }
  void Warn(const Place& place, std::string what) {
    if (list_.size() < kMost) list_.push_back({place, std::move(what), true});
  }
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] const std::vector<Problem>& list() const { return list_; }
  // The first error. Only if failed().
  [[nodiscard]] Error error() const {
    for (const Problem& p : list_) {
      if (!p.warning) return Error::At(Code::kInvalid, p.place.Text(), p.what);
    }
    return {Code::kInvalid, "the configuration has more problems than are kept"};
  }

 private:
  static constexpr std::size_t kMost = 1000;
  std::vector<Problem> list_;
  bool failed_ = false;
};

}  // namespace wherefore::settings
