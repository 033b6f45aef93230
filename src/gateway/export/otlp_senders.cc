// OTLP over HTTP and over gRPC.
#include <fmt/format.h>

#include "base/gzip.h"
#include "gateway/export/senders.h"
#include "net/compression.h"
#include "net/tenant.h"
#include "net/url.h"

namespace wherefore::gateway {
namespace {

using formats::Signal;

// Stock collectors take 4 MiB over gRPC, everything included.
constexpr std::size_t kMaxGrpcBytes = 7u << 19;  // 3.5 MiB

Error Wrong(std::string_view option, std::string_view what) {
  return Error::At(Code::kInvalid, option, what);
}

class OtlpHttpSender final : public Sender {
 public:
  OtlpHttpSender(const ExporterOptions& options, std::unique_ptr<net::HttpClient> client)
      : options_(options), client_(std::move(client)) {}

  [[nodiscard]] static std::string UrlOf(const ExporterOptions& options, Signal signal) {
    const bool traces = signal == Signal::kTraces;
    const std::string& own = traces ? options.traces_endpoint : options.profiles_endpoint;
    if (!own.empty()) return own;
    if (options.endpoint.empty()) return {};
    return JoinUrl(options.endpoint, traces ? "/v1/traces" : "/v1development/profiles");
  }

  [[nodiscard]] bool Takes(Signal signal) const override {
    return !UrlOf(options_, signal).empty();
  }

  Outcome Send(Request request, const CancelToken& stop) override {
    const std::string url = UrlOf(options_, request.signal);
    net::Headers headers = HeadersFor(options_, request.tenant);
    headers["Content-Type"] = options_.json ? "application/json" : "application/x-protobuf";
    std::string body = std::move(request.bytes);
    if (options_.json) {
      auto json =
          formats::OtlpToJson(request.signal, std::make_shared<const std::string>(std::move(body)));
      if (!json) return {.kind = Outcome::Kind::kRefused, .message = json.error().message()};
      body = *std::move(json);
    }
    Compress(body, headers);
    const auto response = client_->Send({.url = url,
                                         .body = body,
                                         .headers = std::move(headers),
                                         .timeout_ns = options_.timeout_ns,
                                         .cancel = stop});
    Outcome outcome = OutcomeOf(response, url);
    if (outcome.kind != Outcome::Kind::kSent) return outcome;
    const formats::ExportAnswer answer =
        formats::DecodeExportResponse(options_.json, response->body);
    outcome.rejected = answer.rejected;
    outcome.message = answer.message;
    return outcome;
  }

 private:
  void Compress(std::string& body, net::Headers& headers) const {
    const int level = options_.compression_level;
    if (options_.compression == "gzip") {
      body = GzipFor(options_, body);
    } else if (options_.compression == "zstd") {
      body = level == 0 ? net::Zstd(body) : net::Zstd(body, level);
    } else {
      return;
    }
    headers["Content-Encoding"] = options_.compression;
  }

  const ExporterOptions options_;
  const std::unique_ptr<net::HttpClient> client_;
};

class OtlpGrpcSender final : public Sender {
 public:
  OtlpGrpcSender(const ExporterOptions& options, std::unique_ptr<net::GrpcClient> client)
      : options_(options), client_(std::move(client)) {}

  [[nodiscard]] std::size_t max_request_bytes() const override { return kMaxGrpcBytes; }

  Outcome Send(Request request, const CancelToken& stop) override {
    const net::GrpcAnswer answer = client_->Call(
        {.method = request.signal == Signal::kTraces
                       ? "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
                       : "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/"
                         "Export",
         .body = request.bytes,
         .metadata = Metadata(request.tenant),
         .timeout_ns = options_.timeout_ns,
         .cancel = stop});
    Outcome outcome = OutcomeOf(answer, options_.endpoint);
    if (outcome.kind != Outcome::Kind::kSent) return outcome;
    const formats::ExportAnswer said = formats::DecodeExportResponse(false, answer.body);
    outcome.rejected = said.rejected;
    outcome.message = said.message;
    return outcome;
  }

 private:
  // HTTP/2 knows only lower-case names.
  [[nodiscard]] net::Headers Metadata(const std::string& tenant) const {
    net::Headers metadata;
    for (const auto& [name, value] : HeadersFor(options_, tenant)) {
      std::string lower = name;
      for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
      metadata[lower] = value;
    }
    return metadata;
  }

  const ExporterOptions options_;
  const std::unique_ptr<net::GrpcClient> client_;
};

Result<> CheckUrl(std::string_view option, const std::string& url) {
  auto parsed = net::ParseUrl(url);
  if (!parsed) return Wrong(option, parsed.error().message());
  return {};
}

Result<> CheckHeaders(const ExporterOptions& options) {
  for (const auto& [name, value] : options.headers) {
    if (name.empty() ||
        (name + value).find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos)
      return Wrong("headers", fmt::format("\"{}\" cannot be sent", name));
  }
  return {};
}

}  // namespace

net::TlsClientOptions ClientTls(const TlsOptions& options) {
  return {.verify = !options.skip_verify,
          .ca_file = options.ca_file,
          .include_system_authorities = options.include_system_authorities,
          .certificate_file = options.certificate_file,
          .key_file = options.key_file,
          .server_name = options.server_name,
          .min_version = options.min_version};
}

Result<std::unique_ptr<net::HttpClient>> MakeHttpClient(const ExporterOptions& options) {
  WHEREFORE_RETURN_IF_ERROR(CheckHeaders(options));
  net::HttpClient::Options client;
  client.tls = ClientTls(options.tls);
  auto made = net::HttpClient::Make(std::move(client));
  if (!made) return Wrong("tls", made.error().message());
  return made;
}

net::Headers HeadersFor(const ExporterOptions& options, const std::string& tenant) {
  net::Headers headers;
  for (const auto& [name, value] : options.headers) {
    if (!value.empty()) headers[name] = value;  // an unset ${TOKEN}
  }
  if (!tenant.empty()) headers.try_emplace(std::string(net::kTenantHeader), tenant);
  return headers;
}

std::string GzipFor(const ExporterOptions& options, std::string_view bytes) {
  return Gzip(bytes, options.compression_level == 0 ? 1 : options.compression_level);
}

std::string JoinUrl(std::string_view endpoint, std::string_view path) {
  while (endpoint.ends_with('/')) endpoint.remove_suffix(1);
  return std::string(endpoint).append(path);
}

Result<std::unique_ptr<Sender>> MakeOtlpHttpSender(const ExporterOptions& options) {
  if (options.endpoint.empty() && options.traces_endpoint.empty() &&
      options.profiles_endpoint.empty())
    return Wrong("endpoint", "is missing");
  if (!options.endpoint.empty()) WHEREFORE_RETURN_IF_ERROR(CheckUrl("endpoint", options.endpoint));
  if (!options.traces_endpoint.empty())
    WHEREFORE_RETURN_IF_ERROR(CheckUrl("traces_endpoint", options.traces_endpoint));
  if (!options.profiles_endpoint.empty())
    WHEREFORE_RETURN_IF_ERROR(CheckUrl("profiles_endpoint", options.profiles_endpoint));
  const std::string& compression = options.compression;
  if (compression != "gzip" && compression != "zstd" && compression != "none" &&
      !compression.empty())
    return Wrong("compression",
                 fmt::format("\"{}\": gzip, zstd and none are possible", compression));
  WHEREFORE_ASSIGN_OR_RETURN(auto client, MakeHttpClient(options));
  return std::make_unique<OtlpHttpSender>(options, std::move(client));
}

Result<std::unique_ptr<Sender>> MakeOtlpGrpcSender(const ExporterOptions& options) {
  WHEREFORE_RETURN_IF_ERROR(CheckHeaders(options));
  std::string_view target = options.endpoint;
  bool plain = options.tls.insecure;
  if (target.starts_with("http://")) {
    target.remove_prefix(7);
    plain = true;
  } else if (target.starts_with("https://")) {
    target.remove_prefix(8);
    plain = false;
  }
  while (target.ends_with('/')) target.remove_suffix(1);
  if (target.empty()) return Wrong("endpoint", "is missing");
  if (target.rfind(':') == std::string_view::npos)
    return Wrong("endpoint", fmt::format("\"{}\" has no port", target));
  const std::string& compression = options.compression;
  if (compression != "gzip" && compression != "none" && !compression.empty())
    return Wrong("compression",
                 fmt::format("\"{}\": over gRPC gzip and none are possible", compression));
  auto client = net::GrpcClient::Make({.target = std::string(target),
                                       .plain = plain,
                                       .tls = ClientTls(options.tls),
                                       .gzip = compression == "gzip"});
  if (!client) return Wrong("tls", client.error().message());
  return std::make_unique<OtlpGrpcSender>(options, *std::move(client));
}

}  // namespace wherefore::gateway
