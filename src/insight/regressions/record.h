// A regression: one cause that makes a service dearer since one version, and what people said to
// it. Each is made again from its newest event.
//
// Plain data and pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "query/worse.h"
#include "store/regression_event.h"

namespace wherefore::insight {

// Gone: the cost came back down.
enum class RegressionState : std::uint8_t { kOpen, kAcknowledged, kMuted, kGone };
[[nodiscard]] std::string_view StateName(RegressionState state);
[[nodiscard]] std::optional<RegressionState> StateOf(std::string_view name);

struct Regression {
  std::uint32_t tenant = 0;
  std::uint64_t id = 0;
  RegressionState state = RegressionState::kOpen;
  // As the last look that saw it found it; its only cause is this one. Without a version its label
  // is empty.
  query::ServiceChange change;
  bool by_self = false;  // the cost is what the function does itself, not what it calls
  std::int64_t first_seen_ns = 0;
  std::int64_t changed_ns = 0;  // its state
  std::int64_t looked_ns = 0;   // the last look that saw it
  std::int64_t looks = 0;       // that saw it
  std::string why;              // it was acknowledged or muted
  std::string by;
  std::int64_t until_ns = 0;  // muted; 0: for good

  [[nodiscard]] const query::ServiceChange::Told& told() const { return change.causes.front(); }
  [[nodiscard]] const query::Cause& cause() const { return told().cause; }
  // Something to look at, or that was and somebody knows: not gone.
  [[nodiscard]] bool IsLive() const { return state != RegressionState::kGone; }
  // What it is at a time: a mute ends by itself.
  [[nodiscard]] RegressionState StateAt(std::int64_t now_ns) const;
};

// Of the cause of that number in `change`; the same cause of the same version has the same id.
// `key`: tells apart what has no version.
[[nodiscard]] Regression MakeRegression(std::uint32_t tenant, const query::ServiceChange& change,
                                        std::size_t cause, std::string_view key,
                                        std::int64_t now_ns);
// "00000000075bcd15"
[[nodiscard]] std::string IdText(std::uint64_t id);

// What a second look saw: sharper figures of the same record.
void Sharpen(Regression& record, const query::ServiceChange& change, std::size_t cause,
             std::int64_t now_ns);

// Which record each cause of a look is, of those of the same version; none: it is a new one. A
// cause that is found deeper or higher in the same calls than before is the same.
[[nodiscard]] std::vector<std::optional<std::size_t>> MatchRecords(
    std::span<const Regression* const> records, std::span<const query::Cause* const> causes);

// The same function: name and module.
[[nodiscard]] bool Same(const profile::FlameFunction& a, const profile::FlameFunction& b);

// Whether another mix of endpoints makes their own costs look like change: it does where samples
// are not linked to them.
[[nodiscard]] bool IsHiddenByMix(const query::TestedDifference& tested);

// Whether a comparison with the same side before says that surely less than half of it is left.
// What called it must have run as well, unless the version before runs again (`is_old_code`): an
// endpoint that nobody asks for costs nothing and is no better.
[[nodiscard]] bool CameBack(const Regression& record, const query::TestedDifference& tested,
                            bool is_old_code = false);
// Whether it surely costs more again, by half of what it did at least.
[[nodiscard]] bool Returned(const Regression& record, const query::TestedDifference& tested);

[[nodiscard]] store::RegressionEvent EventOf(const Regression& record, std::string_view event,
                                             std::int64_t at_ns);
[[nodiscard]] Result<Regression> RegressionOf(const store::RegressionEvent& event);

}  // namespace wherefore::insight
