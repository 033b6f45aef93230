// A self-signed certificate for 127.0.0.1 in a folder of its own, for tests of TLS.
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
