#include "sdk/net/opamp_messages.h"

#include "formats/wire/protobuf.h"

namespace wherefore::sdk {
namespace {

using formats::GetView;
using formats::LenKey;
using formats::Pbf;
using formats::PbfWriter;
using formats::VarintKey;

std::string_view Bytes(const OpampUid& uid) {
  return {reinterpret_cast<const char*>(uid.data()), uid.size()};
}

void AddBytes(PbfWriter& to, formats::Tag tag, std::string_view bytes) {
  to.add_bytes(tag, bytes.data(), bytes.size());
}

// KeyValue {1 key, 2 AnyValue {1 string, 3 int}}
void AddAttributes(PbfWriter& to, formats::Tag tag, const std::vector<OpampAttribute>& attributes) {
  for (const OpampAttribute& attribute : attributes) {
    PbfWriter pair(to, tag);
    AddBytes(pair, 1, attribute.key);
    PbfWriter value(pair, 2);
    if (attribute.is_number) {
      value.add_int64(3, attribute.number);
    } else {
      AddBytes(value, 1, attribute.text);
    }
  }
}

// EffectiveConfig {1 AgentConfigMap {1 map<string, AgentConfigFile {1 body, 2 content_type}>}}
void AddEffectiveConfig(PbfWriter& to, std::string_view yaml) {
  PbfWriter config(to, 6);
  PbfWriter map(config, 1);
  PbfWriter entry(map, 1);
  AddBytes(entry, 1, "profiling.yaml");
  PbfWriter file(entry, 2);
  AddBytes(file, 1, yaml);
  AddBytes(file, 2, "text/yaml");
}

void ReadRetryInfo(Pbf info, ServerToAgent& out) {
  while (info.next()) {
    if (static_cast<std::uint32_t>(info.tag_and_type()) == VarintKey(1)) {
      out.retry_after_ns = info.get_uint64();
    } else {
      info.skip();
    }
  }
}

void ReadError(Pbf error, ServerToAgent& out) {
  constexpr std::uint64_t kUnavailableType = 2;
  out.failed = true;
  while (error.next()) {
    switch (static_cast<std::uint32_t>(error.tag_and_type())) {
      case VarintKey(1):
        out.unavailable = error.get_uint64() == kUnavailableType;
        break;
      case LenKey(2):
        out.error = GetView(error);
        break;
      case LenKey(3):
        ReadRetryInfo(error.get_message(), out);
        break;
      default:
        error.skip();
    }
  }
}

std::string ReadFile(Pbf file) {
  std::string body;
  while (file.next()) {
    if (static_cast<std::uint32_t>(file.tag_and_type()) == LenKey(1)) {
      body = GetView(file);
    } else {
      file.skip();
    }
  }
  return body;
}

void ReadFiles(Pbf map, OpampConfig& out) {
  while (map.next()) {
    if (static_cast<std::uint32_t>(map.tag_and_type()) != LenKey(1)) {
      map.skip();
      continue;
    }
    auto& [name, body] = out.files.emplace_back();
    Pbf entry = map.get_message();
    while (entry.next()) {
      switch (static_cast<std::uint32_t>(entry.tag_and_type())) {
        case LenKey(1):
          name = GetView(entry);
          break;
        case LenKey(2):
          body = ReadFile(entry.get_message());
          break;
        default:
          entry.skip();
      }
    }
  }
}

OpampConfig ReadConfig(Pbf config) {
  OpampConfig out;
  while (config.next()) {
    switch (static_cast<std::uint32_t>(config.tag_and_type())) {
      case LenKey(1):
        ReadFiles(config.get_message(), out);
        break;
      case LenKey(2):
        out.hash = GetView(config);
        break;
      default:
        config.skip();
    }
  }
  return out;
}

}  // namespace

std::string EncodeAgentToServer(const AgentToServer& message) {
  std::string out;
  PbfWriter to(out);
  AddBytes(to, 1, Bytes(message.instance_uid));
  to.add_uint64(2, message.sequence);
  if (message.description) {
    PbfWriter description(to, 3);
    AddAttributes(description, 1, message.description->identifying);
    AddAttributes(description, 2, message.description->other);
  }
  to.add_uint64(4, message.capabilities);
  if (message.healthy_since_ns) {
    PbfWriter health(to, 5);
    health.add_bool(1, true);
    health.add_fixed64(2, *message.healthy_since_ns);
  }
  if (message.effective_config) AddEffectiveConfig(to, *message.effective_config);
  if (message.config_status) {
    PbfWriter status(to, 7);
    AddBytes(status, 1, message.config_status->hash);
    status.add_enum(2, static_cast<std::int32_t>(message.config_status->status));
    formats::AddText(status, 3, message.config_status->message);
  }
  if (message.disconnect) PbfWriter(to, 9).commit();
  return out;
}

Result<ServerToAgent> DecodeServerToAgent(std::string_view bytes) {
  ServerToAgent out;
  try {
    Pbf from = formats::Reader(bytes);
    while (from.next()) {
      switch (static_cast<std::uint32_t>(from.tag_and_type())) {
        case LenKey(1):
          out.instance_uid = GetView(from);
          break;
        case LenKey(2):
          ReadError(from.get_message(), out);
          break;
        case LenKey(3):
          out.config = ReadConfig(from.get_message());
          break;
        case VarintKey(6):
          out.flags = from.get_uint64();
          break;
        default:
          from.skip();
      }
    }
  } catch (const protozero::exception&) {
    return Error(Code::kCorrupt, "the answer is no message of OpAMP");
  }
  return out;
}

}  // namespace wherefore::sdk
