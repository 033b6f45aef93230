#include "insight/alerts/outbox.h"

#include <algorithm>
#include <set>

#include "base/clock.h"

namespace wherefore::insight {
namespace {

constexpr std::size_t kMostWaiting = 10'000;  // of a receiver
constexpr std::int64_t kTooOld = kNsPerDay;

}  // namespace

void Outbox::AddReceiver(const std::string& id, std::uint64_t known) {
  const auto [at, fresh] = receivers_.try_emplace(id);
  if (!fresh) return;
  at->second.known = known;
  for (const auto& [alert, notice] : last_) {
    if (notice.firing() || notice.number > known) Queue(at->second, notice);
  }
}

void Outbox::WasTold(const std::string& id, std::uint32_t tenant, std::uint64_t fingerprint,
                     std::uint64_t number) {
  const auto at = receivers_.find(id);
  if (at == receivers_.end()) return;
  Receiver& receiver = at->second;
  std::uint64_t& told = receiver.told[{tenant, fingerprint}];
  told = std::max(told, number);
  std::erase_if(receiver.waiting, [&](const Waiting& waiting) {
    return waiting.notice.tenant == tenant && waiting.notice.fingerprint == fingerprint &&
           waiting.notice.number <= told;
  });
}

void Outbox::Add(const Notice& notice) {
  const Alert alert{notice.tenant, notice.fingerprint};
  const auto before = last_.find(alert);
  if (before != last_.end() && before->second.firing() == notice.firing() &&
      before->second.starts_ns == notice.starts_ns)
    return;
  // What fired when a receiver became known is news for it only while it still does.
  for (auto& [id, receiver] : receivers_) {
    const bool unknown = before != last_.end() && before->second.number <= receiver.known;
    if (unknown && notice.number <= receiver.known) {
      std::erase_if(receiver.waiting, [&](const Waiting& waiting) {
        return waiting.notice.tenant == notice.tenant &&
               waiting.notice.fingerprint == notice.fingerprint;
      });
    }
    if (notice.number > receiver.known || notice.firing()) Queue(receiver, notice);
  }
  last_[alert] = notice;
}

void Outbox::Queue(Receiver& receiver, const Notice& notice) {
  const auto told = receiver.told.find({notice.tenant, notice.fingerprint});
  if (told != receiver.told.end() && notice.number <= told->second) return;
  receiver.waiting.push_back({notice});
  if (receiver.waiting.size() > kMostWaiting) receiver.waiting.pop_front();
}

std::vector<Notice> Outbox::Due(const std::string& id, const IsSilenced& is_silenced,
                                std::int64_t now_ns, std::size_t most, std::vector<Leaving>& left) {
  std::vector<Notice> due;
  const auto at = receivers_.find(id);
  if (at == receivers_.end()) return due;
  std::set<Alert> seen;
  std::set<std::uint64_t> leaving;  // by number
  auto& waiting = at->second.waiting;
  for (std::size_t i = 0; i < waiting.size() && due.size() < most; ++i) {
    Waiting& one = waiting[i];
    const Alert alert{one.notice.tenant, one.notice.fingerprint};
    if (leaving.contains(one.notice.number) || seen.contains(alert)) continue;
    if (now_ns - one.notice.time_ns > kTooOld) {
      leaving.insert(one.notice.number);
      left.push_back({one.notice, Left::kTooOld});
      continue;
    }
    if (is_silenced(one.notice)) {
      one.held = true;
      seen.insert(alert);
      continue;
    }
    // Nobody heard that it began: nobody needs to hear that it ended.
    if (one.held && one.notice.firing()) {
      const auto end = std::find_if(waiting.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                    waiting.end(), [&](const Waiting& later) {
                                      return later.notice.tenant == alert.first &&
                                             later.notice.fingerprint == alert.second;
                                    });
      if (end != waiting.end() && !end->notice.firing()) {
        for (const Waiting* const gone : {&one, &*end}) {
          leaving.insert(gone->notice.number);
          left.push_back({gone->notice, Left::kSilenced});
        }
        continue;
      }
    }
    seen.insert(alert);
    due.push_back(one.notice);
  }
  for (const Leaving& one : left) Leave(id, one.notice);
  return due;
}

void Outbox::Leave(const std::string& id, const Notice& notice) {
  WasTold(id, notice.tenant, notice.fingerprint, notice.number);
}

std::uint64_t Outbox::known(const std::string& id) const {
  const auto at = receivers_.find(id);
  return at == receivers_.end() ? 0 : at->second.known;
}

std::vector<std::string> Outbox::receivers() const {
  std::vector<std::string> ids;
  ids.reserve(receivers_.size());
  for (const auto& [id, receiver] : receivers_) ids.push_back(id);
  return ids;
}

std::size_t Outbox::waiting(const std::string& id) const {
  const auto at = receivers_.find(id);
  return at == receivers_.end() ? 0 : at->second.waiting.size();
}

bool Outbox::Knows(const std::string& id, const Notice& notice) const {
  const auto at = receivers_.find(id);
  if (at == receivers_.end()) return false;
  const auto told = at->second.told.find({notice.tenant, notice.fingerprint});
  return told != at->second.told.end() && told->second >= notice.number;
}

}  // namespace wherefore::insight
