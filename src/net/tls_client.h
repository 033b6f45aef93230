// What a TLS client trusts and shows. Read once, then shared by any number of connections; any
// thread.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace wherefore::net {

struct TlsClientOptions {
  bool verify = true;
  std::string ca_file;                      // trusted instead of the system's authorities
  bool include_system_authorities = false;  // trusted beside those of ca_file
  std::string certificate_file;             // shown to the server; with key_file
  std::string key_file;
  std::string server_name;          // asked for and verified instead of the URL's host
  std::string min_version = "1.2";  // 1.0, 1.1, 1.2, 1.3
  bool operator==(const TlsClientOptions&) const = default;
};

class TlsClientContext {
 public:
  // kInvalid, with the file or value that cannot be used.
  [[nodiscard]] static Result<std::shared_ptr<TlsClientContext>> Make(TlsClientOptions options);
  ~TlsClientContext();

  [[nodiscard]] const TlsClientOptions& options() const;
  class Impl;
  [[nodiscard]] Impl& impl() const { return *impl_; }

 private:
  TlsClientContext();
  std::unique_ptr<Impl> impl_;
};

}  // namespace wherefore::net
