// RegressionEvent: one thing that happened to a regression, or a look that was taken for one, as a
// row of `regression_events`. Together they are what is known of regressions: states are rebuilt
// from them at start.
//
// Plain data. The meaning of the fields by kind is docs/format.md, "Events of regressions".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace wherefore::store {

struct RegressionEvent {
  std::uint32_t tenant = 0;
  std::int64_t time_ns = 0;
  std::uint64_t number = 0;  // rises; never twice
  std::string kind;          // record, look
  std::string event;         // opened, sharpened, acknowledged, …
  std::string state;         // what it is from now on
  std::uint64_t id = 0;      // of the record, or of the version looked at
  std::string service;
  std::string type;
  std::string function;
  std::string module;
  std::string label;  // that tells versions apart; empty: none does
  std::string version_before;
  std::string version;
  std::int64_t since_ns = 0;  // when the version came
  std::int64_t until_ns = 0;
  double value = 0;  // cores, between low and high
  double low = 0;
  double high = 0;
  std::string why;
  std::vector<std::pair<std::string, std::string>> facts;  // everything else; names may repeat

  bool operator==(const RegressionEvent&) const = default;
};

struct RegressionEventQuery {
  std::optional<std::uint32_t> tenant;  // none: all
  // Only the newest one of each kind and id.
  bool latest = false;
};

}  // namespace wherefore::store
