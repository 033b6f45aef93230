// Pin: a window that somebody, or an alert, wants kept. The buckets it touches stay whole, of every
// kind, until it is removed. Plain data; docs/format.md, "Pins".
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
  std::int64_t time_ns = 0;  // when it was set
};

}  // namespace wherefore::store
