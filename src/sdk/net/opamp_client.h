// OpampClient: asks a server what it wants of this process, and tells it what is in force (OpAMP
// over plain HTTP).
//
// A poll is one request, and at most two more where there is something to report at once: that a
// configuration was applied, or everything, because the server does not know us. What did not
// change is not sent again. A server that does not speak OpAMP (404) is asked again in an hour.
// Trouble is said in the log only at the level of debugging: most servers have nothing of the kind.
//
// Belongs to one thread, the exporter's, which also calls the functions of OpampHost; SetDeadline
// from any, CloseInChild after a fork.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "sdk/config/options.h"
#include "sdk/net/http_client.h"
#include "sdk/net/opamp_messages.h"

namespace wherefore::sdk {

// What the client asks of the library. All three or none.
struct OpampHost {
  OpampDescription (*describe)() = nullptr;
  std::string (*effective)() = nullptr;  // as a file
  // An error is said to the server, and nothing has changed.
  Result<> (*apply)(const OpampConfig& config) = nullptr;
};

class OpampClient {
 public:
  // `options` outlive it; their opamp_url is an address.
  OpampClient(const Options& options, Url url, const OpampHost& host);

  [[nodiscard]] bool tls() const { return client_.tls(); }
  // Gives after how many nanoseconds to poll again.
  [[nodiscard]] std::int64_t Poll();
  // The process ends: says so to a server that has answered before.
  void Disconnect();
  void SetDeadline(std::int64_t deadline_ns) { client_.SetDeadline(deadline_ns); }
  void CloseInChild() { client_.CloseInChild(); }

 private:
  enum class Next : std::uint8_t { kReport, kDone, kUnknownHere };
  // One request and its answer. `wait_ns` is at least so long.
  Next Exchange(std::int64_t& wait_ns);
  [[nodiscard]] AgentToServer Message();
  [[nodiscard]] Result<HttpAnswer> Send(const AgentToServer& message);
  Next Take(const ServerToAgent& answer, std::int64_t& wait_ns);
  void Apply(const OpampConfig& config);
  Next Fail(const std::string& why);

  const Options& options_;
  const OpampHost host_;
  HttpClient client_;
  OpampUid uid_;
  std::string uid_text_;
  std::uint64_t started_ns_;
  std::uint64_t sequence_ = 0;
  bool full_ = true;       // the next message has everything
  bool answered_ = false;  // the server speaks OpAMP
  OpampConfigStatus status_;
  bool offered_ = false;        // status_ is of a configuration
  bool status_due_ = false;     // and has not been sent
  std::string sent_effective_;  // what the server was told last
};

}  // namespace wherefore::sdk
