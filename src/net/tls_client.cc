#include "net/tls_client.h"

#include <tuple>

#include <fmt/format.h>

#include "net/tls_client_impl.h"

namespace wherefore::net {
namespace {

namespace ssl = boost::asio::ssl;
using BoostError = boost::system::error_code;

Error CannotUse(std::string_view what, const std::string& file, const BoostError& error) {
  return {Code::kInvalid, fmt::format("{} {}: {}", what, file, error.message())};
}

Result<> Trust(ssl::context& context, const TlsClientOptions& options) {
  context.set_verify_mode(options.verify ? ssl::verify_peer : ssl::verify_none);
  BoostError error;
  if (options.ca_file.empty() || options.include_system_authorities) {
    std::ignore = context.set_default_verify_paths(error);
    if (error) return CannotUse("certificates of", "the system", error);
  }
  if (!options.ca_file.empty()) {
    std::ignore = context.load_verify_file(options.ca_file, error);
    if (error) return CannotUse("certificate file", options.ca_file, error);
  }
  return {};
}

Result<> Show(ssl::context& context, const TlsClientOptions& options) {
  if (options.certificate_file.empty() != options.key_file.empty()) {
    return Error(Code::kInvalid, "a client certificate needs both a certificate and a key file");
  }
  if (options.certificate_file.empty()) return {};
  BoostError error;
  std::ignore = context.use_certificate_chain_file(options.certificate_file, error);
  if (error) return CannotUse("certificate file", options.certificate_file, error);
  std::ignore = context.use_private_key_file(options.key_file, ssl::context::pem, error);
  if (error) return CannotUse("key file", options.key_file, error);
  return {};
}

Result<> SetVersion(ssl::context& context, const std::string& version) {
  const int number = version == "1.0"   ? TLS1_VERSION
                     : version == "1.1" ? TLS1_1_VERSION
                     : version == "1.2" ? TLS1_2_VERSION
                     : version == "1.3" ? TLS1_3_VERSION
                                        : 0;
  if (number == 0 || SSL_CTX_set_min_proto_version(context.native_handle(), number) != 1) {
    return Error(Code::kInvalid,
                 fmt::format("TLS version \"{}\": 1.0, 1.1, 1.2 and 1.3 are possible", version));
  }
  return {};
}

}  // namespace

TlsClientContext::TlsClientContext() : impl_(std::make_unique<Impl>()) {}
TlsClientContext::~TlsClientContext() = default;

const TlsClientOptions& TlsClientContext::options() const {
  return impl_->options;
}

Result<std::shared_ptr<TlsClientContext>> TlsClientContext::Make(TlsClientOptions options) {
  const std::shared_ptr<TlsClientContext> made(new TlsClientContext);
  WHEREFORE_RETURN_IF_ERROR(Trust(made->impl_->context, options));
  WHEREFORE_RETURN_IF_ERROR(Show(made->impl_->context, options));
  WHEREFORE_RETURN_IF_ERROR(SetVersion(made->impl_->context, options.min_version));
  made->impl_->options = std::move(options);
  return made;
}

}  // namespace wherefore::net
