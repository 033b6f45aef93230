// The messages of OpAMP (Open Agent Management Protocol) as a client needs them: AgentToServer ->
// bytes, bytes -> ServerToAgent.
//
// Field numbers are those of the specification, v0.18. Pure functions; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace wherefore::sdk {

// Bits of AgentToServer.capabilities.
inline constexpr std::uint64_t kReportsStatus = 1;
inline constexpr std::uint64_t kAcceptsRemoteConfig = 2;
inline constexpr std::uint64_t kReportsEffectiveConfig = 4;
inline constexpr std::uint64_t kReportsHealth = 0x800;
inline constexpr std::uint64_t kReportsRemoteConfig = 0x1000;
inline constexpr std::uint64_t kReportsHeartbeat = 0x2000;

// Of ServerToAgent.flags.
inline constexpr std::uint64_t kReportFullState = 1;

struct OpampAttribute {
  std::string key;
  std::string text;
  std::int64_t number = 0;
  bool is_number = false;
};
struct OpampDescription {
  std::vector<OpampAttribute> identifying;
  std::vector<OpampAttribute> other;
};

enum class OpampStatus : std::uint8_t { kUnset = 0, kApplied = 1, kApplying = 2, kFailed = 3 };

struct OpampConfigStatus {
  std::string hash;  // of the last one that was offered
  OpampStatus status = OpampStatus::kUnset;
  std::string message;
};

using OpampUid = std::array<std::uint8_t, 16>;

struct AgentToServer {
  OpampUid instance_uid = {};
  std::uint64_t sequence = 0;
  std::uint64_t capabilities = 0;
  // What did not change since it was last sent is left out.
  std::optional<OpampDescription> description;
  std::optional<std::uint64_t> healthy_since_ns;  // of the wall clock
  std::optional<std::string> effective_config;    // text/yaml
  std::optional<OpampConfigStatus> config_status;
  bool disconnect = false;
};
[[nodiscard]] std::string EncodeAgentToServer(const AgentToServer& message);

struct OpampConfig {
  std::vector<std::pair<std::string, std::string>> files;  // name, content
  std::string hash;
};

struct ServerToAgent {
  std::string instance_uid;  // empty: not said
  bool failed = false;       // it has an error_response; then:
  bool unavailable = false;
  std::string error;
  std::uint64_t retry_after_ns = 0;
  std::optional<OpampConfig> config;
  std::uint64_t flags = 0;
};
// kCorrupt for what is no such message.
[[nodiscard]] Result<ServerToAgent> DecodeServerToAgent(std::string_view bytes);

}  // namespace wherefore::sdk
