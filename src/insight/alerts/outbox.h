// Outbox: what each receiver is still to be told, and what it was told.
//
// Always:  in order for each alert; a notice leaves when it was delivered, when a silence held it
//          from its beginning to its end, or after a day. Firing again with the same start is no
//          news. Nothing of a silenced alert is due.
// Not thread-safe: belongs to whoever holds the lock of Alerts.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "insight/alerts/labels.h"

namespace wherefore::insight {

// An alert that began or ended to fire.
struct Notice {
  std::uint64_t number = 0;  // of its event
  std::int64_t time_ns = 0;
  std::uint32_t tenant = 0;
  std::uint64_t fingerprint = 0;
  std::string group;
  std::string alert;
  std::string service;
  AlertLabels labels;
  AlertLabels annotations;
  std::string link;
  std::int64_t starts_ns = 0;
  std::int64_t ends_ns = 0;  // 0: it fires
  std::int64_t every_ns = 0;

  [[nodiscard]] bool firing() const { return ends_ns == 0; }
};

class Outbox {
 public:
  using IsSilenced = std::function<bool(const Notice&)>;
  // Why a notice left.
  enum class Left : std::uint8_t { kDelivered, kSilenced, kTooOld, kRefused };

  // A receiver is told what came after the event `known`, and what fired then and still does.
  // What it was told of each alert comes before anything is added.
  void AddReceiver(const std::string& id, std::uint64_t known);
  void RemoveReceiver(const std::string& id) { receivers_.erase(id); }
  [[nodiscard]] bool Has(const std::string& id) const { return receivers_.contains(id); }
  void WasTold(const std::string& id, std::uint32_t tenant, std::uint64_t fingerprint,
               std::uint64_t number);
  void Add(const Notice& notice);

  struct Leaving {
    Notice notice;
    Left why = Left::kDelivered;
  };
  // The next ones to send, at most one of each alert and `most` together. What leaves unsent goes
  // to `left`.
  std::vector<Notice> Due(const std::string& id, const IsSilenced& is_silenced, std::int64_t now_ns,
                          std::size_t most, std::vector<Leaving>& left);
  void Leave(const std::string& id, const Notice& notice);
  [[nodiscard]] std::uint64_t known(const std::string& id) const;
  [[nodiscard]] std::vector<std::string> receivers() const;
  [[nodiscard]] std::size_t waiting(const std::string& id) const;
  // Whether it was told that this one fires.
  [[nodiscard]] bool Knows(const std::string& id, const Notice& notice) const;

 private:
  using Alert = std::pair<std::uint32_t, std::uint64_t>;  // tenant, fingerprint
  struct Waiting {
    Notice notice;
    bool held = false;  // by a silence, when it was first due
  };
  struct Receiver {
    std::uint64_t known = 0;
    std::map<Alert, std::uint64_t> told;
    std::deque<Waiting> waiting;
  };
  void Queue(Receiver& receiver, const Notice& notice);

  std::map<std::string, Receiver> receivers_;
  std::map<Alert, Notice> last_;  // of each alert, for receivers that come later
};

}  // namespace wherefore::insight
