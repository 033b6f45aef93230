// Evidence: the days on which an alert fired or a regression was found are pinned for a while, so
// that there is something to look at when somebody comes.
//
// Any thread. What cannot be pinned is logged, and nothing else fails for it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "store/pin.h"
#include "store/read.h"

namespace wherefore::insight {

class Evidence {
 public:
  using SetPin = std::function<Result<store::Pin>(store::Pin)>;

  Evidence() = default;
  // `keep_ns` from now on; 0: nothing is kept.
  Evidence(SetPin set, std::int64_t keep_ns) : set_(std::move(set)), keep_ns_(keep_ns) {}

  // Whole days, so that what happens to a service again on the same day is the same pin.
  void Keep(std::uint32_t tenant, const std::string& service, store::TimeRange range,
            const std::string& why, std::int64_t now_ns) const;

 private:
  SetPin set_;
  std::int64_t keep_ns_ = 0;
};

}  // namespace wherefore::insight
