// The few functions of OpenSSL's stable C interface, declared here: its headers are not needed to
// build, the library not to run.
#include "sdk/net/tls.h"

#include <arpa/inet.h>
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>

#include <fmt/format.h>

namespace wherefore::sdk {
namespace {

// Saved in OpenSSL's ABI.
constexpr int kVerifyPeer = 1;
constexpr int kErrorWantRead = 2;
constexpr int kErrorWantWrite = 3;
constexpr int kErrorZeroReturn = 6;
constexpr int kCtrlSetServerName = 55;
constexpr int kCtrlSetMinVersion = 123;
constexpr int kTls12 = 0x0303;

// NOLINTBEGIN(readability-identifier-naming): OpenSSL's names
struct Functions {
  const void* (*TLS_client_method)();
  void* (*SSL_CTX_new)(const void*);
  void (*SSL_CTX_free)(void*);
  long (*SSL_CTX_ctrl)(void*, int, long, void*);
  int (*SSL_CTX_set_default_verify_paths)(void*);
  int (*SSL_CTX_load_verify_locations)(void*, const char*, const char*);
  void (*SSL_CTX_set_verify)(void*, int, void*);
  void* (*SSL_new)(void*);
  void (*SSL_free)(void*);
  void (*SSL_set_bio)(void*, void*, void*);
  void (*SSL_set_connect_state)(void*);
  long (*SSL_ctrl)(void*, int, long, void*);
  int (*SSL_set1_host)(void*, const char*);
  void* (*SSL_get0_param)(void*);
  int (*SSL_do_handshake)(void*);
  int (*SSL_read)(void*, void*, int);
  int (*SSL_write)(void*, const void*, int);
  int (*SSL_get_error)(const void*, int);
  long (*SSL_get_verify_result)(const void*);
  const char* (*X509_verify_cert_error_string)(long);
  int (*X509_VERIFY_PARAM_set1_ip_asc)(void*, const char*);
  const void* (*BIO_s_mem)();
  void* (*BIO_new)(const void*);
  int (*BIO_read)(void*, void*, int);
  int (*BIO_write)(void*, const void*, int);
  unsigned long (*ERR_get_error)();
  void (*ERR_error_string_n)(unsigned long, char*, std::size_t);
  void (*ERR_clear_error)();
  int (*OPENSSL_init_ssl)(std::uint64_t, const void*);
  std::string missing;  // the first function that is not there
};
// NOLINTEND(readability-identifier-naming)

template <typename Function>
void Find(void* library, const char* name, Function*& to, std::string& missing) {
  to = reinterpret_cast<Function*>(dlsym(library, name));
  if (to == nullptr && missing.empty()) missing = name;
}

Functions LoadFunctions() {
  Functions f{};
  void* library = nullptr;
  for (const char* name : {"libssl.so.3", "libssl.so.1.1"}) {
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
  }
  if (library == nullptr) {
    f.missing = "libssl.so.3";
    return f;
  }
#define WHEREFORE_FIND(name) Find(library, #name, f.name, f.missing)
  WHEREFORE_FIND(TLS_client_method);
  WHEREFORE_FIND(SSL_CTX_new);
  WHEREFORE_FIND(SSL_CTX_free);
  WHEREFORE_FIND(SSL_CTX_ctrl);
  WHEREFORE_FIND(SSL_CTX_set_default_verify_paths);
  WHEREFORE_FIND(SSL_CTX_load_verify_locations);
  WHEREFORE_FIND(SSL_CTX_set_verify);
  WHEREFORE_FIND(SSL_new);
  WHEREFORE_FIND(SSL_free);
  WHEREFORE_FIND(SSL_set_bio);
  WHEREFORE_FIND(SSL_set_connect_state);
  WHEREFORE_FIND(SSL_ctrl);
  WHEREFORE_FIND(SSL_set1_host);
  WHEREFORE_FIND(SSL_get0_param);
  WHEREFORE_FIND(SSL_do_handshake);
  WHEREFORE_FIND(SSL_read);
  WHEREFORE_FIND(SSL_write);
  WHEREFORE_FIND(SSL_get_error);
  WHEREFORE_FIND(SSL_get_verify_result);
  WHEREFORE_FIND(X509_verify_cert_error_string);
  WHEREFORE_FIND(X509_VERIFY_PARAM_set1_ip_asc);
  WHEREFORE_FIND(BIO_s_mem);
  WHEREFORE_FIND(BIO_new);
  WHEREFORE_FIND(BIO_read);
  WHEREFORE_FIND(BIO_write);
  WHEREFORE_FIND(ERR_get_error);
  WHEREFORE_FIND(ERR_error_string_n);
  WHEREFORE_FIND(ERR_clear_error);
  WHEREFORE_FIND(OPENSSL_init_ssl);
#undef WHEREFORE_FIND
  return f;
}

// Found by whoever is first, without a lock: a child forked meanwhile would wait for it for ever.
const Functions& Ssl() {
  static constinit std::atomic<const Functions*> found{nullptr};
  if (const Functions* const before = found.load()) return *before;
  auto loaded = std::make_unique<const Functions>(LoadFunctions());
  const Functions* first = nullptr;
  if (found.compare_exchange_strong(first, loaded.get())) return *loaded.release();
  return *first;
}

bool IsAddress(const std::string& host) {
  std::array<unsigned char, 16> bytes{};
  return inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

}  // namespace

struct TlsSession::State {
  void* context = nullptr;
  void* ssl = nullptr;
  void* input = nullptr;   // owned by ssl
  void* output = nullptr;  // owned by ssl

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (ssl != nullptr) Ssl().SSL_free(ssl);
    if (context != nullptr) Ssl().SSL_CTX_free(context);
  }

  [[nodiscard]] Error Failure(const char* what) const {
    const long verified = Ssl().SSL_get_verify_result(ssl);
    if (verified != 0) {
      return {Code::kIo, fmt::format("{}: certificate: {}", what,
                                     Ssl().X509_verify_cert_error_string(verified))};
    }
    std::array<char, 256> text{};
    Ssl().ERR_error_string_n(Ssl().ERR_get_error(), text.data(), text.size());
    return {Code::kIo, fmt::format("{}: {}", what, text.data())};
  }
};

void TlsSession::Prepare(void (*before_the_end)()) {
  static constinit std::atomic<bool> done{false};
  const Functions& f = Ssl();
  if (!f.missing.empty() || done.exchange(true)) return;
  // Registers OpenSSL's own end, if the host has not; what is registered later runs before it.
  f.OPENSSL_init_ssl(0, nullptr);
  std::atexit(before_the_end);
}

TlsSession::TlsSession(std::unique_ptr<State> state) : state_(std::move(state)) {}
TlsSession::~TlsSession() = default;

Result<std::unique_ptr<TlsSession>> TlsSession::Open(const std::string& host,
                                                     const std::string& ca_file) {
  const Functions& f = Ssl();
  if (!f.missing.empty())
    return Error(Code::kUnsupported, "https needs OpenSSL, and " + f.missing + " is not there");
  auto state = std::make_unique<State>();
  state->context = f.SSL_CTX_new(f.TLS_client_method());
  if (state->context == nullptr)
    return Error(Code::kInternal,
                 "TLS: OpenSSL gives no context (at the end of a program: it has ended before us)");
  f.SSL_CTX_ctrl(state->context, kCtrlSetMinVersion, kTls12, nullptr);
  f.SSL_CTX_set_verify(state->context, kVerifyPeer, nullptr);
  const int trusted =
      ca_file.empty() ? f.SSL_CTX_set_default_verify_paths(state->context)
                      : f.SSL_CTX_load_verify_locations(state->context, ca_file.c_str(), nullptr);
  if (trusted != 1) return Error(Code::kInvalid, "TLS: cannot read certificates from " + ca_file);
  state->ssl = f.SSL_new(state->context);
  state->input = f.BIO_new(f.BIO_s_mem());
  state->output = f.BIO_new(f.BIO_s_mem());
  if (state->ssl == nullptr || state->input == nullptr || state->output == nullptr)
    return Error(Code::kInternal, "TLS: out of memory");
  f.SSL_set_bio(state->ssl, state->input, state->output);
  f.SSL_set_connect_state(state->ssl);
  if (IsAddress(host)) {
    f.X509_VERIFY_PARAM_set1_ip_asc(f.SSL_get0_param(state->ssl), host.c_str());
  } else {
    f.SSL_ctrl(state->ssl, kCtrlSetServerName, 0, const_cast<char*>(host.c_str()));
    f.SSL_set1_host(state->ssl, host.c_str());
  }
  return std::unique_ptr<TlsSession>(new TlsSession(std::move(state)));
}

Result<TlsNeed> TlsSession::Handshake() {
  Ssl().ERR_clear_error();
  const int done = Ssl().SSL_do_handshake(state_->ssl);
  if (done == 1) return TlsNeed::kNothing;
  const int error = Ssl().SSL_get_error(state_->ssl, done);
  if (error == kErrorWantRead || error == kErrorWantWrite) return TlsNeed::kMoreInput;
  return state_->Failure("TLS handshake");
}

Result<> TlsSession::Write(std::string_view plain) {
  while (!plain.empty()) {
    Ssl().ERR_clear_error();
    const int piece = static_cast<int>(std::min<std::size_t>(plain.size(), 1U << 20));
    const int written = Ssl().SSL_write(state_->ssl, plain.data(), piece);
    if (written <= 0) return state_->Failure("TLS write");
    plain.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<TlsNeed> TlsSession::Read(std::string& plain) {
  std::array<char, 16384> buffer{};
  while (true) {
    Ssl().ERR_clear_error();
    const int read = Ssl().SSL_read(state_->ssl, buffer.data(), static_cast<int>(buffer.size()));
    if (read > 0) {
      plain.append(buffer.data(), static_cast<std::size_t>(read));
      continue;
    }
    const int error = Ssl().SSL_get_error(state_->ssl, read);
    if (error == kErrorWantRead || error == kErrorWantWrite) return TlsNeed::kMoreInput;
    if (error == kErrorZeroReturn) return TlsNeed::kClosed;
    return state_->Failure("TLS read");
  }
}

void TlsSession::AddInput(std::string_view from_socket) {
  // A memory buffer takes everything.
  Ssl().BIO_write(state_->input, from_socket.data(), static_cast<int>(from_socket.size()));
}

std::string TlsSession::TakeOutput() {
  std::string out;
  std::array<char, 16384> buffer{};
  while (true) {
    const int read = Ssl().BIO_read(state_->output, buffer.data(), static_cast<int>(buffer.size()));
    if (read <= 0) return out;
    out.append(buffer.data(), static_cast<std::size_t>(read));
  }
}

}  // namespace wherefore::sdk
