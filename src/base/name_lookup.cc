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

std::atomic<int> g_left_behind{0};

Error Unavailable(const std::string& host, const std::string& why) {
  return {Code::kUnavailable, host + ": " + why};
}

Addresses Ask(const std::string& host, const std::string& port, int flags) {
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

// Shared by who waits and who asks.
struct Question {
  const std::string host;
  const std::string port;
  Mutex mutex;
  CondVar changed;
  std::optional<Addresses> answer GUARDED_BY(mutex);
  bool left GUARDED_BY(mutex) = false;

  Question(std::string h, std::string p) : host(std::move(h)), port(std::move(p)) {}
};

void Answer(void* shared) {
  const std::unique_ptr<std::shared_ptr<Question>> mine(
      static_cast<std::shared_ptr<Question>*>(shared));
  Question& question = **mine;
  Addresses found = Ask(question.host, question.port, 0);
  const MutexLock lock(question.mutex);
  question.answer = std::move(found);
  if (question.left) g_left_behind.fetch_sub(1);
  question.changed.NotifyAll();
}

}  // namespace

Addresses LookUpName(const std::string& host, std::uint16_t port,
                     const std::function<bool()>& keep_waiting, StartThread start) {
  const std::string service = std::to_string(port);
  if (Addresses number = Ask(host, service, AI_NUMERICHOST)) return number;
  if (g_left_behind.load() >= kMostLeftBehind)
    return Unavailable(host, "the system's resolver does not answer");
  auto question = std::make_shared<Question>(host, service);
  auto theirs = std::make_unique<std::shared_ptr<Question>>(question);
  if (!start(&Answer, theirs.get())) return Ask(host, service, 0);
  (void)theirs.release();  // NOLINT(bugprone-unused-return-value): the thread has it
  constexpr auto kLookAgain = std::chrono::milliseconds(50);
  const MutexLock lock(question->mutex);
  while (!question->answer && keep_waiting()) {
    question->changed.WaitUntil(question->mutex, std::chrono::steady_clock::now() + kLookAgain);
  }
  if (question->answer) return *std::move(question->answer);
  question->left = true;
  g_left_behind.fetch_add(1);
  return Unavailable(host, "the system's resolver did not answer in time");
}

}  // namespace wherefore
