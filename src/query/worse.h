// What got worse: a service's CPU time since its last version, or against the hour before, as the
// difference of the two says it (tested_diff.h), with what a person wants to know next: which
// function and line, which endpoints, which traces, and how small a change would have been seen.
//
// Per request where requests are known, else in shares. Any thread; the same data gives the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "query/context.h"
#include "query/tested_diff.h"

namespace wherefore::query {

enum class ServiceVerdict : std::uint8_t { kUnknown, kSame, kWorse, kBetter };
[[nodiscard]] std::string_view ServiceVerdictName(ServiceVerdict verdict);

struct ServiceChange {
  std::string service;
  ServiceVerdict verdict = ServiceVerdict::kUnknown;
  std::string reason;  // why nothing is known
  double p = 1;        // of what made the verdict, for the whole service

  // Both sides: `label` tells them apart, if a version changed.
  std::string label;
  std::string version_before;
  std::string version_after;
  std::int64_t since_ns = 0;
  Selection before;
  Selection after;

  TestedDifference tested;  // without functions and nodes
  double cores = 0;         // of the side after
  // What it costs more, and its interval, at the load of the side after.
  double cost = 0;
  double cost_low = 0;
  double cost_high = 0;
  // The smallest change that would have been found, of the cost before; none: nothing was tested.
  std::optional<double> detectable;

  struct Told {
    Cause cause;      // with its traces
    double cost = 0;  // in cores, at the load of the side after
    double cost_low = 0;
    double cost_high = 0;
    std::vector<std::string> endpoints;      // spans it was seen in, most of it first
    std::vector<std::string> traces_before;  // ids of some of the side before
    // The nearest function above it, or it itself, that is own code; name empty: none is.
    profile::FlameFunction own;
    std::int64_t line = 0;  // of that function, the one that grew most; 0: not known
  };
  std::vector<Told> causes;            // the first ones
  std::vector<std::string> endpoints;  // spans the first cause was seen in, most of it first
};

// As of the newest data of the service before `now_ns`.
Result<ServiceChange> ChangeOfService(QueryContext& context, std::uint32_t tenant,
                                      const std::string& service, std::int64_t now_ns,
                                      const CancelToken& cancel);
// The same of sides that were chosen: service, label, versions, `since_ns`, `before` and `after`
// are given.
struct ChangeOptions {
  bool by_day = false;          // groups are days
  std::size_t most_causes = 3;  // that are told of
  bool traces_before = false;   // for causes that were there before
  bool keep_functions = false;  // in `tested`
};
Result<ServiceChange> ChangeBetween(QueryContext& context, ServiceChange sides,
                                    const ChangeOptions& options, const CancelToken& cancel);
// Whether it makes the service dearer.
[[nodiscard]] bool IsDearer(const Cause& cause);
// "+12.3 % of the CPU time before (+10.1 to +14.5) since v2: append in parse json.cc:118"
[[nodiscard]] std::string SentenceOf(const ServiceChange& change, const ServiceChange::Told& told);
// "CPU per request 3.5 ms → 11.7 ms (×3.3; +7.1 ms to +9.3 ms) since v2: Parser::ParseString …"
[[nodiscard]] std::string SentenceOf(const ServiceChange& change);

}  // namespace wherefore::query
