// AlertRule: when somebody is to be told about a service, as data.
//
// A rule is judged for every service of its selector by itself. Plain values, immutable once read;
// any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "insight/rule.h"
#include "query/selector.h"

namespace wherefore::insight {

enum class AlertMeasure : std::uint8_t {
  kShare,       // of everything of the service
  kCores,       // CPU time per second
  kPerRequest,  // in the type's unit
  kValue        // in the type's unit, per second; of snapshots the average
};

enum class Against : std::uint8_t { kNothing, kPreviousVersion, kYesterday, kPrevious };

struct Condition {
  enum class Kind : std::uint8_t {
    kBound,    // the measure itself
    kChange,   // its change, as a part of what it was
    kAnomaly,  // away from the same hours of the days before
    kGap       // no profiles for so long
  };
  enum class Side : std::uint8_t { kAbove, kBelow, kEither };
  Kind kind = Kind::kBound;
  Side side = Side::kAbove;
  double bound = 0;  // shares and changes of 1, times in ns
  Against against = Against::kNothing;
  std::string text;  // as it was written
};

inline constexpr std::int64_t kMinute = 60 * kNsPerSecond;

struct AlertRule {
  std::string group;
  std::string alert;
  std::uint32_t tenant = 0;
  std::string tenant_name;
  std::string select;
  query::Selector selector;
  std::string type;
  Rule frames;  // of the function; without `match`: everything
  AlertMeasure measure = AlertMeasure::kShare;
  bool has_measure = false;
  std::int64_t every_ns = kMinute;
  std::int64_t delay_ns = 0;
  std::int64_t over_ns = 0;
  Condition when;
  std::int64_t for_ns = 0;
  std::int64_t keep_firing_for_ns = 0;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  std::string place;  // file, line and column

  [[nodiscard]] const std::string& function() const {
    static const std::string kNone;
    return frames.match.empty() ? kNone : frames.match.front().frame.text;
  }
};

struct AlertGroup {
  std::string name;
  std::string tenant;  // name; empty: the data of nobody in particular
  std::int64_t every_ns = kMinute;
  // Profiles of the last moments are still on their way: windows end so long before now.
  std::int64_t delay_ns = 15 * kNsPerSecond;
  std::vector<AlertRule> rules;
};

struct AlertReceiver {
  enum class Kind : std::uint8_t { kAlertmanager, kWebhook };
  Kind kind = Kind::kWebhook;
  std::string url;
  std::string token_file;  // of Authorization: Bearer
  std::int64_t timeout_ns = 10 * kNsPerSecond;

  // What deliveries are remembered by: never a password.
  [[nodiscard]] std::string Id() const;
};

struct AlertConfig {
  std::string external_url;  // of this server, for links
  std::vector<AlertReceiver> receivers;
  std::vector<AlertGroup> groups;
};

}  // namespace wherefore::insight
