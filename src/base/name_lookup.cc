#include "base/name_lookup.h"

#include <netdb.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>

#include "base/mutex.h"

namespace wherefore {
namespace {

using Addresses = Result<std::vector<SocketAddress>>;

std::atomic<int> g_abandoned{0};

Error Unavailable(const std::string& host, const std::string& why) {
  return {Code::kUnavailable, host + ": " + why};
}

Addresses Resolve(const std::string& host, const std::string& port, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); error != 0)
    return Unavailable(host, gai_strerror(error));
  std::vector<SocketAddress> all;
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    SocketAddress& address = all.emplace_back();
    if (entry->ai_addrlen > sizeof(address.storage)) {
      all.pop_back();
      continue;
    }
    address.size = entry->ai_addrlen;
    std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
  }
  freeaddrinfo(found);
  if (all.empty()) return Unavailable(host, "no address");
  return all;
}

// Shared by the waiting caller and the thread in getaddrinfo.
struct Lookup {
  const std::string host;
  const std::string port;
  Mutex mutex;
  CondVar changed;
  std::optional<Addresses> answer GUARDED_BY(mutex);
  bool abandoned GUARDED_BY(mutex) = false;

  Lookup(std::string h, std::string p) : host(std::move(h)), port(std::move(p)) {}
};

void RunLookup(void* shared) {
  const std::unique_ptr<std::shared_ptr<Lookup>> mine(
      static_cast<std::shared_ptr<Lookup>*>(shared));
  Lookup& lookup = **mine;
  Addresses found = Resolve(lookup.host, lookup.port, 0);
  const MutexLock lock(lookup.mutex);
  lookup.answer = std::move(found);
  if (lookup.abandoned) g_abandoned.fetch_sub(1);
  lookup.changed.NotifyAll();
}

}  // namespace

Addresses LookUpName(const std::string& host, std::uint16_t port,
                     const std::function<bool()>& keep_waiting, StartThread start) {
  const std::string service = std::to_string(port);
  if (Addresses number = Resolve(host, service, AI_NUMERICHOST)) return number;
  if (g_abandoned.load() >= kMaxAbandonedLookups)
    return Unavailable(host, "the system's resolver does not answer");
  auto lookup = std::make_shared<Lookup>(host, service);
  auto theirs = std::make_unique<std::shared_ptr<Lookup>>(lookup);
  if (!start(&RunLookup, theirs.get())) return Resolve(host, service, 0);
  (void)theirs.release();  // NOLINT(bugprone-unused-return-value): the thread has it
  constexpr auto kPollInterval = std::chrono::milliseconds(50);
  const MutexLock lock(lookup->mutex);
  while (!lookup->answer && keep_waiting()) {
    lookup->changed.WaitUntil(lookup->mutex, std::chrono::steady_clock::now() + kPollInterval);
  }
  if (lookup->answer) return *std::move(lookup->answer);
  lookup->abandoned = true;
  g_abandoned.fetch_add(1);
  return Unavailable(host, "the system's resolver did not answer in time");
}

}  // namespace wherefore
