// AlertEvent: one thing that happened to an alert, a silence or the rules of alerts, as a row of
// `alert_events`. Together they are what is known of alerts: states are rebuilt from them at start.
//
// Plain data. The meaning of the fields by kind is docs/format.md, "Events of alerts".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace wherefore::store {

struct AlertEvent {
  std::uint32_t tenant = 0;
  std::int64_t time_ns = 0;
  std::uint64_t number = 0;  // rises; never twice
  std::string kind;          // state, delivery, silence, rules
  std::string state;         // what it is from now on
  std::uint64_t fingerprint = 0;
  std::int64_t starts_ns = 0;
  std::int64_t ends_ns = 0;
  std::string id;     // of a receiver, a silence, a group of rules
  std::string group;  // of the rule
  std::string alert;
  std::string service;
  double value = 0;  // between low and high
  double low = 0;
  double high = 0;
  std::vector<std::pair<std::string, std::string>> labels;
  std::string detail;

  bool operator==(const AlertEvent&) const = default;
};

struct AlertEventQuery {
  std::optional<std::uint32_t> tenant;  // none: all
  std::int64_t from_ns = 0;             // half open
  std::int64_t to_ns = INT64_MAX;
  std::vector<std::string> kinds;  // empty: all
  // Only the newest one of each kind, fingerprint and id.
  bool latest = false;
  std::size_t limit = 0;  // 0: no
};

}  // namespace wherefore::store
