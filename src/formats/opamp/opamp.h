// OpAMP (Open Agent Management Protocol) v0.18: the messages that agents and servers exchange, as
// far as remote configuration needs them. Bytes <-> plain structs; what is not here is skipped.
//
// Pure functions; any thread. Decoding never fails on fields it does not know; kCorrupt: no
// protobuf, kLimit: more than a message of this kind has any use for.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace wherefore::formats::opamp {

// Bits of AgentToServer.capabilities.
inline constexpr std::uint64_t kReportsStatus = 0x1, kAcceptsRemoteConfig = 0x2,
                               kReportsEffectiveConfig = 0x4, kReportsHealth = 0x800,
                               kReportsRemoteConfig = 0x1000, kReportsHeartbeat = 0x2000;
// Bits of ServerToAgent.capabilities.
inline constexpr std::uint64_t kAcceptsStatus = 0x1, kOffersRemoteConfig = 0x2,
                               kAcceptsEffectiveConfig = 0x4;
// Bits of ServerToAgent.flags.
inline constexpr std::uint64_t kReportFullState = 0x1;

struct ConfigFile {
  std::string body;
  std::string content_type;
  bool operator==(const ConfigFile&) const = default;
};
using ConfigFiles = std::map<std::string, ConfigFile>;  // by name

struct AgentDescription {
  // Attributes whose values are text; others are left out.
  std::map<std::string, std::string> identifying;
  std::map<std::string, std::string> others;
  bool operator==(const AgentDescription&) const = default;
};

struct Health {
  bool healthy = false;
  std::uint64_t start_ns = 0;
  std::string last_error;
  std::string status;
  bool operator==(const Health&) const = default;
};

struct RemoteConfigStatus {
  enum class State : std::uint8_t { kUnset = 0, kApplied = 1, kApplying = 2, kFailed = 3 };
  std::string hash;
  State state = State::kUnset;
  std::string error;
  bool operator==(const RemoteConfigStatus&) const = default;
};

// Parts that are not set did not change since the last message.
struct AgentToServer {
  std::string instance_uid;  // 16 bytes
  std::uint64_t sequence_num = 0;
  std::optional<AgentDescription> description;
  std::uint64_t capabilities = 0;
  std::optional<Health> health;
  std::optional<ConfigFiles> effective_config;
  std::optional<RemoteConfigStatus> remote_config_status;
  bool disconnect = false;
  std::uint64_t flags = 0;
  bool operator==(const AgentToServer&) const = default;
};

struct ErrorResponse {
  enum class Type : std::uint8_t { kUnknown = 0, kBadRequest = 1, kUnavailable = 2 };
  Type type = Type::kUnknown;
  std::string message;
  std::uint64_t retry_after_ns = 0;  // with kUnavailable; 0: not said
  bool operator==(const ErrorResponse&) const = default;
};

struct RemoteConfig {
  ConfigFiles files;
  std::string hash;
  bool operator==(const RemoteConfig&) const = default;
};

struct ServerToAgent {
  std::string instance_uid;
  std::optional<ErrorResponse> error;
  std::optional<RemoteConfig> remote_config;
  std::uint64_t flags = 0;
  std::uint64_t capabilities = 0;
  bool operator==(const ServerToAgent&) const = default;
};

[[nodiscard]] Result<AgentToServer> DecodeAgentToServer(std::string_view bytes);
[[nodiscard]] Result<ServerToAgent> DecodeServerToAgent(std::string_view bytes);
[[nodiscard]] std::string Encode(const AgentToServer& message);
[[nodiscard]] std::string Encode(const ServerToAgent& message);

}  // namespace wherefore::formats::opamp
