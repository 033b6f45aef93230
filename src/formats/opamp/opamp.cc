#include "formats/opamp/opamp.h"

#include <algorithm>

#include <fmt/format.h>

#include "formats/wire/protobuf.h"

namespace wherefore::formats::opamp {
namespace {

// Field numbers, one namespace per message.
namespace to_server {
constexpr Tag kUid = 1, kSequence = 2, kDescription = 3, kCapabilities = 4, kHealth = 5,
              kEffective = 6, kRemoteStatus = 7, kDisconnect = 9, kFlags = 10;
}
namespace to_agent {
constexpr Tag kUid = 1, kError = 2, kRemoteConfig = 3, kFlags = 6, kCapabilities = 7;
}
namespace description {
constexpr Tag kIdentifying = 1, kOthers = 2;
}
namespace key_value {
constexpr Tag kKey = 1, kValue = 2;
}
namespace any_value {
constexpr Tag kString = 1;
}
namespace health {
constexpr Tag kHealthy = 1, kStart = 2, kLastError = 3, kStatus = 4;
}
namespace remote_status {
constexpr Tag kHash = 1, kState = 2, kError = 3;
}
namespace config {
constexpr Tag kFiles = 1, kMap = 1, kHash = 2, kBody = 1, kContentType = 2;
}
namespace error {
constexpr Tag kType = 1, kMessage = 2, kRetry = 3, kAfter = 1;
}

// Nobody has more; a sender of more is not an agent.
constexpr std::size_t kMostEntries = 1'000;

struct TooMany {};

std::string Bytes(Pbf& r) {
  return std::string(GetView(r));
}

template <typename Map>
void CheckRoom(const Map& map) {
  if (map.size() >= kMostEntries) throw TooMany();
}

std::string TextValue(std::string_view bytes) {
  std::string text;
  for (Pbf r = Reader(bytes); r.next();) {
    if (r.tag_and_type() == LenKey(any_value::kString)) {
      text = Bytes(r);
    } else {
      r.skip();
    }
  }
  return text;
}

void ReadAttribute(std::string_view bytes, std::map<std::string, std::string>& out) {
  std::string key;
  std::string value;
  for (Pbf r = Reader(bytes); r.next();) {
    switch (r.tag_and_type()) {
      case LenKey(key_value::kKey):
        key = Bytes(r);
        break;
      case LenKey(key_value::kValue):
        value = TextValue(GetView(r));
        break;
      default:
        r.skip();
    }
  }
  CheckRoom(out);
  if (!value.empty()) out[std::move(key)] = std::move(value);
}

AgentDescription ReadDescription(std::string_view bytes) {
  AgentDescription out;
  for (Pbf r = Reader(bytes); r.next();) {
    switch (r.tag_and_type()) {
      case LenKey(description::kIdentifying):
        ReadAttribute(GetView(r), out.identifying);
        break;
      case LenKey(description::kOthers):
        ReadAttribute(GetView(r), out.others);
        break;
      default:
        r.skip();
    }
  }
  return out;
}

Health ReadHealth(std::string_view bytes) {
  Health out;
  for (Pbf r = Reader(bytes); r.next();) {
    switch (r.tag_and_type()) {
      case VarintKey(health::kHealthy):
        out.healthy = r.get_bool();
        break;
      case Fixed64Key(health::kStart):
        out.start_ns = r.get_fixed64();
        break;
      case LenKey(health::kLastError):
        out.last_error = Bytes(r);
        break;
      case LenKey(health::kStatus):
        out.status = Bytes(r);
        break;
      default:
        r.skip();
    }
  }
  return out;
}

ConfigFile ReadFile(std::string_view bytes) {
  ConfigFile out;
  for (Pbf r = Reader(bytes); r.next();) {
    switch (r.tag_and_type()) {
      case LenKey(config::kBody):
        out.body = Bytes(r);
        break;
      case LenKey(config::kContentType):
        out.content_type = Bytes(r);
        break;
      default:
        r.skip();
    }
  }
  return out;
}

// AgentConfigMap: a map field is a list of pairs.
void ReadFiles(std::string_view bytes, ConfigFiles& out) {
  for (Pbf r = Reader(bytes); r.next();) {
    if (r.tag_and_type() != LenKey(config::kMap)) {
      r.skip();
      continue;
    }
    std::string name;
    ConfigFile file;
    for (Pbf pair = Reader(GetView(r)); pair.next();) {
      switch (pair.tag_and_type()) {
        case LenKey(key_value::kKey):
          name = Bytes(pair);
          break;
        case LenKey(key_value::kValue):
          file = ReadFile(GetView(pair));
          break;
        default:
          pair.skip();
      }
    }
    CheckRoom(out);
    out[std::move(name)] = std::move(file);
  }
}

ConfigFiles ReadEffective(std::string_view bytes) {
  ConfigFiles out;
  for (Pbf r = Reader(bytes); r.next();) {
    if (r.tag_and_type() == LenKey(config::kFiles)) {
      ReadFiles(GetView(r), out);
    } else {
      r.skip();
    }
  }
  return out;
}

RemoteConfigStatus ReadRemoteStatus(std::string_view bytes) {
  RemoteConfigStatus out;
  for (Pbf r = Reader(bytes); r.next();) {
    switch (r.tag_and_type()) {
      case LenKey(remote_status::kHash):
        out.hash = Bytes(r);
        break;
      case VarintKey(remote_status::kState): {
        const std::uint64_t state = r.get_uint64();
        out.state = static_cast<RemoteConfigStatus::State>(state <= 3 ? state : 0);
        break;
      }
      case LenKey(remote_status::kError):
        out.error = Bytes(r);
        break;
      default:
        r.skip();
    }
  }
  return out;
}

AgentToServer ReadAgentToServer(std::string_view bytes) {
  AgentToServer out;
  for (Pbf r = Reader(bytes); r.next();) {
    switch (r.tag_and_type()) {
      case LenKey(to_server::kUid):
        out.instance_uid = Bytes(r);
        break;
      case VarintKey(to_server::kSequence):
        out.sequence_num = r.get_uint64();
        break;
      case LenKey(to_server::kDescription):
        out.description = ReadDescription(GetView(r));
        break;
      case VarintKey(to_server::kCapabilities):
        out.capabilities = r.get_uint64();
        break;
      case LenKey(to_server::kHealth):
        out.health = ReadHealth(GetView(r));
        break;
      case LenKey(to_server::kEffective):
        out.effective_config = ReadEffective(GetView(r));
        break;
      case LenKey(to_server::kRemoteStatus):
        out.remote_config_status = ReadRemoteStatus(GetView(r));
        break;
      case LenKey(to_server::kDisconnect):
        r.skip();
        out.disconnect = true;
        break;
      case VarintKey(to_server::kFlags):
        out.flags = r.get_uint64();
        break;
      default:
        r.skip();
    }
  }
  return out;
}

ErrorResponse ReadError(std::string_view bytes) {
  ErrorResponse out;
  for (Pbf r = Reader(bytes); r.next();) {
    switch (r.tag_and_type()) {
      case VarintKey(error::kType): {
        const std::uint64_t type = r.get_uint64();
        out.type = static_cast<ErrorResponse::Type>(type <= 2 ? type : 0);
        break;
      }
      case LenKey(error::kMessage):
        out.message = Bytes(r);
        break;
      case LenKey(error::kRetry):
        for (Pbf retry = Reader(GetView(r)); retry.next();) {
          if (retry.tag_and_type() == VarintKey(error::kAfter)) {
            out.retry_after_ns = retry.get_uint64();
          } else {
            retry.skip();
          }
        }
        break;
      default:
        r.skip();
    }
  }
  return out;
}

RemoteConfig ReadRemoteConfig(std::string_view bytes) {
  RemoteConfig out;
  for (Pbf r = Reader(bytes); r.next();) {
    switch (r.tag_and_type()) {
      case LenKey(config::kFiles):
        ReadFiles(GetView(r), out.files);
        break;
      case LenKey(config::kHash):
        out.hash = Bytes(r);
        break;
      default:
        r.skip();
    }
  }
  return out;
}

ServerToAgent ReadServerToAgent(std::string_view bytes) {
  ServerToAgent out;
  for (Pbf r = Reader(bytes); r.next();) {
    switch (r.tag_and_type()) {
      case LenKey(to_agent::kUid):
        out.instance_uid = Bytes(r);
        break;
      case LenKey(to_agent::kError):
        out.error = ReadError(GetView(r));
        break;
      case LenKey(to_agent::kRemoteConfig):
        out.remote_config = ReadRemoteConfig(GetView(r));
        break;
      case VarintKey(to_agent::kFlags):
        out.flags = r.get_uint64();
        break;
      case VarintKey(to_agent::kCapabilities):
        out.capabilities = r.get_uint64();
        break;
      default:
        r.skip();
    }
  }
  return out;
}

template <typename Read>
auto Guarded(std::string_view what, Read read) -> Result<decltype(read())> {
  try {
    return read();
  } catch (const protozero::exception& e) {
    return Error(Code::kCorrupt, fmt::format("{}: {}", what, e.what()));
  } catch (const TooMany&) {
    return Error(Code::kLimit, fmt::format("{}: more than {} entries", what, kMostEntries));
  }
}

void WriteAttributes(PbfWriter& w, Tag tag, const std::map<std::string, std::string>& attributes) {
  for (const auto& [key, value] : attributes) {
    PbfWriter pair(w, tag);
    AddText(pair, key_value::kKey, key);
    PbfWriter any(pair, key_value::kValue);
    any.add_string(any_value::kString, value);
  }
}

void WriteFiles(PbfWriter& w, const ConfigFiles& files) {
  PbfWriter map(w, config::kFiles);
  for (const auto& [name, file] : files) {
    PbfWriter pair(map, config::kMap);
    AddText(pair, key_value::kKey, name);
    PbfWriter value(pair, key_value::kValue);
    AddText(value, config::kBody, file.body);
    AddText(value, config::kContentType, file.content_type);
  }
}

}  // namespace

Result<AgentToServer> DecodeAgentToServer(std::string_view bytes) {
  return Guarded("AgentToServer", [&] { return ReadAgentToServer(bytes); });
}

Result<ServerToAgent> DecodeServerToAgent(std::string_view bytes) {
  return Guarded("ServerToAgent", [&] { return ReadServerToAgent(bytes); });
}

std::string Encode(const AgentToServer& message) {
  std::string out;
  PbfWriter w(out);
  AddText(w, to_server::kUid, message.instance_uid);
  AddUint(w, to_server::kSequence, message.sequence_num);
  if (message.description) {
    PbfWriter d(w, to_server::kDescription);
    WriteAttributes(d, description::kIdentifying, message.description->identifying);
    WriteAttributes(d, description::kOthers, message.description->others);
  }
  AddUint(w, to_server::kCapabilities, message.capabilities);
  if (message.health) {
    PbfWriter h(w, to_server::kHealth);
    AddUint(h, health::kHealthy, message.health->healthy ? 1 : 0);
    if (message.health->start_ns != 0) h.add_fixed64(health::kStart, message.health->start_ns);
    AddText(h, health::kLastError, message.health->last_error);
    AddText(h, health::kStatus, message.health->status);
  }
  if (message.effective_config) {
    PbfWriter e(w, to_server::kEffective);
    WriteFiles(e, *message.effective_config);
  }
  if (message.remote_config_status) {
    PbfWriter s(w, to_server::kRemoteStatus);
    AddText(s, remote_status::kHash, message.remote_config_status->hash);
    AddUint(s, remote_status::kState,
            static_cast<std::uint64_t>(message.remote_config_status->state));
    AddText(s, remote_status::kError, message.remote_config_status->error);
  }
  if (message.disconnect) PbfWriter(w, to_server::kDisconnect).commit();
  AddUint(w, to_server::kFlags, message.flags);
  return out;
}

std::string Encode(const ServerToAgent& message) {
  std::string out;
  PbfWriter w(out);
  AddText(w, to_agent::kUid, message.instance_uid);
  if (message.error) {
    PbfWriter e(w, to_agent::kError);
    AddUint(e, error::kType, static_cast<std::uint64_t>(message.error->type));
    AddText(e, error::kMessage, message.error->message);
    if (message.error->retry_after_ns != 0) {
      PbfWriter retry(e, error::kRetry);
      AddUint(retry, error::kAfter, message.error->retry_after_ns);
    }
  }
  if (message.remote_config) {
    PbfWriter c(w, to_agent::kRemoteConfig);
    WriteFiles(c, message.remote_config->files);
    AddText(c, config::kHash, message.remote_config->hash);
  }
  AddUint(w, to_agent::kFlags, message.flags);
  AddUint(w, to_agent::kCapabilities, message.capabilities);
  return out;
}

}  // namespace wherefore::formats::opamp
