// Alerts: rules are judged, states kept, receivers told.
//
// Threads: any may ask. One judges all rules in turn; each receiver has one that tells it, so that
//          none waits for another, and judging waits for none.
// Always:  a state changes when its event is durable, not before; after kill -9 states, silences,
//          rules given through the API and what receivers were told are those of the events. What a
//          receiver has to be told is told at least once, in order for each alert.
// Failure: a rule that cannot be judged keeps its state, and says why. A file of rules with a
//          mistake changes nothing. Events that cannot be logged are tried again in the next round.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/cancel.h"
#include "base/metrics.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/status.h"
#include "insight/alerts/measure.h"
#include "insight/alerts/outbox.h"
#include "insight/alerts/rule.h"
#include "insight/alerts/silence.h"
#include "insight/alerts/state.h"
#include "insight/evidence.h"
#include "query/context.h"
#include "store/alert_event.h"

namespace wherefore::insight {

// One HTTP request to a receiver.
struct AlertPost {
  const AlertReceiver& receiver;
  std::string url;
  std::string body;
  CancelToken cancel;
};
// The answer's status; an error: none came. Any thread; it may block until the receiver's timeout.
using SendAlerts = std::function<Result<int>(const AlertPost&)>;

struct AlertOptions {
  std::string file;                           // of rules; empty: only those given through the API
  std::function<std::string()> external_url;  // for links, if the file says none; may be empty
  std::function<Result<>(std::span<const store::AlertEvent>)> log;
  std::function<Result<>(const CancelToken&)> catch_up;
  Evidence evidence;
  SendAlerts send;
  std::int64_t query_memory_bytes = std::int64_t{1} << 30;
  std::int64_t look_at_file_ns = 2 * kNsPerSecond;
};

// What is told of alerts and rules.
struct AlertsSeen {
  struct Rule {
    AlertRule rule;
    std::string from;     // the file, or "api"
    std::string problem;  // why it could not be judged the last time
    std::int64_t judged_ns = 0;
    std::size_t services = 0;
    std::size_t pending = 0;
    std::size_t firing = 0;
  };
  struct One {
    AlertState state;
    std::vector<std::string> silenced_by;
  };
  struct Receiver {
    std::string id;
    std::size_t waiting = 0;
    std::string problem;
    std::int64_t told_ns = 0;  // the last time
  };
  std::vector<One> alerts;  // pending and firing
  std::vector<Rule> rules;
  std::vector<Receiver> receivers;  // of everybody
  std::vector<std::string> problems;
};

class Alerts {
 public:
  Alerts(query::QueryContext& context, AlertOptions options);
  ~Alerts();
  Alerts(const Alerts&) = delete;
  Alerts& operator=(const Alerts&) = delete;

  // Reads the file; a mistake in it is an error.
  Result<> Load();
  // The same, if that was not done; then threads run until Stop().
  Result<> Start();
  void Stop();

  [[nodiscard]] AlertsSeen Seen(std::uint32_t tenant) const;
  [[nodiscard]] Status status() const;

  // Silences of a tenant, those that ended less than a day ago too; newest first.
  [[nodiscard]] std::vector<Silence> Silences(std::uint32_t tenant) const;
  // A new one, or a change of that with the same id. Durable when it returns.
  Result<std::string> SetSilence(Silence silence);
  // Ends it now.
  Result<> EndSilence(std::uint32_t tenant, const std::string& id);

  // Groups of rules given through the API, by name: a text that ReadAlerts() reads, without
  // receivers.
  Result<> SetRules(std::uint32_t tenant, const std::string& tenant_name, std::string_view yaml);
  Result<> RemoveRules(std::uint32_t tenant, const std::string& group);

 private:
  // Rules that are judged together, as they were read.
  struct Group {
    AlertGroup group;
    std::string from;  // the file, or kFromApi
    std::uint32_t tenant = 0;
    std::string yaml;  // of one given through the API

    [[nodiscard]] std::string Id() const;
  };
  using Groups = std::vector<std::shared_ptr<const Group>>;
  struct RuleProgress {
    std::string problem;
    std::int64_t judged_ns = 0;
    std::size_t services = 0;
  };
  struct Progress {
    std::int64_t tick_ns = 0;                   // of the last round
    std::map<std::string, RuleProgress> rules;  // by place
  };
  struct Receiver;
  using Key = std::pair<std::uint32_t, std::uint64_t>;  // tenant, fingerprint
  using States = std::map<Key, AlertState>;
  static constexpr const char* kFromApi = "api";

  // alerts.cc
  void Run();
  [[nodiscard]] bool Wait(std::int64_t ns) EXCLUDES(mutex_);
  void JudgeDue() EXCLUDES(mutex_);
  void JudgeTick(const Groups& groups, std::int64_t tick_ns) EXCLUDES(mutex_);
  struct Round;
  void Apply(Round& round) EXCLUDES(mutex_);
  void EndOthers(Round& round) REQUIRES(mutex_);
  void Commit(Round& round, std::vector<store::AlertEvent>& events) EXCLUDES(mutex_);
  Result<> LogEvents(std::vector<store::AlertEvent>& events) EXCLUDES(number_mutex_, mutex_);
  void KeepEvidence(std::span<const store::AlertEvent> events) const;
  void LookAtFile() EXCLUDES(mutex_);
  Result<AlertConfig> ReadFile();
  void Use(AlertConfig config) REQUIRES(mutex_);
  void CountStates() REQUIRES(mutex_);
  // Writes what must outlive its bucket once more, once a day.
  void KeepForToday(std::int64_t now_ns) EXCLUDES(mutex_);

  // alerts_restore.cc
  Result<> Restore() EXCLUDES(mutex_);
  void RestoreLatest(const store::AlertEvent& event) REQUIRES(mutex_);
  void RestoreDeliveries(const std::vector<store::AlertEvent>& latest,
                         const std::vector<store::AlertEvent>& states) REQUIRES(mutex_);

  // alerts_tell.cc
  // Threads for receivers that are new; none for those that are gone.
  void UseReceivers() EXCLUDES(mutex_);
  void Tell(Receiver& receiver);
  // Whether all went well, and whether there was anything.
  struct Told {
    bool well = true;
    bool anything = false;
  };
  Told TellOnce(Receiver& receiver) EXCLUDES(mutex_);
  bool Deliver(Receiver& receiver, std::span<const Notice> notices, std::int64_t now_ns);
  void NoteLeaving(const std::string& receiver, const std::vector<Outbox::Leaving>& left)
      EXCLUDES(mutex_);
  [[nodiscard]] std::vector<Notice> ToRepeat(const std::string& receiver, std::int64_t now_ns) const
      REQUIRES(mutex_);
  [[nodiscard]] std::vector<std::string> SilencesOf(std::uint32_t tenant, const AlertLabels& labels,
                                                    std::int64_t now_ns) const REQUIRES(mutex_);
  void StopReceivers() EXCLUDES(mutex_);

  query::QueryContext& context_;
  const AlertOptions options_;
  Evaluator evaluator_;  // of the thread that judges
  CancelToken cancel_;
  std::int64_t serving_since_ns_ = 0;

  Counter& rounds_;
  Counter& failed_rounds_;
  Counter& delivered_;
  Counter& dropped_;
  Counter& failed_sends_;
  Histogram& round_seconds_;
  Gauge& firing_;
  Gauge& pending_;
  Gauge& rules_;

  Mutex number_mutex_;  // over numbering and logging: numbers rise in the order of rows
  std::uint64_t last_number_ GUARDED_BY(number_mutex_) = 0;

  mutable Mutex mutex_;
  CondVar changed_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  bool restored_ GUARDED_BY(mutex_) = false;
  std::string external_url_ GUARDED_BY(mutex_);
  Groups groups_ GUARDED_BY(mutex_);
  bool groups_changed_ GUARDED_BY(mutex_) = false;
  bool overdue_ GUARDED_BY(mutex_) = false;                      // the last round ran out of time
  std::map<std::string, Progress> progress_ GUARDED_BY(mutex_);  // by group
  States states_ GUARDED_BY(mutex_);                  // changed by the thread that judges alone
  std::map<Key, Notice> notices_ GUARDED_BY(mutex_);  // the last one of each alert
  std::map<std::string, Silence> silences_ GUARDED_BY(mutex_);
  Outbox outbox_ GUARDED_BY(mutex_);
  std::vector<AlertReceiver> wanted_ GUARDED_BY(mutex_);  // receivers, as the file says
  std::map<std::string, std::shared_ptr<Receiver>> receivers_ GUARDED_BY(mutex_);
  std::string file_problem_ GUARDED_BY(mutex_);
  std::string log_problem_ GUARDED_BY(mutex_);
  std::string restore_problem_ GUARDED_BY(mutex_);
  std::int64_t kept_day_ GUARDED_BY(mutex_) = INT64_MAX;
  std::optional<AlertConfig> loaded_;  // until it starts
  std::string file_text_;              // as it was read; of the thread that judges
  std::int64_t next_file_look_ns_ = 0;

  std::thread judge_;
};

}  // namespace wherefore::insight
