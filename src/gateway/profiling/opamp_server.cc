#include "gateway/profiling/opamp_server.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/hash.h"
#include "net/tenant.h"

namespace wherefore::gateway {
namespace {

using formats::opamp::AgentToServer;
using formats::opamp::RemoteConfigStatus;
using formats::opamp::ServerToAgent;
namespace opamp = formats::opamp;

constexpr std::size_t kMostAgents = 10'000;
constexpr std::int64_t kSilent = 300 * kNsPerSecond;
constexpr std::size_t kUidBytes = 16;
constexpr std::size_t kLongestText = 256;  // of what agents say about themselves

std::string HashOf(std::string_view block) {
  const Hash128 hash = HashString(block);
  std::string bytes(sizeof(hash), '\0');
  std::memcpy(bytes.data(), &hash, sizeof(hash));
  return bytes;
}

std::string AttributeOf(const opamp::AgentDescription& description, const std::string& key) {
  for (const auto* attributes : {&description.identifying, &description.others}) {
    const auto found = attributes->find(key);
    if (found != attributes->end()) return found->second.substr(0, kLongestText);
  }
  return {};
}

net::HttpResponse Refuse(int status, Code code, std::string message) {
  net::HttpResponse response = net::JsonError(Error(code, std::move(message)));
  response.status = status;
  return response;
}

}  // namespace

void OpampServer::AddRoutes(net::Router& router) {
  router.Add(
      "POST", "/v1/opamp", [this](const net::HttpRequest& request, const net::Respond& respond) {
        const auto tenant = net::RequireTenant(request.headers, tenants_);
        if (!tenant) return respond(net::JsonError(tenant.error()));
        if (request.ContentType() != "application/x-protobuf") {
          return respond(Refuse(415, Code::kInvalid, "OpAMP messages are application/x-protobuf"));
        }
        const auto message = opamp::DecodeAgentToServer(*request.body);
        if (!message) return respond(Refuse(400, Code::kCorrupt, message.error().message()));
        respond({.content_type = "application/x-protobuf",
                 .body = opamp::Encode(Answer(std::string(*tenant), *message, NowUnixNs()))});
      });
  router.Add("GET", "/v1/opamp", [](const net::HttpRequest& request, const net::Respond& respond) {
    const bool upgrade = !request.Header("Upgrade").empty();
    net::HttpResponse response =
        Refuse(upgrade ? 426 : 405, Code::kInvalid,
               "this server speaks OpAMP over plain HTTP only: POST AgentToServer messages here");
    response.headers[upgrade ? "Upgrade" : "Allow"] = upgrade ? "HTTP/1.1" : "POST";
    respond(std::move(response));
  });
}

ServerToAgent OpampServer::Answer(const std::string& tenant, const AgentToServer& message,
                                  std::int64_t now_ns) {
  ServerToAgent answer{.instance_uid = message.instance_uid,
                       .capabilities = opamp::kAcceptsStatus | opamp::kOffersRemoteConfig |
                                       opamp::kAcceptsEffectiveConfig};
  if (message.instance_uid.size() != kUidBytes) {
    answer.error =
        opamp::ErrorResponse{.type = opamp::ErrorResponse::Type::kBadRequest,
                             .message = fmt::format("instance_uid has {} bytes, not {}",
                                                    message.instance_uid.size(), kUidBytes)};
    return answer;
  }
  MutexLock lock(mutex_);
  Forget(now_ns);
  const Key key(tenant, message.instance_uid);
  if (message.disconnect) {
    agents_.erase(key);
    return answer;
  }
  const auto [at, fresh] = agents_.try_emplace(key);
  Agent& agent = at->second;
  const bool gap = !fresh && message.sequence_num != agent.sequence_num + 1;
  agent.sequence_num = message.sequence_num;
  agent.seen_ns = now_ns;
  if (message.capabilities != 0) agent.capabilities = message.capabilities;
  if (message.description) {
    agent.described = true;
    agent.service = AttributeOf(*message.description, "service.name");
    agent.instance = AttributeOf(*message.description, "service.instance.id");
  }
  if (message.remote_config_status) {
    agent.status = *message.remote_config_status;
    agent.status.error.resize(std::min(agent.status.error.size(), kLongestText));
  }
  // A description comes with the full state only.
  if ((fresh || gap || !agent.described) && !message.description) {
    answer.flags |= opamp::kReportFullState;
  }
  if (agent.described) Offer(tenant, agent, answer);
  return answer;
}

void OpampServer::Offer(const std::string& tenant, Agent& agent, ServerToAgent& answer) const {
  if ((agent.capabilities & opamp::kAcceptsRemoteConfig) == 0) return;
  const bool reports = (agent.capabilities & opamp::kReportsRemoteConfig) != 0;
  const std::string known = reports ? agent.status.hash : agent.offered;
  std::string block = control_.Block(tenant, agent.service);
  if (block.empty()) {
    if (known.empty()) return;  // nobody says anything, and never did
    block = ProfilingBlock({}, nullptr, false);
  }
  std::string hash = HashOf(block);
  agent.offered = hash;
  if (hash == known) return;
  answer.remote_config = opamp::RemoteConfig{
      .files = {{"profiling.yaml", {std::move(block), "text/yaml"}}}, .hash = std::move(hash)};
}

void OpampServer::Forget(std::int64_t now_ns) {
  if (now_ns < next_forget_ns_ && agents_.size() < kMostAgents) return;
  next_forget_ns_ = now_ns + 10 * kNsPerSecond;
  std::erase_if(agents_,
                [&](const auto& entry) { return entry.second.seen_ns < now_ns - kSilent; });
  if (agents_.size() < kMostAgents) return;
  agents_.erase(std::ranges::min_element(agents_, {},
                                         [](const auto& entry) { return entry.second.seen_ns; }));
}

AgentState OpampServer::Describe(const Agent& agent) const {
  AgentState out{.service = agent.service,
                 .instance = agent.instance,
                 .takes_config = (agent.capabilities & opamp::kAcceptsRemoteConfig) != 0,
                 .error = agent.status.error,
                 .seen_ns = agent.seen_ns};
  using State = RemoteConfigStatus::State;
  const bool reported = !agent.offered.empty() && agent.status.hash == agent.offered;
  if (!out.takes_config || agent.offered.empty()) {
    out.state = "own settings";
  } else if (reported && agent.status.state == State::kApplied) {
    out.state = "applied";
  } else if (reported && agent.status.state == State::kApplying) {
    out.state = "applying";
  } else if (reported && agent.status.state == State::kFailed) {
    out.state = "failed";
  } else {
    out.state = "pending";
  }
  return out;
}

std::vector<AgentState> OpampServer::Agents(const std::string& tenant, std::int64_t now_ns) const {
  std::vector<AgentState> all;
  MutexLock lock(mutex_);
  for (const auto& [key, agent] : agents_) {
    if (key.first != tenant || agent.seen_ns < now_ns - kSilent || !agent.described) continue;
    all.push_back(Describe(agent));
  }
  std::ranges::sort(all, {}, [](const AgentState& a) { return std::tie(a.service, a.instance); });
  return all;
}

}  // namespace wherefore::gateway
