// Pins: kept in memory by id, as the events in table `pins` say, which go through the log: set or
// removed durably when the call returns. One whose time is over is as if it were not there.
// Retention waits until those of earlier runs are known.
#include <algorithm>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"
#include "store/engine/query_rows.h"
#include "store/engine/schema.h"
#include "store/store_impl.h"

namespace wherefore::store {
namespace {

constexpr std::string_view kSet = "set";
constexpr std::string_view kRemoved = "removed";
constexpr std::size_t kMostText = 4096;

std::string IdOf(const Pin& pin) {
  return fmt::format("{:016x}", Hash64(fmt::format("{}\n{}\n{}\n{}", pin.tenant, pin.service,
                                                   pin.range.from_ns, pin.range.to_ns)));
}

Result<> Check(const Pin& pin) {
  constexpr std::int64_t kLongest = 31 * kNsPerDay;
  if (pin.service.empty()) return Error(Code::kInvalid, "a pin needs a service");
  if (pin.range.from_ns < 0 || pin.range.to_ns <= pin.range.from_ns)
    return Error(Code::kInvalid, "a pin needs a window that ends after it begins");
  if (pin.range.to_ns - pin.range.from_ns > kLongest) {
    return Error(Code::kInvalid, "a pin keeps at most 31 days; for longer set another retention");
  }
  if (pin.until_ns < 0 || pin.IsOver(NowUnixNs()))
    return Error(Code::kInvalid, "a pin's time is over when it is set");
  if (pin.service.size() > kMostText || pin.why.size() > kMostText)
    return Error(Code::kInvalid, fmt::format("a pin's texts have at most {} bytes", kMostText));
  WHEREFORE_RETURN_IF_ERROR(CheckUtf8(pin.service));
  return CheckUtf8(pin.why);
}

}  // namespace

Result<> StoreImpl::LoadPins() {
  struct Row {
    Pin pin;
    std::uint64_t number = 0;
    std::string state;
  };
  const auto columns =
      Columns<Row>(Col("tenant", &Row::pin, &Pin::tenant), Col("id", &Row::pin, &Pin::id),
                   Col("service", &Row::pin, &Pin::service),
                   Col("`from`", &Row::pin, &Pin::range, &TimeRange::from_ns),
                   Col("`to`", &Row::pin, &Pin::range, &TimeRange::to_ns),
                   Col("`until`", &Row::pin, &Pin::until_ns), Col("why", &Row::pin, &Pin::why),
                   Col("time", &Row::pin, &Pin::time_ns), Col("number", &Row::number),
                   Col("state", &Row::state));
  std::map<std::pair<std::uint32_t, std::string>, Pin> pins;
  std::uint64_t last = 0;
  WHEREFORE_RETURN_IF_ERROR(
      QueryRows(*transport_, columns,
                fmt::format("FROM {} ORDER BY number", PhysicalName(Table::kPins)), [&](Row&& row) {
                  last = row.number;
                  const std::pair key(row.pin.tenant, row.pin.id);
                  if (row.state == kSet) {
                    pins.insert_or_assign(key, std::move(row.pin));
                  } else {
                    pins.erase(key);
                  }
                }));
  MutexLock changes(pin_changes_mutex_);
  last_pin_event_ = last;
  MutexLock lock(pins_mutex_);
  pins_ = std::move(pins);
  pins_known_ = true;
  return {};
}

bool StoreImpl::FindPins() {
  {
    MutexLock lock(pins_mutex_);
    if (pins_known_) return true;
  }
  {
    MutexLock lock(state_mutex_);
    if (!replayed_) return false;
  }
  const auto loaded = LoadPins();
  if (!loaded) Log(LogLevel::kError, "pins cannot be read", {{"error", loaded.error().message()}});
  return static_cast<bool>(loaded);
}

Result<> StoreImpl::LogPin(const Pin& pin, std::string_view state) {
  const std::int64_t now_ns = NowUnixNs();
  RowSet rows;
  rows[Table::kPins]
      .Begin(BucketOf(now_ns, now_ns), pin.tenant)
      .Put(pin.time_ns)
      .Put(++last_pin_event_)
      .Text(pin.id)
      .Text(state)
      .Text(pin.service)
      .Put(pin.range.from_ns)
      .Put(pin.range.to_ns)
      .Put(pin.until_ns)
      .Text(pin.why);
  MutexLock lock(intern_mutex_);
  if (const std::string refusal = RefusalReason(); !refusal.empty())
    return Error(Code::kUnavailable, refusal);
  return LogRows(rows, {});
}

Result<Pin> StoreImpl::SetPin(Pin pin) {
  WHEREFORE_RETURN_IF_ERROR(Check(pin));
  pin.id = IdOf(pin);
  pin.time_ns = NowUnixNs();
  MutexLock changes(pin_changes_mutex_);
  {
    MutexLock lock(pins_mutex_);
    WHEREFORE_RETURN_IF_ERROR(PinsAreKnown());
    std::erase_if(pins_, [&](const auto& one) { return one.second.IsOver(pin.time_ns); });
    const auto known = pins_.find({pin.tenant, pin.id});
    const bool is_known = known != pins_.end();
    // Nobody's pin becomes shorter, or another's, because an alert fires.
    if (is_known && pin.until_ns != 0 && known->second.Outlasts(pin)) return known->second;
    constexpr std::size_t kMostPins = 10'000;
    if (pins_.size() >= kMostPins && !is_known)
      return Error(Code::kLimit, fmt::format("there are {} pins; remove some first", pins_.size()));
  }
  WHEREFORE_RETURN_IF_ERROR(LogPin(pin, kSet));
  MutexLock lock(pins_mutex_);
  pins_.insert_or_assign({pin.tenant, pin.id}, pin);
  return pin;
}

Result<> StoreImpl::RemovePin(std::uint32_t tenant, const std::string& id) {
  MutexLock changes(pin_changes_mutex_);
  Pin pin;
  {
    MutexLock lock(pins_mutex_);
    WHEREFORE_RETURN_IF_ERROR(PinsAreKnown());
    const auto found = pins_.find({tenant, id});
    if (found == pins_.end())
      return Error(Code::kNotFound, fmt::format("there is no pin '{}'", id));
    pin = found->second;
  }
  WHEREFORE_RETURN_IF_ERROR(LogPin(pin, kRemoved));
  MutexLock lock(pins_mutex_);
  pins_.erase({tenant, id});
  return {};
}

Result<std::vector<Pin>> StoreImpl::Pins(std::uint32_t tenant) const {
  MutexLock lock(pins_mutex_);
  WHEREFORE_RETURN_IF_ERROR(PinsAreKnown());
  std::vector<Pin> pins;
  const std::int64_t now_ns = NowUnixNs();
  for (const auto& [key, pin] : pins_) {
    if (key.first == tenant && !pin.IsOver(now_ns)) pins.push_back(pin);
  }
  std::ranges::sort(pins, {}, [](const Pin& pin) { return pin.range.from_ns; });
  return pins;
}

Result<> StoreImpl::PinsAreKnown() const {
  if (pins_known_) return {};
  return Error(Code::kUnavailable,
               "what was logged before the restart is not in the engine yet; ask again");
}

bool StoreImpl::IsPinned(std::uint32_t bucket) const {
  const BucketSpan span = SpanOf(bucket);
  const std::int64_t now_ns = NowUnixNs();
  MutexLock lock(pins_mutex_);
  return std::ranges::any_of(pins_, [&](const auto& entry) {
    const TimeRange& range = entry.second.range;
    return !entry.second.IsOver(now_ns) && range.from_ns < span.to_ns && range.to_ns > span.from_ns;
  });
}

}  // namespace wherefore::store
