// The scans that the rules of one service share: each is made when the first rule needs it.
//
// One thread; lives for one moment that is judged. Internal to measure.cc.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "insight/alerts/measure.h"
#include "insight/frame_matches.h"
#include "query/tabulation.h"

namespace wherefore::insight {

// Which sides a scan has.
enum class Basis : std::uint8_t {
  kAlone,
  kPreviousVersion,
  kYesterday,
  kPrevious,
  kDays  // the same hours of the days before, each a group
};
[[nodiscard]] Basis BasisOf(const Condition& condition);

struct Scan {
  Scan(query::QueryContext& context, const CancelToken& cancel)
      : tabulation(context, kEverything, false, cancel) {}

  [[nodiscard]] const query::StackTable& table() const { return tabulation.table(); }

  static const query::Lens kEverything;
  query::Tabulation tabulation;
  std::array<double, 2> instances = {1, 1};  // seen on average, by side
  std::string unit;
  bool exact = false;     // snapshots: there is nothing to estimate
  bool absent = false;    // nothing was profiled
  std::string why_not;    // nothing can be measured; empty: it can
  std::string no_before;  // there is nothing to compare with; empty: there is
  query::StackTable::Values whole;
  std::vector<std::vector<Hit>> hits;  // by rule
  int days = 0;
};

class ServiceScans {
 public:
  ServiceScans(Evaluator& evaluator, query::Selection selection, std::string service,
               std::vector<Rule> frames, const CancelToken& cancel)
      : evaluator_(evaluator),
        window_(std::move(selection)),
        service_(std::move(service)),
        frames_(std::move(frames)),
        cancel_(cancel) {}

  Result<const Scan*> Get(Basis basis, bool per_request);
  // How long ago the last profile ended, as of `at_ns`; none: there is none in the window.
  Result<std::optional<std::int64_t>> SinceLastProfile(std::int64_t at_ns);

 private:
  struct Sides {
    query::Selection before;
    query::Selection after;
    std::string no_before;  // why there is nothing to compare with; empty: there is
  };
  Result<Sides> SidesOf(Basis basis);
  Result<Sides> VersionSides();
  [[nodiscard]] query::Selection Shifted(std::int64_t by_ns) const;
  Result<> Fill(Basis basis, bool per_request, Scan& scan);
  Result<> FillAlone(Scan& scan);
  Result<> FillSnapshot(Scan& scan);
  Result<> FillSides(const Sides& sides, Scan& scan);
  Result<> FillRequests(const Sides& sides, Scan& scan);
  Result<> FillDays(Scan& scan);
  // A window as one group; false: nothing was profiled.
  Result<bool> AddTogether(const query::Selection& selection, query::Side side, Scan& scan);
  Result<> Finish(Scan& scan);

  Evaluator& evaluator_;
  const query::Selection window_;
  const std::string service_;
  const std::vector<Rule> frames_;
  const CancelToken& cancel_;
  std::map<std::pair<Basis, bool>, std::unique_ptr<Scan>> scans_;
};

}  // namespace wherefore::insight
