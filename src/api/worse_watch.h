// What got worse, service by service, worked out in the background while somebody asks: those that
// use most CPU first, one at a time, each kept with its age; then how many known patterns each has.
// An answer never waits.
//
// Threads: any may ask. One service at a time is looked at, on a worker for upkeep.
// Always:  while it is asked, at most a tenth of one core's time is spent on it after the first
//          round; nobody asks, nothing is done.
// Failure: a service that cannot be compared is told with the reason.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "api/run.h"
#include "api/source_files.h"
#include "base/json_writer.h"
#include "base/mutex.h"
#include "insight/rule.h"
#include "net/worker_pool.h"
#include "query/name_list.h"
#include "query/worse.h"

namespace wherefore::insight {
class Alerts;
class Regressions;
}  // namespace wherefore::insight

namespace wherefore::api {

// What was found out so far.
struct WorseSeen {
  struct Look {
    query::ServiceChange change;
    std::int64_t looked_ns = 0;  // when
    double q = 1;                // among all services looked at
  };
  bool looking = false;
  std::size_t services = 0;
  std::vector<std::shared_ptr<const Look>> looks;  // services that use most CPU first
  // What else is known of a service.
  struct Marks {
    std::size_t firing = 0;  // alerts
    std::size_t pending = 0;
    std::size_t insights = 0;
  };
  std::map<std::string, Marks> marks;  // by service; those that have any
};

// Where that comes from. Must outlive the watch.
struct KnownPatterns {
  std::span<const insight::Rule> rules;
  const insight::Alerts* alerts = nullptr;  // null: there are none
};

class WorseWatch : public std::enable_shared_from_this<WorseWatch> {
 public:
  WorseWatch(query::QueryContext& context, net::Workers& workers, CatchUp catch_up,
             std::int64_t memory_bytes, const KnownPatterns& known)
      : context_(context),
        workers_(workers),
        catch_up_(std::move(catch_up)),
        memory_bytes_(memory_bytes),
        known_(known) {}

  // Begins another round if the last one is older than `max_age_ns`, or than it should be (< 0).
  WorseSeen Ask(std::uint32_t tenant, std::int64_t max_age_ns);

 private:
  using Looks = std::map<std::string, std::shared_ptr<const WorseSeen::Look>, std::less<>>;
  struct Round {
    bool running = false;
    std::int64_t begun_ns = 0;
    std::int64_t took_ns = 0;           // the last one
    std::vector<std::string> services;  // those that use most CPU first
    std::size_t next = 0;               // to look at
    Looks looks;
    std::map<std::string, std::size_t> insights;  // how many, by service
  };
  void Begin(std::uint32_t tenant);
  void List(std::uint32_t tenant);           // the services of a round
  void Look(std::uint32_t tenant);           // at the next of them
  void CountInsights(std::uint32_t tenant);  // of the last hour, when all were looked at
  void Submit(std::uint32_t tenant, void (WorseWatch::*step)(std::uint32_t));
  void End(std::uint32_t tenant);

  query::QueryContext& context_;
  net::Workers& workers_;
  const CatchUp catch_up_;
  const std::int64_t memory_bytes_;
  const KnownPatterns known_;
  Mutex mutex_;
  std::map<std::uint32_t, Round> rounds_ GUARDED_BY(mutex_);  // by tenant
};

// What is known beside, of services whose names match.
void AppendMarks(JsonWriter& json, const WorseSeen& seen, const query::NameFilter& names);

// GET /api/v1/worse. Regression records go before what was worked out, if there are any.
Result<net::HttpResponse> AnswerWorse(WorseWatch& watch, const insight::Regressions* regressions,
                                      const SourceFiles& files, const net::HttpRequest& request);

}  // namespace wherefore::api
