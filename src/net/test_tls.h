// A self-signed certificate for 127.0.0.1 in a temporary directory, for TLS tests.
#pragma once

#include <string>

namespace wherefore::net {

class TestCertificate {
 public:
  TestCertificate();
  TestCertificate(const TestCertificate&) = delete;
  TestCertificate& operator=(const TestCertificate&) = delete;
  ~TestCertificate();

  [[nodiscard]] std::string certificate_file() const { return folder_ + "/certificate.pem"; }
  [[nodiscard]] std::string key_file() const { return folder_ + "/key.pem"; }

 private:
  std::string folder_;
};

}  // namespace wherefore::net
