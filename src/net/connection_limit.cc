#include "net/connection_limit.h"

#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "net/http_session.h"
#include "net/socket_facts.h"

namespace wherefore::net {
namespace {

// Connections beyond the limit that still get an answer.
constexpr std::size_t kMaxRefused = 64;

void Tell(const std::vector<std::shared_ptr<HttpConnection>>& connections,
          void (HttpConnection::*what)()) {
  for (const auto& connection : connections) {
    connection->Post([connection, what] { (connection.get()->*what)(); });
  }
}

}  // namespace

std::size_t RaiseOpenFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  return setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : before;
}

std::size_t MaxConnections(std::size_t open_files) {
  constexpr std::size_t kKept = 1024;
  return open_files - std::min(kKept, open_files / 4);
}

bool ConnectionLimit::HasRoom() const {
  return entries_.size() - leaving_ + sockets_.size() < most_;
}

ConnectionLimit::Admission ConnectionLimit::Enter(HttpConnection* connection) {
  Owners going;
  Admission admission = Admission::kIn;
  {
    MutexLock lock(mutex_);
    const bool in = MakeRoom(going);
    if (!in) admission = leaving_ < kMaxRefused ? Admission::kRefused : Admission::kRejected;
    if (admission != Admission::kRejected) entries_[connection] = {waiting_.end(), !in};
    if (admission == Admission::kRefused) ++leaving_;
  }
  Tell(going, &HttpConnection::MakeRoom);
  return admission;
}

bool ConnectionLimit::MakeRoom(Owners& going) {
  if (!HasRoom()) ForgetClosedSockets();
  while (!HasRoom()) {
    if (waiting_.empty()) return false;
    HttpConnection* const oldest = waiting_.front().connection;
    waiting_.pop_front();
    entries_[oldest] = {waiting_.end(), true};
    ++leaving_;
    // A connection whose destructor waits for the lock has no owner any more and leaves by itself.
    if (auto owner = oldest->weak_from_this().lock()) going.push_back(std::move(owner));
  }
  return true;
}

void ConnectionLimit::Leave(HttpConnection* connection) {
  MutexLock lock(mutex_);
  const auto found = entries_.find(connection);
  if (found == entries_.end()) return;
  if (found->second.at != waiting_.end()) waiting_.erase(found->second.at);
  if (found->second.leaving) --leaving_;
  entries_.erase(found);
}

void ConnectionLimit::MarkIdle(HttpConnection* connection, bool holds_body) {
  MutexLock lock(mutex_);
  const auto found = entries_.find(connection);
  if (found == entries_.end() || found->second.leaving) return;
  std::list<Waiting>::iterator& at = found->second.at;
  if (at == waiting_.end()) at = waiting_.insert(waiting_.end(), Waiting{});
  *at = {connection, Clock::now(), holds_body};
  waiting_.splice(waiting_.end(), waiting_, at);
}

void ConnectionLimit::MarkBusy(HttpConnection* connection) {
  MutexLock lock(mutex_);
  const auto found = entries_.find(connection);
  if (found == entries_.end() || found->second.at == waiting_.end()) return;
  waiting_.erase(found->second.at);
  found->second.at = waiting_.end();
}

void ConnectionLimit::DropStalledBodies(std::chrono::milliseconds idle_for) {
  Owners stalled;
  {
    MutexLock lock(mutex_);
    const Clock::time_point before = Clock::now() - idle_for;
    for (const Waiting& waiting : waiting_) {
      if (waiting.since > before) break;
      if (!waiting.holds_body) continue;
      if (auto owner = waiting.connection->weak_from_this().lock()) {
        stalled.push_back(std::move(owner));
      }
    }
  }
  Tell(stalled, &HttpConnection::GiveUpBody);
}

bool ConnectionLimit::EnterDescriptor(int fd) {
  Owners going;
  bool in = false;
  {
    MutexLock lock(mutex_);
    if (sockets_.size() >= most_ / 2) ForgetClosedSockets();
    if (sockets_.size() >= most_ / 2) CloseIdleSockets();
    in = MakeRoom(going);
    if (in) sockets_.emplace_back(fd);
  }
  Tell(going, &HttpConnection::MakeRoom);
  return in;
}

void ConnectionLimit::ForgetClosedSockets() {
  constexpr auto kSeldom = std::chrono::milliseconds(200);
  const Clock::time_point now = Clock::now();
  if (now - checked_ < kSeldom) return;
  checked_ = now;
  std::erase_if(sockets_, [](const LentSocket& socket) { return !socket.IsOpen(); });
}

// Several at once, because finding them takes a look at all of them. They are shut down, not
// closed: the descriptors belong to gRPC until it notices.
void ConnectionLimit::CloseIdleSockets() {
  std::vector<std::pair<Silence, std::size_t>> quiet;
  quiet.reserve(sockets_.size());
  for (std::size_t i = 0; i < sockets_.size(); ++i)
    quiet.emplace_back(SilenceOf(sockets_[i].fd()), i);
  const auto going = static_cast<std::ptrdiff_t>(std::min(sockets_.size() / 32 + 1, quiet.size()));
  std::ranges::partial_sort(quiet, quiet.begin() + going, [](const auto& a, const auto& b) {
    return a.first.LongerThan(b.first);
  });
  std::vector<bool> goes(sockets_.size());
  for (auto it = quiet.begin(); it != quiet.begin() + going; ++it) goes[it->second] = true;
  std::vector<LentSocket> staying;
  for (std::size_t i = 0; i < sockets_.size(); ++i) {
    if (!goes[i]) staying.push_back(sockets_[i]);
    if (goes[i] && sockets_[i].IsOpen()) shutdown(sockets_[i].fd(), SHUT_RDWR);
  }
  sockets_ = std::move(staying);
}

}  // namespace wherefore::net
