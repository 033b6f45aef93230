#include "insight/evidence.h"

#include <algorithm>

#include "base/clock.h"
#include "base/log.h"

namespace wherefore::insight {
namespace {

std::int64_t DayDown(std::int64_t ns) {
  return ns / kNsPerDay * kNsPerDay;
}

}  // namespace

void Evidence::Keep(std::uint32_t tenant, const std::string& service, store::TimeRange range,
                    const std::string& why, std::int64_t now_ns) const {
  if (!set_ || keep_ns_ <= 0 || range.to_ns <= range.from_ns) return;
  store::Pin pin{.tenant = tenant,
                 .id = {},
                 .service = service,
                 .range = {DayDown(std::max<std::int64_t>(0, range.from_ns)),
                           DayDown(range.to_ns - 1) + kNsPerDay},
                 .why = why};
  pin.until_ns = DayDown(now_ns + keep_ns_) + kNsPerDay;
  if (const auto set = set_(std::move(pin)); !set) {
    Log(LogLevel::kWarn, "days could not be pinned",
        {{"service", service}, {"why", why}, {"error", set.error().message()}});
  }
}

}  // namespace wherefore::insight
