// The states of an alert: inactive, pending, firing, and how conditions move it from one to the
// next.
//
// Pure; any thread. The same judgements at the same times give the same states, which is what a dry
// run relies on.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "insight/alerts/labels.h"
#include "insight/alerts/measure.h"
#include "insight/alerts/rule.h"
#include "store/alert_event.h"

namespace wherefore::insight {

enum class AlertPhase : std::uint8_t { kInactive, kPending, kFiring };
[[nodiscard]] std::string_view PhaseName(AlertPhase phase);

// What became of an alert.
enum class AlertMove : std::uint8_t { kNone, kPending, kFiring, kResolved, kInactive };
// As in `alert_events`: pending, firing, resolved, inactive.
[[nodiscard]] std::string_view MoveName(AlertMove move);

struct AlertState {
  std::uint32_t tenant = 0;
  std::uint64_t fingerprint = 0;
  AlertLabels labels;
  AlertLabels annotations;  // as of when it began to fire
  std::string group;
  std::string alert;
  std::string service;
  std::string when;  // of the rule
  std::string link;  // where to look
  std::int64_t every_ns = kMinute;
  AlertPhase phase = AlertPhase::kInactive;
  std::int64_t active_ns = 0;  // since when its condition holds
  std::int64_t starts_ns = 0;  // since when it fires
  std::int64_t ends_ns = 0;    // when it was resolved the last time; 0: never
  std::int64_t quiet_ns = 0;   // since when the condition does not hold while it fires; 0: it does
  std::int64_t judged_ns = 0;
  Measured measured;
};

// The alert of a rule for a service, before anything happened.
[[nodiscard]] AlertState MakeState(const AlertRule& rule, const std::string& service,
                                   const std::string& external_url);
// `absent_counts`: nothing profiled means that the condition does not hold; else the server itself
// was away for a part of the window, and nothing is known.
AlertMove Advance(AlertState& state, const AlertRule& rule, const Measured& measured,
                  std::int64_t at_ns, bool absent_counts);
// Its rule or its service is gone.
AlertMove End(AlertState& state, std::int64_t at_ns);

// A sentence: "checkout: Parser::Parse takes 23.1 % (22.5 % to 23.7 %), above 20%".
[[nodiscard]] std::string SentenceOf(const AlertRule& rule, const std::string& service,
                                     const Measured& measured);

// Rows of `alert_events`, without their number; and back.
[[nodiscard]] store::AlertEvent EventOf(const AlertState& state, AlertMove move,
                                        std::int64_t at_ns);
[[nodiscard]] AlertState StateOf(const store::AlertEvent& event);

}  // namespace wherefore::insight
