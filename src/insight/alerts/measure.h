// What rules of alerts measure, and whether their conditions hold, at one moment.
//
// Rules about the same services, type and window are answered from one scan of them. The near end
// of the interval decides: a condition is true when the near end passes the bound, false when the
// far end does not; in between nothing is decided. Intervals are those of query/statistics.h.
//
// Threads: one at a time per Evaluator. Failure: a service that cannot be measured is kUnknown,
// with the reason. A round that runs out of time has judged a part; the next one begins with the
// rest.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "insight/alerts/rule.h"
#include "query/context.h"
#include "query/versions.h"

namespace wherefore::insight {

enum class Truth : std::uint8_t { kUnknown, kFalse, kUndecided, kTrue };

struct Measured {
  Truth truth = Truth::kUnknown;
  // True also at the level that pays for all looks of a day: a value that is at the bound passes it
  // by chance on one day in fifty.
  bool surely = false;
  bool absent = false;  // nothing was profiled in the window
  double value = 0;     // between `low` and `high` in 95 of 100 cases
  double low = 0;
  double high = 0;
  std::string unit;  // FormatMeasured
  std::string note;  // why nothing is known
};

// "23.1 %", "1.4 cores", "5.2 ms", "+12 %"
[[nodiscard]] std::string FormatMeasured(double value, const std::string& unit);
// A condition's bound as people wrote it.
[[nodiscard]] std::string BoundText(const Condition& condition);

struct Judgement {
  std::size_t rule = 0;  // of those that were asked for
  std::string service;
  Measured measured;
};

class Evaluator {
 public:
  explicit Evaluator(query::QueryContext& context) : context_(context) {}

  struct Judged {
    std::vector<Judgement> judgements;  // in the order of rules and services
    bool overdue = false;               // the time was over before all were judged
  };
  // As of `at_ns`; windows end their rule's delay before it.
  Result<Judged> Judge(std::span<const AlertRule* const> rules, std::int64_t at_ns,
                       const CancelToken& cancel);
  // How many scans of samples the rounds so far took.
  [[nodiscard]] std::uint64_t scans() const { return scans_; }

 private:
  friend class ServiceScans;
  struct Versions {
    std::int64_t as_of_ns = 0;
    query::ServiceVersions versions;
  };
  struct Anomaly {
    std::int64_t as_of_ns = 0;  // a number of steps
    std::int64_t at_ns = 0;
    Measured measured;
  };

  void ForgetOld(std::int64_t at_ns);
  Result<> JudgeUnit(std::span<const AlertRule* const> rules, const std::vector<std::size_t>& which,
                     const std::string& service, std::int64_t at_ns, const CancelToken& cancel,
                     std::vector<Judgement>& out);

  query::QueryContext& context_;
  std::string resume_;  // where the round that ran out of time stopped; empty: none did
  std::map<std::pair<std::uint32_t, std::string>, Versions> versions_;  // by tenant and service
  std::map<std::string, Anomaly> anomalies_;                            // by rule and service
  std::uint64_t scans_ = 0;
};

}  // namespace wherefore::insight
