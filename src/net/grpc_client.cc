#include "net/grpc_client.h"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

#include <fmt/format.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <openssl/x509.h>

#include "net/cancel_scope.h"

namespace wherefore::net {
namespace {

Result<std::string> ReadPem(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in || content.empty())
    return Error(Code::kInvalid, fmt::format("certificate file {}: cannot be read", path));
  return content;
}

// The system's authorities as OpenSSL finds them, so that both kinds of client trust the same.
std::string SystemAuthorities() {
  const char* const named = std::getenv(X509_get_default_cert_file_env());
  for (const char* path : {named, X509_get_default_cert_file(),
                           static_cast<const char*>("/etc/ssl/certs/ca-certificates.crt")}) {
    if (path == nullptr) continue;
    if (auto content = ReadPem(path)) return *std::move(content);
  }
  return {};  // gRPC then looks itself
}

Result<std::string> Authorities(const TlsClientOptions& tls) {
  if (tls.ca_file.empty()) return SystemAuthorities();
  WHEREFORE_ASSIGN_OR_RETURN(std::string own, ReadPem(tls.ca_file));
  return tls.include_system_authorities ? own + "\n" + SystemAuthorities() : own;
}

// Encrypts without checking who answers.
std::shared_ptr<grpc::ChannelCredentials> Unverified(const grpc::SslCredentialsOptions& shown) {
  grpc::experimental::TlsChannelCredentialsOptions options;
  if (!shown.pem_private_key.empty()) {
    options.set_certificate_provider(
        std::make_shared<grpc::experimental::StaticDataCertificateProvider>(
            std::vector<grpc::experimental::IdentityKeyCertPair>{
                {shown.pem_private_key, shown.pem_cert_chain}}));
    options.watch_identity_key_cert_pairs();
  }
  options.set_verify_server_certs(false);
  options.set_check_call_host(false);
  options.set_certificate_verifier(std::make_shared<grpc::experimental::NoOpCertificateVerifier>());
  return grpc::experimental::TlsCredentials(options);
}

Result<std::shared_ptr<grpc::ChannelCredentials>> Credentials(const GrpcClientOptions& options) {
  if (options.plain) return grpc::InsecureChannelCredentials();
  // Checks everything, so that mistakes are found here and not at the first call.
  WHEREFORE_RETURN_IF_ERROR(TlsClientContext::Make(options.tls));
  if (options.tls.min_version == "1.3")
    return Error(Code::kInvalid, "TLS version \"1.3\": over gRPC the least is 1.2");
  grpc::SslCredentialsOptions ssl;
  if (!options.tls.certificate_file.empty()) {
    WHEREFORE_ASSIGN_OR_RETURN(ssl.pem_cert_chain, ReadPem(options.tls.certificate_file));
    WHEREFORE_ASSIGN_OR_RETURN(ssl.pem_private_key, ReadPem(options.tls.key_file));
  }
  if (!options.tls.verify) return Unverified(ssl);
  WHEREFORE_ASSIGN_OR_RETURN(ssl.pem_root_certs, Authorities(options.tls));
  return grpc::SslCredentials(ssl);
}

std::string Joined(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string out;
  if (!buffer.Dump(&slices).ok()) return out;
  for (const grpc::Slice& slice : slices)
    out.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return out;
}

}  // namespace

class GrpcClient::Impl {
 public:
  Impl(const GrpcClientOptions& options,
       const std::shared_ptr<grpc::ChannelCredentials>& credentials)
      : gzip_(options.gzip),
        stub_(grpc::CreateCustomChannel(options.target, credentials, Arguments(options))) {}

  GrpcAnswer Call(const GrpcCall& call) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::nanoseconds(call.timeout_ns));
    if (gzip_) context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
    for (const auto& [name, value] : call.metadata) context.AddMetadata(name, value);
    const grpc::Slice slice(call.body.data(), call.body.size());
    const grpc::ByteBuffer request(&slice, 1);
    grpc::CompletionQueue queue;
    const auto reader = stub_.PrepareUnaryCall(&context, call.method, request, &queue);
    const CancelScope stop(call.cancel, [&context] { context.TryCancel(); });
    reader->StartCall();
    grpc::ByteBuffer answer;
    grpc::Status status;
    reader->Finish(&answer, &status, &queue);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    return {status.error_code(), status.error_message(),
            status.ok() ? Joined(answer) : std::string(), status.error_details()};
  }

 private:
  static grpc::ChannelArguments Arguments(const GrpcClientOptions& options) {
    grpc::ChannelArguments arguments;
    // A channel of its own: with another exporter's, its back-off would be shared too.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);  // the queue retries
    arguments.SetMaxReceiveMessageSize(static_cast<int>(options.max_response_bytes));
    if (!options.tls.server_name.empty())
      arguments.SetSslTargetNameOverride(options.tls.server_name);
    return arguments;
  }

  const bool gzip_;
  grpc::GenericStub stub_;
};

GrpcClient::GrpcClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GrpcClient::~GrpcClient() = default;

Result<std::unique_ptr<GrpcClient>> GrpcClient::Make(GrpcClientOptions options) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto credentials, Credentials(options));
  return std::unique_ptr<GrpcClient>(new GrpcClient(std::make_unique<Impl>(options, credentials)));
}

GrpcAnswer GrpcClient::Call(const GrpcCall& call) {
  return impl_->Call(call);
}

}  // namespace wherefore::net
