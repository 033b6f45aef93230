// Notes: the first few problems of one input, as one message for its sender. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace wherefore::formats {

class Notes {
 public:
  void Add(std::string_view reason) {
    constexpr std::size_t kLongest = 400;  // a hostile name in a path must not fill the answer
    if (full()) {
      AddUnseen();
      return;
    }
    ++count_;
    if (!text_.empty()) text_ += "; ";
    text_ += reason.substr(0, kLongest);
  }
  // If full(), skip formatting further reasons: there can be millions.
  [[nodiscard]] bool full() const { return count_ >= kShown; }
  void AddUnseen() { ++count_; }
  [[nodiscard]] std::string Text() const {
    return count_ <= kShown ? text_ : fmt::format("{}; and {} more", text_, count_ - kShown);
  }

 private:
  static constexpr std::uint64_t kShown = 5;

  std::string text_;
  std::uint64_t count_ = 0;
};

}  // namespace wherefore::formats
