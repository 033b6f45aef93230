// Where OTLP goes: from what people write into OTEL_EXPORTER_OTLP_* to two complete URLs.
//
// We speak OTLP over HTTP only. A gRPC address (protocol grpc, or port 4317) means the same server,
// so it becomes port 4318 of that host, with one warning. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wherefore::sdk {

struct Url {
  bool tls = false;
  std::string host;  // without brackets
  std::uint16_t port = 0;
  std::string path = "/";  // with query

  [[nodiscard]] std::string Authority() const;  // "[::1]:4318", as in a Host header
  [[nodiscard]] std::string Text() const;
};

// http and https; no scheme means http. Nothing when it is no address. A missing port is 4318 when
// the text names no scheme, else 80 or 443.
[[nodiscard]] std::optional<Url> ParseUrl(std::string_view text);

inline constexpr std::string_view kProfilesPath = "/v1development/profiles";
inline constexpr std::string_view kTracesPath = "/v1/traces";
inline constexpr std::string_view kOpampPath = "/v1/opamp";

struct EndpointChoice {
  std::string_view base;      // OTEL_EXPORTER_OTLP_ENDPOINT or what stands in for it
  std::string_view own;       // the signal's own address, used as it is; empty: base + path
  std::string_view protocol;  // "grpc", "http/protobuf", ...; empty: not said
  std::string_view path;      // kProfilesPath or kTracesPath
};
// Always a usable URL: an address that cannot be read is replaced by `fallback`. Sentences about
// what was changed go to `warnings`, each once.
[[nodiscard]] std::string ResolveEndpoint(const EndpointChoice& choice, std::string_view fallback,
                                          std::vector<std::string>& warnings);

// The address of OpAMP at the server that takes the profiles.
[[nodiscard]] std::string OpampBeside(std::string_view profiles_url);

}  // namespace wherefore::sdk
