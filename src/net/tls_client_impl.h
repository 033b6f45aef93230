// TlsClientContext with Asio's type in it. Internal to src/net.
#pragma once

#include <boost/asio/ssl.hpp>

#include "net/tls_client.h"

namespace wherefore::net {

class TlsClientContext::Impl {
 public:
  TlsClientOptions options;
  boost::asio::ssl::context context{boost::asio::ssl::context::tls_client};
};

}  // namespace wherefore::net
