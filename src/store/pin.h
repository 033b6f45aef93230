// Pin: a window that somebody, an alert or a regression wants kept. The buckets it touches stay
// whole, of every kind, until it is removed or its time is over. Plain data; docs/format.md,
// "Pins".
#pragma once

#include <cstdint>
#include <string>

#include "store/read.h"

namespace wherefore::store {

struct Pin {
  std::uint32_t tenant = 0;
  std::string id;  // of service and window: the same twice is one
  std::string service;
  TimeRange range;
  std::string why;
  std::int64_t time_ns = 0;   // when it was set
  std::int64_t until_ns = 0;  // 0: until it is removed

  [[nodiscard]] bool IsOver(std::int64_t now_ns) const {
    return until_ns != 0 && until_ns <= now_ns;
  }
  // Whether it keeps what `other`, of the same window, would.
  [[nodiscard]] bool Outlasts(const Pin& other) const {
    return until_ns == 0 || (other.until_ns != 0 && other.until_ns <= until_ns);
  }
};

}  // namespace wherefore::store
