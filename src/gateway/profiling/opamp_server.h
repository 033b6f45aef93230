// OpampServer: tells SDKs how to profile, over OpAMP (POST /v1/opamp, plain HTTP), and knows which
// of them did what they were told.
//
// Threads: any.
// Always:  a configuration is offered only to agents that take one and report another hash. Agents
//          report changes only, so a gap in their numbers, or an agent we do not know, is asked for
//          its full state.
// Bounds:  10,000 agents are remembered, each for five silent minutes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "formats/opamp/opamp.h"
#include "gateway/profiling/control.h"
#include "net/http.h"

namespace wherefore::gateway {

// What is known of one agent.
struct AgentState {
  std::string service;
  std::string instance;
  bool takes_config = false;
  std::string state;         // "applied", "applying", "failed", "pending", "own settings"
  std::string error;         // why it failed
  std::int64_t seen_ns = 0;  // Unix time of its last message
};

class OpampServer {
 public:
  // `control` outlives it. `tenants`: X-Scope-OrgID counts.
  OpampServer(const ProfilingControl& control, bool tenants)
      : control_(control), tenants_(tenants) {}

  // POST /v1/opamp; 426 for those who want a WebSocket. This object outlives the router.
  void AddRoutes(net::Router& router);
  // The answer to one message. `now_ns`: Unix time.
  [[nodiscard]] formats::opamp::ServerToAgent Answer(const std::string& tenant,
                                                     const formats::opamp::AgentToServer& message,
                                                     std::int64_t now_ns);
  // By service and instance.
  [[nodiscard]] std::vector<AgentState> Agents(const std::string& tenant,
                                               std::int64_t now_ns) const;

 private:
  struct Agent {
    std::uint64_t sequence_num = 0;
    std::uint64_t capabilities = 0;
    bool described = false;
    std::string service;
    std::string instance;
    formats::opamp::RemoteConfigStatus status;  // as it said last
    std::string offered;                        // hash
    std::int64_t seen_ns = 0;
  };
  using Key = std::pair<std::string, std::string>;  // tenant, instance_uid

  void Forget(std::int64_t now_ns) REQUIRES(mutex_);
  void Offer(const std::string& tenant, Agent& agent, formats::opamp::ServerToAgent& answer) const;
  [[nodiscard]] AgentState Describe(const Agent& agent) const;

  const ProfilingControl& control_;
  const bool tenants_;
  mutable Mutex mutex_;
  std::map<Key, Agent> agents_ GUARDED_BY(mutex_);
  std::int64_t next_forget_ns_ GUARDED_BY(mutex_) = 0;
};

}  // namespace wherefore::gateway
