// Collects what the checkers find, up to a limit: a broken file can violate a rule in every entry.
// One thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "formats/formats.h"

namespace wherefore::formats {

class Violations {
 public:
  void Error(std::string path, std::string_view rule, std::string text) {
    Add({std::move(path), std::string(rule), std::move(text), false});
  }
  void Warn(std::string path, std::string_view rule, std::string text) {
    Add({std::move(path), std::string(rule), std::move(text), true});
  }
  [[nodiscard]] std::vector<Violation> Take() {
    if (left_out_ > 0) {
      found_.push_back({"", "more", fmt::format("{} more violations are not listed", left_out_),
                        !left_out_error_});
    }
    return std::move(found_);
  }

 private:
  void Add(Violation v) {
    constexpr std::size_t kListed = 1000;
    if (found_.size() < kListed) {
      found_.push_back(std::move(v));
    } else {
      ++left_out_;
      left_out_error_ |= !v.warning;
    }
  }

  std::vector<Violation> found_;
  std::size_t left_out_ = 0;
  bool left_out_error_ = false;
};

}  // namespace wherefore::formats
