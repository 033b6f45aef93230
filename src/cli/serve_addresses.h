// Where a running server can be reached: for people (standard output) and for programs
// (addresses.json in the data directory). One thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gateway/server/gateway.h"

namespace wherefore::cli {

struct ShownAddresses {
  std::string host;  // --listen; empty: loopback
  bool tls = false;
  std::uint16_t http_port = 0;   // page and API
  std::uint16_t opamp_port = 0;  // 0: none
  std::vector<gateway::Gateway::PortAddress> receivers;
};

[[nodiscard]] std::string PageUrl(const ShownAddresses& addresses);
// A reader never sees half a file. A failure is only logged: data goes on coming in.
void WriteAddresses(const ShownAddresses& addresses, const std::string& data);
void RemoveAddresses(const std::string& data);
void PrintAddresses(const ShownAddresses& addresses, const std::string& data);

}  // namespace wherefore::cli
