// The demo: three services and their customers, in one program that plays the part it is given.
//
//   demo storefront|orders|inventory --ports 7001,7002,7003
//   demo load --ports 7001,7002,7003 [--rate 20] [--seconds 60]
//
// Everything about profiling and tracing comes from the environment (docs/sdk.md).
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include <wherefore/profiler.h>

#include "services.h"

namespace {

int Usage() {
  std::fprintf(stderr,
               "usage: demo storefront|orders|inventory|load --ports STOREFRONT,ORDERS,INVENTORY\n"
               "            [--rate REQUESTS_PER_SECOND] [--seconds SECONDS]\n");
  return 2;
}

// Runs `service` until SIGTERM or SIGINT, then lets the profiler send what it has.
int Play(const char* name, bool (*service)(const demo::Ports&), const demo::Ports& ports) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);

  wherefore::Options options;
  options.service_name = name;
  options.resource = {{"service.version", DEMO_VERSION == 1 ? "v1" : "v2"}};
  const wherefore::Profiler profiler = wherefore::Profiler::Start(options);

  std::thread([=] {
    if (service(ports)) return;
    std::fprintf(stderr, "demo %s: its port is taken\n", name);
    std::raise(SIGTERM);
  }).detach();
  int signal = 0;
  sigwait(&ends, &signal);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return Usage();
  const std::string part = argv[1];
  demo::Ports ports;
  double rate = 20;
  int seconds = 0;
  for (int i = 2; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--ports") == 0) {
      if (std::sscanf(argv[i + 1], "%hu,%hu,%hu", &ports.storefront, &ports.orders,
                      &ports.inventory) != 3)
        return Usage();
    } else if (std::strcmp(argv[i], "--rate") == 0) {
      rate = std::atof(argv[i + 1]);
    } else if (std::strcmp(argv[i], "--seconds") == 0) {
      seconds = std::atoi(argv[i + 1]);
    } else {
      return Usage();
    }
  }
  if (ports.inventory == 0 || rate <= 0) return Usage();
  if (part == "storefront") return Play("storefront", demo::RunStorefront, ports);
  if (part == "orders") return Play("orders", demo::RunOrders, ports);
  if (part == "inventory") return Play("inventory", demo::RunInventory, ports);
  if (part == "load") return demo::RunLoad(ports, rate, seconds) == 0 ? 0 : 1;
  return Usage();
}
