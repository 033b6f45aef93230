// Regressions: each new version of each service is looked at when it is 15 minutes, an hour, six
// hours and a day old; services without versions are compared with their days before. What surely
// got dearer is a record, one for each cause and version.
//
// Threads: any may ask. One looks, in the background.
// Always:  a record changes when its event is durable, not before; after kill -9 records and looks
//          are those of the events. A second look sharpens a record, it never adds one for the same
//          cause. Looking takes at most its share of one core's time over an hour, and waits for
//          people's questions.
// Failure: a look that fails is tried again with the next round; what is skipped is counted and
//          told with the reason.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "base/cancel.h"
#include "base/metrics.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/status.h"
#include "insight/evidence.h"
#include "insight/regressions/record.h"
#include "insight/regressions/schedule.h"
#include "query/context.h"
#include "store/regression_event.h"

namespace wherefore::insight {

struct RegressionOptions {
  std::function<Result<>(std::span<const store::RegressionEvent>)> log;
  std::function<Result<>(const CancelToken&)> catch_up;
  Evidence evidence;
  std::function<bool()> busy;  // somebody waits for an answer; may be empty
  std::int64_t query_memory_bytes = std::int64_t{1} << 30;
  double share = 0.005;  // of one core; 0: nothing is looked at
  std::int64_t every_ns = 15 * kNsPerSecond;
  std::function<std::int64_t()> now = NowUnixNs;
};

// What is told of them.
struct RegressionsSeen {
  std::vector<Regression> records;  // open ones first; then by what they surely cost
  std::vector<LookedAt> versions;   // newest first
  bool looking = false;             // something is due
};

// What a person says to a record.
struct RegressionChange {
  RegressionState state = RegressionState::kOpen;  // open, acknowledged or muted
  std::string why;
  std::string by;
  std::int64_t until_ns = 0;
};

class Regressions {
 public:
  Regressions(query::QueryContext& context, RegressionOptions options);
  ~Regressions();
  Regressions(const Regressions&) = delete;
  Regressions& operator=(const Regressions&) = delete;

  void Start();
  void Stop();

  // Reads back what an earlier run knew; then rounds can be made.
  Result<> Restore();
  // What is due, now. At once: without waiting for the budget, for questions and for late data.
  Result<> Round(bool at_once) EXCLUDES(mutex_, change_mutex_);
  // Asks for a round at once; returns without waiting for it.
  void Hurry();

  [[nodiscard]] RegressionsSeen Seen(std::uint32_t tenant) const;
  // Durable when it returns. kNotFound; kInvalid where it makes no sense.
  Result<Regression> Change(std::uint32_t tenant, std::uint64_t id, const RegressionChange& change);
  [[nodiscard]] Status status() const;

  struct Work {
    std::uint64_t looks = 0;
    std::uint64_t skipped = 0;
    std::uint64_t failed = 0;
    std::int64_t last_ns = 0;
    double used_share = 0;  // of one core, since the start
    double budget_share = 0;
    std::string note;  // what was skipped last, or failed, and why
  };
  [[nodiscard]] Work work() const;

 private:
  using VersionKey = std::tuple<std::uint32_t, std::string, std::string, std::string>;
  using ServiceKey = std::pair<std::uint32_t, std::string>;
  struct Due {
    VersionKey key;
    LookedAt looked;
    query::ServiceVersion version;
    query::ServiceVersion before;
    std::int64_t data_end_ns = 0;
  };
  // A function of a service without versions that is dearer than on the days before.
  struct Candidate {
    std::int64_t first_hour_ns = 0;
    std::int64_t last_hour_ns = 0;
  };

  // watch.cc
  void Run();
  [[nodiscard]] bool Wait(std::int64_t ns) EXCLUDES(mutex_);
  Result<> Poll(std::int64_t now_ns);
  [[nodiscard]] std::vector<Due> FindDue(std::int64_t now_ns) EXCLUDES(mutex_);
  [[nodiscard]] bool MayWork(bool at_once) EXCLUDES(mutex_);
  void Failed(const std::string& what, const Error& error) EXCLUDES(mutex_);
  void Charge(std::int64_t begun_ns) EXCLUDES(mutex_);
  void Note(std::string text) EXCLUDES(mutex_);
  [[nodiscard]] CancelToken MakeCancel() const;

  // watch_look.cc
  Result<> Look(const Due& due) EXCLUDES(mutex_, change_mutex_);
  Result<bool> IsSettled(const Due& due);
  [[nodiscard]] query::ServiceChange SidesOf(const Due& due) const;
  // Records of `change` that are new or sharper, as events beside `extra`.
  Result<> Keep(std::uint32_t tenant, const query::ServiceChange& change, double level,
                std::string_view key, bool reports, std::vector<store::RegressionEvent> extra)
      EXCLUDES(mutex_, change_mutex_);
  Result<> EndLook(const Due& due, const query::ServiceChange* change, std::string note)
      EXCLUDES(mutex_, change_mutex_);

  // watch_rest.cc
  Result<> LookForGone(std::int64_t now_ns, bool at_once) EXCLUDES(mutex_, change_mutex_);
  [[nodiscard]] bool RunsNow(const ServiceKey& of, const Regression& record) const;
  Result<> LookAtDays(std::int64_t now_ns, bool at_once) EXCLUDES(mutex_, change_mutex_);
  Result<> CompareDays(const ServiceKey& of, std::int64_t hour_ns) EXCLUDES(mutex_, change_mutex_);
  Result<> EndMutes(std::int64_t now_ns) EXCLUDES(mutex_, change_mutex_);
  Result<> KeepForToday(std::int64_t now_ns) EXCLUDES(mutex_, change_mutex_);

  // watch_seen.cc
  Result<> LogEvents(std::vector<store::RegressionEvent>& events) REQUIRES(change_mutex_);
  void CountOpen() REQUIRES(mutex_);

  query::QueryContext& context_;
  const RegressionOptions options_;
  CancelToken cancel_;
  Counter& looks_;
  Counter& skipped_;
  Counter& failed_;
  Counter& used_ms_;
  Gauge& open_;

  // Of the thread that looks.
  std::map<ServiceKey, query::ServiceVersions> known_;
  std::int64_t watched_from_ns_ = 0;
  std::int64_t polled_ns_ = 0;
  std::int64_t whole_poll_ns_ = 0;
  std::map<VersionKey, std::pair<std::int64_t, std::int64_t>> counted_;  // profiles, when
  std::map<std::uint64_t, std::int64_t> checked_ns_;  // records, whether they are gone
  std::map<ServiceKey, std::int64_t> day_hour_ns_;    // last compared with its days
  std::map<std::pair<ServiceKey, std::string>, Candidate> candidates_;
  std::map<VersionKey, int> tries_;  // of a look that failed
  std::int64_t kept_day_ = 0;

  Mutex change_mutex_;  // over reading a record, logging and changing it; before mutex_
  std::uint64_t last_number_ GUARDED_BY(change_mutex_) = 0;

  mutable Mutex mutex_;
  mutable CondVar changed_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  bool hurry_ GUARDED_BY(mutex_) = false;
  bool looking_ GUARDED_BY(mutex_) = false;
  bool restored_ GUARDED_BY(mutex_) = false;
  std::map<std::uint64_t, Regression> records_ GUARDED_BY(mutex_);
  std::map<VersionKey, LookedAt> versions_ GUARDED_BY(mutex_);
  std::string note_ GUARDED_BY(mutex_);
  std::string problem_ GUARDED_BY(mutex_);
  std::int64_t last_ns_ GUARDED_BY(mutex_) = 0;
  std::int64_t used_ns_ GUARDED_BY(mutex_) = 0;  // since `begun_ns_`, which is monotonic
  std::int64_t begun_ns_ GUARDED_BY(mutex_) = 0;
  double credit_ns_ GUARDED_BY(mutex_) = 0;  // what may be used now
  std::int64_t credited_ns_ GUARDED_BY(mutex_) = 0;

  std::thread watcher_;
};

}  // namespace wherefore::insight
