// What looks at waiting threads (off-CPU, wall clock) say of single spans.
//
// A look stands for the time up to the next one, on all threads that were not looked at meanwhile.
// Over many requests that adds up to what was waited. Of one span it is an estimate that may be
// many times what the span took: at most its own time is shown, with the error of so few looks.
// Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "profile/batch.h"
#include "store/read.h"

namespace wherefore::query {

using SpanKey = std::pair<profile::TraceId, profile::SpanId>;

// What was seen of one span, or of several together.
struct Looks {
  std::int64_t value = 0;     // nanoseconds, as they are shown
  std::int64_t looks = 0;     // behind it
  std::int64_t error_ns = 0;  // 95 %

  // Spans are looked at independently of each other.
  void Add(const Looks& more);
};

// `value`: what the looks add up to; `own_ns`: what the span took by itself, none: not known.
[[nodiscard]] Looks ShowLooks(std::int64_t value, std::int64_t looks,
                              std::optional<std::int64_t> own_ns);

// What spans took by themselves: their time without that in which a direct child ran. One whose
// children cover it but for a hundredth, and that was seen itself, waited beside them: it has all
// of its time. So has a local root under which a profiler files whole requests.
[[nodiscard]] std::map<SpanKey, std::int64_t> OwnTimes(const std::vector<store::SpanTime>& spans);

// Gives back `shown` of `value` in parts, in proportion, together exactly.
class InProportion {
 public:
  InProportion(std::int64_t shown, std::int64_t value) : shown_(shown), value_(value) {}
  std::int64_t Next(std::int64_t part) {
    if (value_ <= 0) return part;
    before_ += part;
    const auto until = static_cast<std::int64_t>(static_cast<__int128>(shown_) * before_ / value_);
    return until - std::exchange(given_, until);
  }

 private:
  std::int64_t shown_;
  std::int64_t value_;
  std::int64_t before_ = 0;
  std::int64_t given_ = 0;
};

}  // namespace wherefore::query
