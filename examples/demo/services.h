// The three services of the demo, and the load that keeps them busy.
//
//   load -> storefront (api-request) -> orders (process-data) -> inventory (reserve-stock)
#pragma once

#include <cstdint>

namespace demo {

struct Ports {
  std::uint16_t storefront = 0;
  std::uint16_t orders = 0;
  std::uint16_t inventory = 0;
};

// Each serves until the process is told to end. False: its port is taken.
bool RunStorefront(const Ports& ports);
bool RunOrders(const Ports& ports);
bool RunInventory(const Ports& ports);

// `rate` requests a second to the storefront, for `seconds` (0: for ever). Prints nothing; gives
// how many failed.
int RunLoad(const Ports& ports, double rate, int seconds);

}  // namespace demo
